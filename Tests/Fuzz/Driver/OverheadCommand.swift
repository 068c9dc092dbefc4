import CoderHost
import FuzzTargets
import ImageModel

/// Decodes images alternately in this process and in workers, and reports the overhead of the workers.
///
///     coderhost-fuzz overhead [--runs N] [--rounds N] FILE…
///
/// Of several rounds it reports the one with the fastest decode in this process, which other processes disturbed least.
/// Prints a line for each file: name and pixels, then medians in milliseconds. They are the medians of a decode in this
/// process, in a reused worker and in a fresh worker, and of the differences of both from the decode in this process.
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
            // Each of them is first, in the middle and last equally often.
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

/// Runs two commands alternately, and reports the time of each.
///
///     coderhost-fuzz turns [--runs N] --first "WORD …" --second "WORD …"
///
/// Prints one line in milliseconds: the medians of both, and the median of their difference.
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
