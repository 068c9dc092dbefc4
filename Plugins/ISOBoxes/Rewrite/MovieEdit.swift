internal import CoderPluginKit
internal import ImageModel

/// The `moov` box of a sequence: the positions of its samples, and the metadata of its tracks.
///
///     moov ── trak ─┬─ meta                      Exif and XMP of the track
///                   └─ mdia ── minf ── stbl
struct MovieEdit {
    /// The payload of the box.
    private let bytes: [UInt8]
    private var tracks: [Track] = []
    private var chunks: [SampleChunks.Chunk] = []
    private var removals: [Range<Int>] = []

    private struct Track {
        let range: Range<Int>
        let payload: Range<Int>
        /// The `meta` box to replace; an empty range for a new one.
        var old: Range<Int>
        var meta: MetaEdit
    }

    /// - Parameter isShown: whether the file shows its first track, to which new metadata then belongs.
    init(_ bytes: [UInt8], _ change: MetadataChange, isShown: Bool, file: Int) throws(CoderError) {
        self.bytes = bytes
        guard change.transform == .up else { throw .refused("a file with a sequence cannot be turned") }
        if change.removed.contains(.icc), Self.hasProfile(bytes) {
            throw .refused("the color profile of a sequence cannot be removed; use coderhost convert")
        }
        var boxes = BoxCursor(bytes)
        var start = 0
        var isFirst = isShown
        while let box = try boxes.box() {
            defer { start = boxes.offset }
            if ["meta", "mvex"].contains(box.type) {
                throw .refused("a sequence with a '\(box.type)' box in 'moov' cannot be rewritten")
            }
            if box.type == "udta" { try take(userData: boxes.inside(box), start..<boxes.offset, change) }
            guard box.type == "trak" else { continue }
            let track = boxes.inside(box)
            if let table = track.first("mdia", "minf", "stbl") { chunks += try SampleChunks(table, file: file).chunks }
            let adds = isFirst && Self.showsImages(track)
            if adds { isFirst = false }
            try take(track, start..<boxes.offset, change, adds: adds, file: file)
        }
    }

    private mutating func take(
        _ track: BoxCursor, _ range: Range<Int>, _ change: MetadataChange, adds: Bool, file: Int
    ) throws(CoderError) {
        var boxes = track
        var lists = MetaLists()
        var old = range.upperBound..<range.upperBound
        var start = boxes.offset
        while let box = try boxes.box() {
            if box.type == "meta" {
                guard old.isEmpty else { throw .corrupt("a 'meta' box appears twice") }
                lists = try MetaLists(Array(boxes.bytes[box.payload]), fileCount: file)
                old = start..<boxes.offset
            }
            if box.type == "udta" { try take(userData: boxes.inside(box), start..<boxes.offset, change) }
            start = boxes.offset
        }
        let meta = try MetaEdit(lists, change, adds: adds)
        tracks.append(Track(range: range, payload: track.remaining, old: old, meta: meta))
    }

    private mutating func take(
        userData: BoxCursor, _ range: Range<Int>, _ change: MetadataChange
    ) throws(CoderError) {
        if !change.removed.isDisjoint(with: [.raw, .text]) {
            removals.append(range)
        } else if Self.contains(bytes[range], Array("iloc".utf8)) {
            throw .refused("a sequence with positions in a 'udta' box cannot be rewritten")
        }
    }

    /// Whether a track shows images and is not the alpha channel of another one.
    private static func showsImages(_ track: BoxCursor) -> Bool {
        guard track.first("tref", "auxl") == nil, var handler = track.first("mdia", "hdlr"), handler.skips(8),
            let kind = handler.number(4).map({ FourCC(UInt32($0)) })
        else { return false }
        return kind == "pict" || kind == "vide"
    }

    private static func hasProfile(_ bytes: [UInt8]) -> Bool {
        ["colrprof", "colrrICC"].contains { contains(bytes[...], Array($0.utf8)) }
    }

    private static func contains(_ bytes: ArraySlice<UInt8>, _ word: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0] == word[0] && bytes[$0...].starts(with: word) }
    }

    var isChanged: Bool { !removals.isEmpty || tracks.contains(where: \.meta.isChanged) }
    var needsPayloads: Bool { tracks.contains(where: \.meta.needsPayloads) }

    /// The bytes of the file that belong to old metadata, and those that belong to samples and other items.
    var ranges: (old: [Range<Int>], kept: [Range<Int>]) {
        var found: (old: [Range<Int>], kept: [Range<Int>]) = ([], chunks.map(\.range))
        for track in tracks {
            found.old += track.meta.ranges.old
            found.kept += track.meta.ranges.kept
        }
        return found
    }

    /// Returns the payload of the changed box.
    ///
    /// - Throws: `.refused` if samples cannot move.
    func write(_ places: NewPlaces) throws(CoderError) -> [UInt8] {
        var splices = removals.map { Splice(range: $0, bytes: []) }
        for chunk in chunks {
            guard let start = places.moved(chunk.range)?.lowerBound, chunk.width == 8 || start <= Int(UInt32.max) else {
                throw .refused("the samples of a sequence are not inside one data box and cannot be moved")
            }
            let range = chunk.place..<chunk.place + chunk.width
            var out = BoxWriter()
            if chunk.width == 8 { out.u64(start) } else { out.u32(UInt32(start)) }
            splices.append(Splice(range: range, bytes: out.bytes))
        }
        for track in tracks {
            var growth = removals.filter { track.range.contains($0.lowerBound) }.reduce(0) { $0 - $1.count }
            // The positions of kept items change, too.
            if track.meta.isChanged || !track.old.isEmpty {
                let payload = try track.meta.write(places)
                let new = FileLayout.header("meta", payload: payload.count) + payload
                splices.append(Splice(range: track.old, bytes: new))
                growth += new.count - track.old.count
            }
            if growth == 0 { continue }
            let header = FileLayout.header("trak", payload: track.payload.count + growth)
            splices.append(Splice(range: track.range.lowerBound..<track.payload.lowerBound, bytes: header))
        }
        return Splices(splices).applied(to: bytes[...])
    }
}
