import CoderHost
import CommandLineKit
import ImageModel
import ImageProcessing

/// Durations and loop count of an animation that was taken apart.
///
///     {"schema": 1, "loop_count": 0, "frames": [{"file": "cat-0000.png", "duration": [1, 25]}, …]}
///
/// Pictures are matched to entries by name; where no entry has a name, by their place.
///
/// `loop_count` is the number of plays, 0 for ever, null where the file did not say; a duration is a fraction of seconds,
/// null where none was stored.
struct TimingFile {
    struct Entry {
        /// Nil for a frame without a picture.
        var file: String?
        var duration: FrameDuration

        var json: JSONValue {
            .object([("file", file.map(JSONValue.string) ?? .null), ("duration", FrameRendering.duration(duration))])
        }
    }

    var loopCount: LoopCount
    var frames: [Entry]

    /// - Parameters:
    ///   - sink: what was opened for `path`.
    func write(to sink: FileSink, named path: String) throws(CoderError) {
        let folder = FileName(path).folder
        let entries = frames.map { entry in
            Entry(file: entry.file.map { Self.name($0, relativeTo: folder) }, duration: entry.duration).json
        }
        let document = JSONValue.object([
            ("schema", .integer(1)), ("loop_count", loopCount.json), ("frames", .array(entries)),
        ])
        try Array((document.text + "\n").utf8).withSpan { (span: RawSpan) throws(CoderError) in try sink.write(span) }
        try sink.commit()
    }

    /// How a picture is found from the timing file's folder.
    private static func name(_ path: String, relativeTo folder: String) -> String {
        if folder.isEmpty || path.hasPrefix("/") { return path }
        if path.utf8.starts(with: folder.utf8) {
            return String(decoding: path.utf8.dropFirst(folder.utf8.count), as: UTF8.self)
        }
        return resolvedPath(path) ?? path
    }

    init(loopCount: LoopCount, frames: [Entry]) {
        self.loopCount = loopCount
        self.frames = frames
    }

    /// - Throws: `.invalidArgument`, naming what is wrong in the file.
    init(reading path: String) throws(CoderError) {
        let document = try Self.document(path)
        guard let entries = document["frames"]?.array else {
            throw .invalidArgument("this is no timing file: it has no frames", hint: Self.hint)
        }
        if let schema = document["schema"], schema.integer != 1 {
            throw .invalidArgument(
                "the schema of this timing file is \(schema.text), and only 1 is known", hint: Self.hint)
        }
        switch document["loop_count"] {
        case nil, .null?: loopCount = .unknown
        case let value?:
            guard let count = value.integer, count >= 0 else {
                throw .invalidArgument("loop_count is \(value.text)", hint: Self.hint)
            }
            loopCount = count == 0 ? .infinite : .plays(count)
        }
        frames = []
        for (index, value) in entries.enumerated() { frames.append(try Self.entry(value, index)) }
    }

    private static func document(_ path: String) throws(CoderError) -> JSONValue {
        if path != "-", FileStatus.of(path)?.isDirectory == true {
            throw CoderError(.inputOutput, "it is a directory", hint: "name the timing file in it")
        }
        var limits = DecodeLimits()
        limits.maxInputBytes = 256 << 20
        let source = try ImageSource(path: path, limits: limits)
        let document: JSONValue
        do {
            document = try JSONParser.parse(source.bytes(0..<source.count))
        } catch {
            throw .invalidArgument("this is no timing file: \(error)", hint: Self.hint)
        }
        // What is beside them is somebody's own, unless it looks like one of them.
        let known = ["schema", "loop_count", "frames"]
        guard case .object(let members) = document else { return document }
        for (key, _) in members where !known.contains(key) {
            guard let meant = OptionCheck.nearest(key, known), document[meant] == nil else { continue }
            throw .invalidArgument("it has \(JSONValue.string(key).text)", hint: "did you mean \"\(meant)\"?")
        }
        return document
    }

