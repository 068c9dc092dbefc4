import CoderHost
import CommandLineKit
import ImageModel

/// Compares the images of two folders by their names.
struct CompareFolders {
    private let arguments: ParsedArguments
    private let host: CoderHost
    private let metrics: [CompareMetric]
    private let bounds: [CompareBound]
    private let frame: Int?
    private let patterns: [GlobPattern]
    private let (a, b): (String, String)

    /// - Throws: ``UsageError`` for an operand that is no folder.
    init(
        _ arguments: ParsedArguments, _ host: CoderHost, metrics: [CompareMetric], bounds: [CompareBound], frame: Int?
    ) throws(UsageError) {
        (self.arguments, self.host, self.frame) = (arguments, host, frame)
        (self.metrics, self.bounds) = (metrics, bounds)
        patterns = try arguments.all("--glob").map { text throws(UsageError) in try GlobPattern(text) }
        guard arguments.operands.count == 2 else {
            throw UsageError("compare -r needs two folders", hint: "coderhost compare -r A B", command: "compare")
        }
        (a, b) = (arguments.operands[0], arguments.operands[1])
        for folder in [a, b] where FileStatus.of(folder)?.isDirectory != true {
            throw UsageError(
                "\(folder) is not a folder", hint: "leave out -r to compare two images", command: "compare",
                exit: .noInput)
        }
    }

    func run() -> ExitCode {
        var counts = Counts()
        let (own, others) = (files(in: a, patterns, &counts), files(in: b, [], &counts))
        var counterparts = Counterparts(others.map(\.name))
        var progress = ProgressLine(total: own.count)
        defer { progress.clear() }
        for (number, file) in own.enumerated() {
            progress.show(number, file.name)
            let other = counterparts.take(file.name).map { FolderWalk.joined(b, $0) }
            compare(file, other, &counts, &progress)
            if Console.outputError != nil { return .inputOutput }
        }
        progress.clear()
        // With a pattern, the other files of B are not asked for.
        if patterns.isEmpty {
            for name in counterparts.left where isImage(FolderWalk.joined(b, name)) {
                counts.missing += 1
                Console.error(printable("coderhost: \(FolderWalk.joined(b, name)) has no counterpart in \(a)"))
            }
        }
        Console.error("coderhost: \(counts.text(hasBounds: !bounds.isEmpty))")
        return counts.allPass ? .success : .differs
    }

    private func files(
        in folder: String, _ patterns: [GlobPattern], _ counts: inout Counts
    ) -> [(name: String, path: String)] {
        var walk = FolderWalk(patterns, excluding: [])
        let found = walk.files(below: folder)
        for unread in walk.unread {
            Console.error(
                printable("coderhost: warning: the folder \(unread.path) cannot be read: \(unread.error)"))
        }
        counts.failures += walk.unread.count
        let start = FolderWalk.joined(folder, "").utf8.count
        return found.map { (String(decoding: $0.path.utf8.dropFirst(start), as: UTF8.self), $0.path) }
    }

    private func compare(
        _ file: (name: String, path: String), _ other: String?, _ counts: inout Counts, _ progress: inout ProgressLine
    ) {
        guard let other else {
            guard isImage(file.path) else { return counts.skipped += 1 }
            progress.clear()
            counts.missing += 1
            Console.error(printable("coderhost: \(file.path) has no counterpart in \(b)"))
            return
        }
        var subject = file.path
        do throws(CoderError) {
            let run = try CompareRun(
                [file.path, other], host, coder: arguments.value("--coder"), metrics: metrics, bounds: bounds,
                frame: frame, &subject)
            progress.clear()
            if run.isSame { counts.same += 1 } else if run.passes { counts.within += 1 } else { counts.different += 1 }
            guard !arguments.has("--json") else {
                Console.out(run.json.text)
                return
            }
            for warning in run.warnings { Console.error(printable("coderhost: \(file.name): warning: \(warning)")) }
            Console.out(printable("\(file.name): \(run.summary)"))
        } catch {
            if error.code == .unrecognizedFormat, !hasImageName(file.path) { return counts.skipped += 1 }
            progress.clear()
            counts.failures += 1
            error.report(subject, arguments)
        }
    }

    private func isImage(_ path: String) -> Bool {
        if hasImageName(path) { return true }
        guard let source = try? ImageSource(path: path, limits: host.manager.limits) else { return false }
        return (try? host.manager.openSession(source)) != nil
    }

    private func hasImageName(_ path: String) -> Bool {
        FileName(path).suffix.map { host.manager.format(ofExtension: $0.lowercased()) != nil } ?? false
    }

    /// The results so far.
    private struct Counts {
        var (same, within, different, missing, failures, skipped) = (0, 0, 0, 0, 0, 0)

        var allPass: Bool { different + missing + failures == 0 }

        func text(hasBounds: Bool) -> String {
            var parts = ["\(same) identical"]
            if hasBounds { parts.append("\(within) within bounds") }
            parts.append("\(different) \(hasBounds ? "out of bounds" : "different")")
            if missing > 0 { parts.append("\(missing) without a counterpart") }
            if failures > 0 { parts.append("\(failures) failed") }
            if skipped > 0 { parts.append(BatchSummary.unrecognized(skipped)) }
            return parts.joined(separator: ", ")
        }
    }
}

/// The files of one folder, by name and by name without extension.
private struct Counterparts {
    private var names: Set<String>
    private var namesByStem: [String: [String]] = [:]

    init(_ names: [String]) {
        self.names = Set(names)
        for name in names { namesByStem[Self.stem(name), default: []].append(name) }
    }

    private static func stem(_ name: String) -> String { FileName(name).folder + FileName(name).stem }

    /// Returns and removes the file with this name, or the only one that differs just in its extension.
    mutating func take(_ name: String) -> String? {
        if names.remove(name) != nil { return name }
        let candidates = (namesByStem[Self.stem(name)] ?? []).filter(names.contains)
        guard candidates.count == 1 else { return nil }
        return names.remove(candidates[0])
    }

    /// The names that were not taken, sorted.
    var left: [String] { names.sorted() }
}
