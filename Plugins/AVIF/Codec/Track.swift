internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The durations and the loop count of a sequence, which libavif 0.11 does not report.
///
///     moov ── trak ─┬─ tkhd         id, duration of all plays
///                   ├─ edts ── elst played once or repeated
///                   ├─ tref         relation of another track to this one
///                   └─ mdia ─┬─ mdhd  units per second
///                            └─ minf ── stbl ─┬─ stsd  av01
///                                             └─ stts  durations
///
/// - Source: ISO/IEC 14496-12 sections 8.2 to 8.7.
struct Track {
    let timescale: UInt32
    let loopCount: LoopCount
    /// Runs of frames with the same duration: the index after the last frame, and the duration.
    private let runs: [(end: Int, duration: UInt32)]

    /// Finds the track that libavif shows: the first AV1 track with samples that refers to no other track.
    static func shown(in source: ByteSource) -> Track? {
        guard let movie = Container.payload("moov", of: source, atMost: 1 << 28) else { return nil }
        var cursor = BoxCursor(movie)
        while let box = cursor.nextBox() {
            if box.type == "trak", let track = Track(cursor.inside(box)) { return track }
        }
        return nil
    }

    /// An auxiliary track that is no alpha channel, such as a depth map.
    struct Other {
        let kind: String
        /// The position of the box type in the file.
        let place: Int
    }

    private static let mostOthers = 64

    /// Finds auxiliary tracks of other kinds than alpha: libavif takes any auxiliary track for alpha.
    ///
    /// - Source: ISO/IEC 23008-12 section 7.5.3 (`auxi`).
    static func otherKinds(in source: ByteSource) -> [Other] {
        guard let range = Container.range(of: "moov", in: source),
            let movie = Container.payload("moov", of: source, atMost: 1 << 28)
        else { return [] }
        var cursor = BoxCursor(movie)
        var found: [Other] = []
        while found.count < mostOthers {
            let start = cursor.offset
            guard let box = cursor.nextBox() else { break }
            let track = cursor.inside(box)
            guard box.type == "trak", track.first("tref", "auxl") != nil, let kind = auxiliaryKind(of: track),
                !Derivations.alphaKinds.contains(kind)
            else { continue }
            found.append(Other(kind: kind, place: range.lowerBound + start + 4))
        }
        return found
    }

    /// Returns the kind of an auxiliary track; nil if it declares none.
    private static func auxiliaryKind(of track: BoxCursor) -> String? {
        guard var entries = track.first("mdia", "minf", "stbl", "stsd"), entries.skips(8),
            // The fields of a visual sample entry come first.
            var entry = entries.first("av01"), entry.skips(78), var box = entry.first("auxi"), box.skips(4)
        else { return nil }
        return box.string()
    }

    private init?(_ track: BoxCursor) {
        guard var header = track.first("tkhd"), let (id, duration) = Self.header(&header), id != 0,
            track.first("tref", "auxl") == nil,
            let table = track.first("mdia", "minf", "stbl"), Self.isAV1(table), Self.hasSamples(table),
            var media = track.first("mdia", "mdhd"), let version = media.number(1),
            media.skips(version == 1 ? 19 : 11), let timescale = media.number(4)
        else { return nil }
        self.timescale = UInt32(timescale)
        runs = table.first("stts").map(Self.durations) ?? []
        loopCount = Self.loopCount(track, duration: duration)
    }

    /// Returns the duration of frame `index`. Frames behind the end of the table have the duration of its last frame.
    func duration(of index: Int) -> FrameDuration {
        guard timescale > 0 else { return .unknown }
        var low = 0
        var high = runs.count - 1
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].end > index { high = middle } else { low = middle + 1 }
        }
        // Without a table libavif assumes one unit per frame.
        return FrameDuration(runs.isEmpty ? 1 : runs[low].duration, over: timescale)
    }

    // MARK: Reading

    /// Returns the number of the track and the duration of the presentation; nil for an infinite one.
    private static func header(_ fields: inout BoxCursor) -> (id: UInt64, duration: UInt64?)? {
        guard let version = fields.number(1), fields.skips(version == 1 ? 19 : 11), let id = fields.number(4),
            fields.skips(4), let duration = fields.number(version == 1 ? 8 : 4)
        else { return nil }
        return (id, duration == (version == 1 ? UInt64.max : UInt64(UInt32.max)) ? nil : duration)
    }

    private static func isAV1(_ table: BoxCursor) -> Bool {
        guard var entries = table.first("stsd"), entries.skips(8) else { return false }
        return entries.first("av01") != nil
    }

    private static func hasSamples(_ table: BoxCursor) -> Bool {
        guard var chunks = table.first("stco") ?? table.first("co64"), chunks.skips(4) else { return false }
        return chunks.number(4) ?? 0 > 0
    }

    private static func durations(_ box: BoxCursor) -> [(end: Int, duration: UInt32)] {
        var fields = box
        var runs: [(end: Int, duration: UInt32)] = []
        guard fields.skips(4), let count = fields.number(4) else { return [] }
        var end = 0
        for _ in 0..<count {
            guard let frames = fields.number(4), let duration = fields.number(4) else { break }
            // At most 2³² runs of 2³² frames fit an Int; a table has far fewer.
            end += Int(frames)
            runs.append((end, UInt32(duration)))
        }
        return runs
    }

    /// Returns the plays that the edit list declares: one edit that may repeat until the presentation ends.
    ///
    /// - Source: ISO/IEC 14496-12:2022 section 8.6.6 (flag 1: repeat edits); ISO/IEC 23008-12 section 9.6.
    private static func loopCount(_ track: BoxCursor, duration: UInt64?) -> LoopCount {
        guard var list = track.first("edts", "elst") else { return .unknown }
        guard let version = list.number(1), let flags = list.number(3), list.number(4) == 1,
            let segment = list.number(version == 1 ? 8 : 4)
        else { return .unknown }
        guard flags & 1 == 1 else { return .plays(1) }
        guard let duration else { return .infinite }
        guard segment > 0 else { return .unknown }
        let plays = duration / segment + (duration % segment == 0 ? 0 : 1)
        return .plays(Int(clamping: max(1, plays)))
    }
}
