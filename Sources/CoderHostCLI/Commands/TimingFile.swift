import CoderHost
import ImageModel

/// Durations and loop count of an animation that was taken apart.
///
///     {"schema": 1, "loop_count": 0, "frames": [{"file": "cat-0000.png", "duration": [1, 25]}, …]}
///
/// `loop_count` is the number of plays, 0 for ever, null where the file did not say; a duration is a fraction of seconds.
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

    func write(_ path: String, replacing: Bool, _ limits: DecodeLimits) throws(CoderError) {
        let sink = try FileSink(path: path, replacing: replacing, limits: limits)
        let document = JSONValue.object([
            ("schema", .integer(1)), ("loop_count", loopCount.json), ("frames", .array(frames.map(\.json))),
        ])
        try Array((document.text + "\n").utf8).withSpan { (span: RawSpan) throws(CoderError) in try sink.write(span) }
        try sink.commit()
    }

    init(loopCount: LoopCount, frames: [Entry]) {
        self.loopCount = loopCount
        self.frames = frames
    }

    /// - Throws: `.invalidArgument`, naming what is wrong in the file.
    init(reading path: String) throws(CoderError) {
        var limits = DecodeLimits()
        limits.maxInputBytes = 256 << 20
        let source = try ImageSource(path: path, limits: limits)
        let document: JSONValue
        do {
            document = try JSONParser.parse(source.bytes(0..<source.count))
        } catch {
            throw .invalidArgument("\(path) is no timing file: \(error)", hint: Self.hint)
        }
        guard let entries = document["frames"]?.array else {
            throw .invalidArgument("\(path) is no timing file: it has no frames", hint: Self.hint)
        }
        switch document["loop_count"] {
        case nil, .null?: loopCount = .unknown
        case let value?:
            guard let count = value.integer, count >= 0 else {
                throw .invalidArgument("\(path): loop_count is \(value.text)", hint: Self.hint)
            }
            loopCount = count == 0 ? .infinite : .plays(count)
        }
        frames = []
        for (index, entry) in entries.enumerated() {
            var duration = FrameDuration.unknown
            if let value = entry["duration"], value != .null {
                guard let parts = value.array, parts.count == 2, let numerator = parts[0].integer,
                    let denominator = parts[1].integer, let top = UInt32(exactly: numerator),
                    let bottom = UInt32(exactly: denominator)
                else {
                    throw .invalidArgument("\(path): the duration of frame \(index) is \(value.text)", hint: Self.hint)
                }
                duration = FrameDuration(top, over: bottom)
            }
            frames.append(Entry(file: entry["file"]?.string, duration: duration))
        }
    }

    private static let hint = #"it should read {"loop_count": 0, "frames": [{"duration": [1, 25]}, …]}"#
}
