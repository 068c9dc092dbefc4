import CoderHost
import FuzzTargets
import ImageModel
import PluginCatalogue
import PluginRuntime

/// Runs faulty plugins, each in a worker, and measures how soon the host recovers.
///
///     coderhost-fuzz faulty --in DIR [--count N] [--milliseconds N]
///
/// DIR has a folder for each plugin, named by its fault, with one `libcoder-faulty.so`; the folder `none` has the
/// correct plugin. Each run has its own host, so that no plugin is quarantined because of earlier runs. Prints a line
/// for each plugin. It has the result of its image, and the milliseconds until another format, and the correct plugin
/// in place of the faulty one, have decoded.
struct ContainCommand {
    private let folder: String
    private let count: Int
    private let patience: Int
    private let mostMilliseconds: Double
    private let other: [UInt8]
    private var findings: [String] = []
    private static let file = "libcoder-faulty.so"
    /// 2 x 1 pixels, see `Tests/ThirdParty/faulty/plugin.h`.
    private static let image = Array("flt!".utf8) + [0, 2, 0, 1, 3, 10, 20, 30, 40, 50, 60]

    init(_ switches: Switches) {
        folder = switches["--in"] ?? "."
        count = switches.number("--count", 100)
        patience = switches.number("--patience", 300)
        mostMilliseconds = Double(switches.number("--milliseconds", 0))
        other = Probe.image("jpeg", PixelSize(64, 48))
    }

    /// One run of one plugin.
    private struct Outcome {
        var answer: String
        /// Milliseconds from the result on.
        var other: Double?
        var twin: Double?
    }

    mutating func run() -> Bool {
        let names = ((try? directoryEntries(folder)) ?? []).filter { name in
            name != "run" && !wholeFile("\(folder)/\(name)/\(Self.file)").isEmpty
        }
        let twin = wholeFile("\(folder)/none/\(Self.file)")
        guard !twin.isEmpty else {
            say("finding\tthere is no \(folder)/none/\(Self.file)")
            return false
        }
        // Libraries that are loaded once stay.
        _ = attempt(twin, twin)
        let before = ResourceCount()
        var (others, twins) = ([Double](), [Double]())
        for name in names {
            let bytes = wholeFile("\(folder)/\(name)/\(Self.file)")
            var answers: [String: Int] = [:]
            let outcomes = (0..<count).map { _ in attempt(bytes, twin) }
            for outcome in outcomes {
                answers[outcome.answer, default: 0] += 1
                if outcome.other == nil { findings.append("\(name)\tanother format did not decode") }
                if outcome.twin == nil { findings.append("\(name)\tthe good plugin did not decode") }
            }
            if let odd = answers.keys.first(where: { $0.hasPrefix("internal") || $0.hasPrefix("misuse") }) {
                findings.append("\(name)\twas answered with \(odd)")
            }
            let (one, two) = (outcomes.compactMap(\.other), outcomes.compactMap(\.twin))
            (others, twins) = (others + one, twins + two)
            let words = answers.sorted { $0.key < $1.key }.map { "\($0.key) x \($0.value)" }.joined(separator: ", ")
            say("\(name)\t\(words)\tother \(Self.figures(one))\tgood twin \(Self.figures(two))")
        }
        let after = ResourceCount.settled(before)
        if !after.isWithin(before) { findings.append("left behind\t\(before) became \(after)") }
        let worst = max(others.max() ?? 0, twins.max() ?? 0)
        if mostMilliseconds > 0, worst > mostMilliseconds { findings.append("recovery took \(Probe.text(worst)) ms") }
        say(
            "total\t\(names.count) plugins x \(count)\t\(findings.count) not contained\tother format \(Self.figures(others))"
                + "\tgood twin \(Self.figures(twins))\t\(after.growth(since: before))")
        for finding in findings { say("finding\t\(finding)") }
        return findings.isEmpty
    }

    private static func figures(_ values: [Double]) -> String {
        "median \(Probe.text(Probe.median(values))) worst \(Probe.text(values.max() ?? 0)) ms"
    }

    private func attempt(_ plugin: [UInt8], _ twin: [UInt8]) -> Outcome {
        let place = "\(folder)/run"
        makeFolder(place)
        defer {
            remove("\(place)/\(Self.file)")
            remove(place)
        }
        save(plugin, to: "\(place)/\(Self.file)")
        var limits = DecodeLimits.default
        limits.maxMilliseconds = patience
        let host = Probe.host(IsolationPolicy(.require), folders: [place], limits: limits, follows: true)
        // A host that is already in use.
        guard decodes(other, host) else { return Outcome(answer: "another format did not decode before") }
        var outcome: Outcome
        do throws(CoderError) {
            _ = try host.manager.decode(ImageSource(Self.image, name: "image.flt"))
            outcome = Outcome(answer: "image")
        } catch {
            outcome = Outcome(answer: "\(error.code)")
        }
        let start = monotonicNow()
        func elapsed() -> Double { Double(monotonicNow() - start) / 1e6 }
        if decodes(other, host) { outcome.other = elapsed() }
        let new = "\(place)/.new"
        save(twin, to: new)
        let (replaced, pause) = (elapsed(), outcome.other ?? 0)
        move(new, to: "\(place)/\(Self.file)")
        while elapsed() - replaced < 5000 {
            if decodes(Self.image, host) {
                // From the error on, without the time that does not depend on this plugin.
                outcome.twin = elapsed() - pause
                break
            }
        }
        return outcome
    }

    private func decodes(_ bytes: [UInt8], _ host: CoderHost) -> Bool {
        (try? host.manager.decode(ImageSource(bytes))) != nil
    }
}
