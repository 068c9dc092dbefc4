import FuzzTargets
import Glibc

/// Feeds damaged inputs to the code that reads untrusted bytes.
///
///     coderhost-fuzz list
///     coderhost-fuzz run [TARGET…] [--count N] [--seed S] [--keep DIR]      each in a process that may crash
///     coderhost-fuzz mutate [--count N] [--seed S] [--keep DIR] [--isolated]  all formats through the host
///     coderhost-fuzz modes [TARGET…] [--count N] [--seed S] [--keep DIR]     all formats, in this process and in workers
///     coderhost-fuzz case TARGET FILE…                                       one input again, in this process
///     coderhost-fuzz bombs …                                                  see BombCommand
///     coderhost-fuzz allocations …                                            see AllocationCommand
///     coderhost-fuzz memory …                                                 see MemoryCommand
///     coderhost-fuzz cancel …                                                 see CancelCommand
///     coderhost-fuzz seeds TARGET DIR                                        writes the seeds as files
@main
enum FuzzCommand {
    static func main() {
        var words = CommandLine.arguments.dropFirst()
        let verb = words.popFirst() ?? "help"
        let switches = Switches(Array(words))
        switch verb {
        case "list": for target in FuzzTarget.all { say(target.name) }
        case "run", "mutate", "modes": exit(Supervisor(verb, switches).run() ? 0 : 1)
        case "work": Worker(switches).run()
        case "bombs": exit(BombCommand.run(switches) ? 0 : 1)
        case "cancel": exit(CancelCommand(switches).run() ? 0 : 1)
        case "faulty":
            var command = ContainCommand(switches)
            exit(command.run() ? 0 : 1)
        case "allocations": exit(AllocationCommand(switches).run() ? 0 : 1)
        case "allocations-work": exit(AllocationCommand.work(switches))
        case "memory": exit(MemoryCommand(switches).run() ? 0 : 1)
        case "kill": exit(KillCommand(switches).run() ? 0 : 1)
        case "overhead": exit(OverheadCommand(switches).run() ? 0 : 1)
        case "turns": exit(TurnsCommand(switches).run() ? 0 : 1)
        case "keep":
            guard let target = FuzzTarget.named(switches.operands.first ?? "") else { return usage() }
            let seed = UInt64(switches.number("--seed", 1))
            let bytes = target.input(run: seed, number: switches.number("--number", 0), seeds: target.seeds())
            save(bytes, to: switches.operands.last ?? "case")
        case "case": again(switches)
        case "seeds":
            guard let target = FuzzTarget.named(switches.operands.first ?? "") else { return usage() }
            for (index, seed) in target.seeds().enumerated() {
                save(seed, to: "\(switches.operands.last ?? ".")/\(target.name)-\(index)")
            }
        #if FUZZER
            case "libfuzzer": exit(LibFuzzer.run(Array(CommandLine.arguments.dropFirst(2))))
        #endif
        default: usage()
        }
    }

    private static func usage() {
        say(
            "usage: coderhost-fuzz list|run|mutate|modes|case|seeds …; targets: \(FuzzTarget.known.map(\.name).joined(separator: " "))"
        )
        exit(64)
    }

    private static func again(_ switches: Switches) {
        guard let target = FuzzTarget.named(switches.operands.first ?? "") else { return usage() }
        for file in switches.operands.dropFirst() {
            do throws(Finding) {
                try target.run(wholeFile(file))
                say("\(file): nothing found")
            } catch {
                say("\(file): \(error)")
                exit(1)
            }
        }
    }
}

extension FuzzTarget {
    /// Ends the process at its third case and hangs in its fifth, to test that the driver notices both.
    static let planted = FuzzTarget("planted", seeds: { (0..<8).map { [UInt8($0)] } }) { bytes throws(Finding) in
        switch bytes.first {
        case 2: abort()
        case 4: while true { usleep(1000) }
        case 6: throw Finding("as it was meant to be")
        default: break
        }
    }

    static func named(_ name: String) -> FuzzTarget? { (known + [planted]).first { $0.name == name } }
}

/// The words of a command line: `--name value`, and operands.
struct Switches {
    private(set) var operands: [String] = []
    private var values: [String: String] = [:]

    init(_ words: [String]) {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word.hasPrefix("--") {
                values[word] = word == "--isolated" ? "yes" : rest.popFirst() ?? ""
            } else {
                operands.append(word)
            }
        }
    }

    subscript(name: String) -> String? { values[name] }
    func number(_ name: String, _ fallback: Int) -> Int { values[name].flatMap { Int($0) } ?? fallback }
}
