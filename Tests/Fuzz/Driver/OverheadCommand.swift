import CoderHost
import FuzzTargets
import ImageModel

/// Decodes pictures in this process and in workers by turns, and says what the workers cost.
///
///     coderhost-fuzz overhead [--runs N] [--rounds N] FILE…
///
/// Of several rounds that one counts in which this process was fastest by itself, because nobody else was in the way then.
/// A line for each file: name, pixels, then in milliseconds the medians of a decode in this process, in a worker that is
/// used again and in a fresh one, and the medians of what each of both took longer than the decode beside it.
struct OverheadCommand {
    private let files: [String]
    private let runs: Int
    private let rounds: Int

    init(_ switches: Switches) {
        rounds = switches.number("--rounds", 4)
        files = switches.operands
        runs = switches.number("--runs", 15)
    }

    func run() -> Bool {
        let hosts = [
            Probe.host(IsolationPolicy(.off)), Probe.host(IsolationPolicy(.require, reuse: .reuse(1_000_000))),
            Probe.host(IsolationPolicy(.require, reuse: .fresh)),
        ]
        for file in files {
            do throws(CoderError) {
                try measure(file, hosts)
            } catch {
                say("finding\t\(file)\t\(error)")
                return false
            }
        }
        return true
    }

    private func measure(_ file: String, _ hosts: [CoderHost]) throws(CoderError) {
        var best: [Double] = []
        var pixels = 0
        for _ in 0..<rounds {
            let figures = try round(file, hosts, &pixels)
            if best.isEmpty || figures[0] < best[0] { best = figures }
        }
        say("\(file.split(separator: "/").last ?? "")\t\(pixels)\t" + best.map(Probe.text).joined(separator: "\t"))
    }

    private func round(_ file: String, _ hosts: [CoderHost], _ pixels: inout Int) throws(CoderError) -> [Double] {
        var times: [[Double]] = [[], [], []]
        for turn in 0..<runs + 2 {
            // Each of them is first, in the middle and last as often as the others.
            for place in 0..<3 {
                let index = (turn + place) % 3
                let time = try Probe.milliseconds { () throws(CoderError) in
                    pixels = try hosts[index].manager.decode(try ImageSource(path: file)).info.size.area ?? 0
                }
                if turn > 1 { times[index].append(time) }
            }
        }
        func longer(_ index: Int) -> Double { Probe.median(zip(times[index], times[0]).map { $0 - $1 }) }
        return times.map(Probe.median) + [longer(1), longer(2)]
    }
}

/// Runs two commands by turns, and says how long each took.
///
///     coderhost-fuzz turns [--runs N] --first "WORD …" --second "WORD …"
///
/// One line: medians of the one and of the other, and the median of how much longer the second one took, in milliseconds.
struct TurnsCommand {
    private let commands: [[String]]
    private let runs: Int

    init(_ switches: Switches) {
        commands = ["--first", "--second"].map { name in
            (switches[name] ?? "").split(separator: " ").map(String.init)
        }
        runs = switches.number("--runs", 15)
    }

    func run() -> Bool {
        var times: [[Double]] = [[], []]
        for turn in 0..<runs + 1 {
            for place in 0..<2 {
                let index = (turn + place) % 2
                guard let report = try? ChildProcess.run(commands[index]), report.status == 0 else {
                    say("finding\t\(commands[index].joined(separator: " "))\tdid not work")
                    return false
                }
                if turn > 0 { times[index].append(report.seconds * 1000) }
            }
        }
        let longer = Probe.median(zip(times[1], times[0]).map { $0 - $1 })
        say((times.map(Probe.median) + [longer]).map(Probe.text).joined(separator: "\t"))
        return true
    }
}