    /// One of the frames; a key that is mistyped would otherwise be a duration that nobody meant.
    private static func entry(_ value: JSONValue, _ index: Int) throws(CoderError) -> Entry {
        let known = ["file", "duration"]
        guard case .object(let members) = value else {
            throw .invalidArgument("frame \(index) is \(value.text)", hint: Self.hint)
        }
        if let key = members.map(\.key).first(where: { !known.contains($0) }) {
            throw .invalidArgument(
                "frame \(index) has \(JSONValue.string(key).text)",
                hint: OptionCheck.nearest(key, known).map { "did you mean \"\($0)\"?" }
                    ?? "a frame has \"file\" and \"duration\", and nothing else")
        }
        var entry = Entry(file: nil, duration: .unknown)
        if let value = value["file"], value != .null {
            guard let file = value.string else {
                throw .invalidArgument("the file of frame \(index) is \(value.text)", hint: Self.hint)
            }
            entry.file = file
        }
        if let value = value["duration"], value != .null {
            guard let parts = value.array, parts.count == 2, let numerator = parts[0].integer,
                let denominator = parts[1].integer, let top = UInt32(exactly: numerator),
                let bottom = UInt32(exactly: denominator), bottom > 0
            else {
                throw .invalidArgument("the duration of frame \(index) is \(value.text)", hint: Self.hint)
            }
            entry.duration = FrameDuration(top, over: bottom)
        }
        return entry
    }

    // MARK: Pictures

    /// A picture and how long it is seen.
    typealias Shown = (file: String, duration: FrameDuration)

    /// The pictures that the file itself names.
    ///
    /// - Parameter path: the timing file's; names are relative to its folder.
    func named(relativeTo path: String) throws(CoderError) -> [Shown] {
        let folder = FileName(path).folder
        let shown = frames.compactMap { entry -> Shown? in
            guard let file = entry.file else { return nil }
            let name = file.hasPrefix("/") ? file : folder + file
            // Its pictures may have been moved together with it.
            let moved = folder + Self.lastPart(file)
            return (FileStatus.of(name) == nil && FileStatus.of(moved) != nil ? moved : name, entry.duration)
        }
        if shown.isEmpty {
            throw .invalidArgument("there are no pictures: it names none", hint: "name them: frames assemble *.png …")
        }
        return shown
    }

    /// Pictures in the order of the file, with their durations, and how many entries have no picture here.
    ///
    /// - Throws: `.invalidArgument` for a picture without an entry.
    func matched(to files: [String]) throws(CoderError) -> (shown: [Shown], leftOut: Int) {
        guard frames.contains(where: { $0.file != nil }) else {
            guard files.count == frames.count else {
                throw .invalidArgument(
                    "it tells of \(Self.count(frames.count)), and there \(files.count == 1 ? "is" : "are") \(files.count)",
                    hint: "its frames have no names: give one picture for each, in order")
            }
            return (zip(files, frames).map { ($0, $1.duration) }, 0)
        }
        let names = Set(frames.compactMap(\.file))
        let byLastPart = Dictionary(grouping: names, by: Self.lastPart)
        var fileOfName: [String: String] = [:]
        for file in files {
            let possible = names.contains(file) ? [file] : byLastPart[Self.lastPart(file)] ?? []
            guard let name = possible.first else {
                throw .invalidArgument(
                    "it has no entry for \(file)", hint: "add one to its frames, or leave the picture out")
            }
            guard possible.count == 1, fileOfName[name] == nil else {
                throw .invalidArgument(
                    "it is not clear which entry \(file) belongs to",
                    hint: "give every picture a name of its own, as in the file, and name it once")
            }
            fileOfName[name] = file
        }
        let shown = frames.compactMap { entry -> Shown? in
            entry.file.flatMap { fileOfName[$0] }.map { ($0, entry.duration) }
        }
        return (shown, frames.count { $0.file != nil } - shown.count)
    }

    private static func lastPart(_ path: String) -> String {
        String(decoding: path.utf8.dropFirst(FileName(path).folder.utf8.count), as: UTF8.self)
    }

    private static func count(_ pictures: Int) -> String { "\(pictures) picture\(pictures == 1 ? "" : "s")" }

    private static let hint = #"it should read {"loop_count": 0, "frames": [{"duration": [1, 25]}, …]}"#
}
