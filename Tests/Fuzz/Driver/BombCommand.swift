import CoderHost
import FuzzTargets

/// Opens every bomb with the command, and compares its cost with that of a harmless image.
///
///     coderhost-fuzz bombs --write DIR              makes the files
///     coderhost-fuzz bombs --tool PATH --in DIR [--limits strict] [--milliseconds N]
///
/// Prints a line for each: name, verb, result, milliseconds of processor time, mebibytes more than a harmless image
/// takes.
struct BombCommand {
    private let tool: String
    private let folder: String
    private let profile: String
    private let mostMilliseconds: Double
    private var base = 0
    private var failures: [String] = []
    private var (worstTime, worstSize) = (0.0, 0)
    private static let mostGrowth = 64 << 20

    static func run(_ switches: Switches) -> Bool {
        if let folder = switches["--write"] {
            for bomb in Bomb.all { save(bomb.bytes(), to: "\(folder)/\(bomb.name)") }
            save([0x50, 0x35, 0x20, 0x31, 0x20, 0x31, 0x20, 0x39, 0x0A, 0x05], to: "\(folder)/harmless.pgm")
            return true
        }
        var command = BombCommand(switches)
        return command.run()
    }

    private init(_ switches: Switches) {
        tool = switches["--tool"] ?? "\(FuzzHost.products)/coderhost"
        folder = switches["--in"] ?? "."
        profile = switches["--limits"] ?? "default"
        mostMilliseconds = Double(switches.number("--milliseconds", 0))
    }

    private mutating func run() -> Bool {
        // The reference is an image that needs a plugin: the plugin's own code does not count for a bomb.
        base = show("harmless.pgm", "convert").peak
        for bomb in Bomb.all {
            for verb in ["info", "convert"] { judge(bomb, verb) }
        }
        let worst = "\(Int(worstTime.rounded(.up))) ms\t\(worstSize >> 20) MiB"
        say("total\t\(Bomb.all.count) bombs\t\(failures.count) not contained\tworst \(worst)")
        for failure in failures { say("finding\t\(failure)") }
        return failures.isEmpty
    }

    private func show(_ name: String, _ verb: String) -> (status: Int32, output: String, peak: Int, seconds: Double) {
        var words = [tool, verb, "\(folder)/\(name)", "--json", "--limits", profile, "--plugin-dir", FuzzHost.products]
        if verb == "convert" { words += ["-o", "\(folder)/out.pam"] }
        let output = "\(folder)/output"
        guard let report = try? ChildProcess.run(words, output: output, errors: "\(folder)/errors") else {
            return (-1, "", 0, 0)
        }
        let text = wholeFile(output) + wholeFile("\(folder)/errors")
        return (report.status, String(decoding: text, as: UTF8.self), report.peakBytes, report.processorSeconds)
    }

    private mutating func judge(_ bomb: Bomb, _ verb: String) {
        var seen = show(bomb.name, verb)
        // Other processes may slow it down; memory is the same every time.
        for _ in 0..<2 where mostMilliseconds > 0 && seen.seconds * 1000 > mostMilliseconds {
            let again = show(bomb.name, verb)
            if again.seconds < seen.seconds { seen = again }
        }
        let code = answer(seen.output)
        let growth = max(0, seen.peak - base)
        (worstTime, worstSize) = (max(worstTime, seen.seconds * 1000), max(worstSize, growth))
        let milliseconds = (seen.seconds * 10_000).rounded() / 10
        say("\(bomb.name)\t\(verb)\t\(code ?? "image")\t\(milliseconds) ms\t\(growth >> 20) MiB")
        func fail(_ reason: String) { failures.append("\(bomb.name)\t\(verb)\t\(reason)") }
        if seen.status < 0 || seen.status > 128 { fail("ended by \(seen.status): \(seen.output.prefix(200))") }
        if growth > Self.mostGrowth { fail("took \(growth >> 20) MiB") }
        if mostMilliseconds > 0, seen.seconds * 1000 > mostMilliseconds { fail("took \(milliseconds) ms") }
        if let code, !Self.refusals.contains(String(code.prefix { $0 != " " })) { fail("was answered with \(code)") }
        let mustRefuse = bomb.fate == .refused || bomb.fate == .refusedWhenDecoded && verb == "convert"
        if mustRefuse, code == nil { fail("was not refused") }
        if mustRefuse, profile == "default", let limit = bomb.limit, code != "limitExceeded \(limit)" {
            fail("was answered with \(code ?? "an image"), not the limit \(limit)")
        }
    }

    private static let refusals = ["limitExceeded", "corrupt", "truncated", "unsupportedFeature", "unrecognizedFormat"]

    /// The code of an error in a JSON line, with the limit that it names.
    private func answer(_ output: String) -> String? {
        for line in output.split(separator: "\n") {
            guard let document = try? JSONParser.parse(Array(line.utf8)), let error = document["error"],
                let code = error["code"]?.string
            else { continue }
            return error["limit"]?["name"]?.string.map { "\(code) \($0)" } ?? code
        }
        return nil
    }
}
