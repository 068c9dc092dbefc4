import CoderHost
import CommandLineKit
import ImageModel
import ImageProcessing

/// The durations and the loop count of extracted frames.
///
///     {"schema": 1, "loop_count": 0, "frames": [{"file": "cat-0000.png", "duration": [1, 25]}, …]}
///
/// Images match entries by name, or by position if no entry has a name.
///
/// `loop_count` is the number of plays, 0 for infinite, null if the file has none. `duration` is a fraction of a
/// second, null if the file has none.
struct TimingFile {
    struct Entry {
        /// The image; nil for an empty frame.
        var file: String?
        var duration: FrameDuration

        var json: JSONValue {
            .object([("file", file.map(JSONValue.string) ?? .null), ("duration", FrameRendering.duration(duration))])
        }
    }

    var loopCount: LoopCount
    var frames: [Entry]

    /// Writes the timing file.
    ///
    /// - Parameter sink: the opened output `path`.
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

    /// Returns the path of an image relative to the folder of the timing file.
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

    /// Reads a timing file.
    ///
    /// - Throws: `.invalidArgument` with the place of the error in the file.
    init(reading path: String) throws(CoderError) {
        let document = try Self.document(path)
        guard let entries = document["frames"]?.array else {
            throw .invalidArgument("not a timing file: no frames", hint: Self.hint)
        }
        if let schema = document["schema"], schema.integer != 1 {
            throw .invalidArgument(
                "unknown schema \(schema.text) of the timing file: expected 1", hint: Self.hint)
        }
        switch document["loop_count"] {
        case nil, .null?: loopCount = .unknown
        case let value?:
            guard let count = value.integer, count >= 0 else {
                throw .invalidArgument("invalid loop_count \(value.text)", hint: Self.hint)
            }
            loopCount = count == 0 ? .infinite : .plays(count)
        }
        frames = []
        for (index, value) in entries.enumerated() { frames.append(try Self.entry(value, index)) }
    }

    private static func document(_ path: String) throws(CoderError) -> JSONValue {
        if path != "-", FileStatus.of(path)?.isDirectory == true {
            throw CoderError(.inputOutput, "this is a directory", hint: "pass the timing file in it")
        }
        var limits = DecodeLimits()
        limits.maxInputBytes = 256 << 20
        let source = try ImageSource(path: path, limits: limits)
        let document: JSONValue
        do {
            document = try JSONParser.parse(source.bytes(0..<source.count))
        } catch {
            throw .invalidArgument("not a timing file: \(error)", hint: Self.hint)
        }
        // Ignores unknown keys, except those that look like misspelled known keys.
        let known = ["schema", "loop_count", "frames"]
        guard case .object(let members) = document else { return document }
        for (key, _) in members where !known.contains(key) {
            guard let meant = OptionCheck.nearest(key, known), document[meant] == nil else { continue }
            throw .invalidArgument("unknown key \(JSONValue.string(key).text)", hint: "did you mean \"\(meant)\"?")
        }
        return document
    }

    /// Parses a frame. Unknown keys are errors, because a misspelled key would silently drop a duration.
    private static func entry(_ value: JSONValue, _ index: Int) throws(CoderError) -> Entry {
        let known = ["file", "duration"]
        guard case .object(let members) = value else {
            throw .invalidArgument("invalid frame \(index): \(value.text)", hint: Self.hint)
        }
        if let key = members.map(\.key).first(where: { !known.contains($0) }) {
            throw .invalidArgument(
                "unknown key \(JSONValue.string(key).text) in frame \(index)",
                hint: OptionCheck.nearest(key, known).map { "did you mean \"\($0)\"?" }
                    ?? "keys of a frame: \"file\", \"duration\"")
        }
        var entry = Entry(file: nil, duration: .unknown)
        if let value = value["file"], value != .null {
            guard let file = value.string else {
                throw .invalidArgument("invalid file of frame \(index): \(value.text)", hint: Self.hint)
            }
            entry.file = file
        }
        if let value = value["duration"], value != .null {
            guard let parts = value.array, parts.count == 2, let numerator = parts[0].integer,
                let denominator = parts[1].integer, let top = UInt32(exactly: numerator),
                let bottom = UInt32(exactly: denominator), bottom > 0
            else {
                throw .invalidArgument("invalid duration of frame \(index): \(value.text)", hint: Self.hint)
            }
            entry.duration = FrameDuration(top, over: bottom)
        }
        return entry
    }

    // MARK: Images

    /// An image and its duration.
    typealias Shown = (file: String, duration: FrameDuration)

    /// Returns the images that the timing file lists.
    ///
    /// - Parameter path: the path of the timing file; names are relative to its folder.
    func named(relativeTo path: String) throws(CoderError) -> [Shown] {
        let folder = FileName(path).folder
        let shown = frames.compactMap { entry -> Shown? in
            guard let file = entry.file else { return nil }
            let name = file.hasPrefix("/") ? file : folder + file
            // Timing file and images may have been moved together.
            let moved = folder + Self.lastPart(file)
            return (FileStatus.of(name) == nil && FileStatus.of(moved) != nil ? moved : name, entry.duration)
        }
        if shown.isEmpty {
            throw .invalidArgument("the timing file lists no images", hint: "pass them: frames assemble *.png …")
        }
        return shown
    }

    /// Matches images to entries; returns them in file order with durations, and the number of entries without image.
    ///
    /// - Throws: `.invalidArgument` for an image without entry.
    func matched(to files: [String]) throws(CoderError) -> (shown: [Shown], leftOut: Int) {
        guard frames.contains(where: { $0.file != nil }) else {
            guard files.count == frames.count else {
                throw .invalidArgument(
                    "the timing file has \(Self.count(frames.count)), but the inputs are \(files.count)",
                    hint: "its frames have no names: pass one image for each frame, in order")
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
                    "the timing file has no entry for \(file)", hint: "add an entry, or remove the image")
            }
            guard possible.count == 1, fileOfName[name] == nil else {
                throw .invalidArgument(
                    "no unique entry for \(file)",
                    hint: "use unique image names, as in the timing file, and pass each image once")
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

    private static func count(_ images: Int) -> String { "\(images) image\(images == 1 ? "" : "s")" }

    private static let hint = #"the form is {"loop_count": 0, "frames": [{"duration": [1, 25]}, …]}"#
}
