package import CoderPluginKit
package import ImageModel

/// Changes the metadata and the orientation of a HEIF or AVIF file, and removes thumbnails, without decoding it.
///
/// The bytes of removed items are cut out of the data boxes, and new metadata is added to the last data box. All
/// positions in the file are adjusted; the bytes of images stay as they are.
///
/// - Source: ISO/IEC 14496-12:2022 section 8.11; ISO/IEC 23008-12:2022 sections 6 and 9 and annex A.
package struct ContainerRewriter {
    private let session: RewriteSession
    private let change: MetadataChange
    private let layout: FileLayout
    private var meta: MetaEdit?
    private var movie: MovieEdit?
    private var cuts = RangeSet([])
    /// Top-level boxes that are left out.
    private var dropped: [Range<Int>] = []

    /// The largest boxes that are read whole.
    private static let largestMeta = 16 << 20
    private static let largestMovie = 256 << 20

    /// Copies the source to the sink with the requested changes.
    ///
    /// - Parameter size: the size of the shown image.
    /// - Throws: `.refused`, `.corrupt`, `.truncated`, `.limitExceeded`.
    package static func rewrite(
        _ request: RewriteRequest, _ session: RewriteSession, size: PixelSize
    ) throws(CoderError) -> RewriteOutcome {
        let change = try MetadataChange(request)
        var isStripped = false
        if change.isEmpty {
            try copy(0..<session.source.available, session)
        } else {
            let rewriter = try ContainerRewriter(change, session)
            try rewriter.write()
            isStripped = rewriter.meta.map { $0.thumbnails > 0 } ?? false
        }
        return RewriteOutcome(kept: PixelRect(size), droppedThumbnails: isStripped)
    }

    private init(_ change: MetadataChange, _ session: RewriteSession) throws(CoderError) {
        (self.change, self.session) = (change, session)
        let source = session.source
        layout = try FileLayout(of: source, host: session.host)
        for type in ["mini", "moof", "sidx", "mfra"] as [FourCC] where layout.boxes.contains(where: { $0.type == type })
        {
            throw .refused("a file with a '\(type)' box cannot be rewritten; use coderhost convert")
        }
        let brand = layout.boxes[0].payload
        let isSequence = brand.count >= 4 && source.bytes(brand.prefix(4)) == Array("avis".utf8)
        if let box = layout.only("meta") {
            let lists = try MetaLists(
                try Self.payload(box, atMost: Self.largestMeta, source), fileCount: source.available)
            meta = try MetaEdit(lists, change, adds: lists.primary != nil)
        }
        if let box = layout.only("moov") {
            movie = try MovieEdit(
                try Self.payload(box, atMost: Self.largestMovie, source), change, isShown: isSequence,
                file: source.available)
        }
        guard meta != nil || movie != nil else { throw .corrupt("the file has no meta box") }
        if change.removed.contains(.raw) {
            dropped = layout.boxes.filter { !Self.needed.contains($0.type) }.map(\.range)
        }
        findCuts()
    }

    /// Top-level boxes without which a file cannot be decoded.
    private static let needed: Set<FourCC> = ["ftyp", "meta", "mdat", "moov", "pdin", "styp"]

    private static func payload(
        _ box: FileLayout.Entry, atMost limit: Int, _ source: ByteSource
    ) throws(CoderError) -> [UInt8] {
        guard box.payload.count <= limit else {
            throw .limit("bytes of the \(box.type) box", allowed: limit, requested: box.payload.count)
        }
        return source.bytes(box.payload)
    }

    private mutating func findCuts() {
        let all = [meta?.ranges, movie?.ranges].compactMap { $0 }
        let old = RangeSet(all.flatMap(\.old))
        cuts = old.subtracting(RangeSet(all.flatMap(\.kept)))
        let shared = old.count - cuts.count
        if shared > 0 {
            let items = meta.map { $0.thumbnails > 0 } == true ? "removed items" : "the old metadata"
            session.host.warn("\(shared) bytes of \(items) stay in the file, because other items use them")
        }
    }

    // MARK: Writing

    private func write() throws(CoderError) {
        let count = session.source.available
        let tail = layout.end..<(change.removed.contains(.raw) ? layout.end : count)
        let isChanged = meta?.isChanged == true || movie?.isChanged == true || !dropped.isEmpty
        guard isChanged || tail.upperBound < count else { return try Self.copy(0..<count, session) }
        let added = meta?.needsPayloads == true || movie?.needsPayloads == true ? change.payloads : []
        let total = added.reduce(0) { $0 + $1.bytes.count }
        let isWide = count + total > Int(UInt32.max) - (64 << 20)
        // The first pass only measures: sizes do not depend on positions.
        let unmoved = NewPlaces(
            moved: { $0 }, payloads: Dictionary(uniqueKeysWithValues: added.map { ($0.kind, 0..<$0.bytes.count) }),
            isWide: isWide)
        let data = try dataSplices(total)
        let draft = Splices(try listSplices(unmoved) + data.splices)
        guard let first = draft.moved(data.place..<data.place)?.lowerBound else {
            throw .corrupt("the boxes of the file overlap")
        }
        var place = first + data.header.count
        var payloads: [MetadataBlob.Kind: Range<Int>] = [:]
        for payload in added {
            payloads[payload.kind] = place..<place + payload.bytes.count
            place += payload.bytes.count
        }
        let insertion = Splice(range: data.place..<data.place, bytes: data.header + added.flatMap(\.bytes))
        let known = Splices(draft.list + [insertion])
        let places = NewPlaces(moved: known.moved, payloads: payloads, isWide: isWide)
        let final = Splices(try listSplices(places) + data.splices + [insertion])
        guard final.total == known.total else { throw CoderError(.pluginFault, "the boxes changed their size") }
        var next = 0
        for splice in final.list {
            try Self.copy(next..<splice.range.lowerBound, session)
            try session.sink.write(splice.bytes)
            next = splice.range.upperBound
        }
        try Self.copy(next..<tail.upperBound, session)
    }

    /// Returns the new boxes with lists.
    private func listSplices(_ places: NewPlaces) throws(CoderError) -> [Splice] {
        var splices: [Splice] = []
        if let meta, let box = layout.only("meta") {
            let payload = try meta.write(places)
            splices.append(
                Splice(range: box.range, bytes: FileLayout.header("meta", payload: payload.count) + payload))
        }
        if let movie, let box = layout.only("moov") {
            let payload = try movie.write(places)
            splices.append(
                Splice(range: box.range, bytes: FileLayout.header("moov", payload: payload.count) + payload))
        }
        return splices
    }

    /// Returns the cuts and new headers of the data boxes, and the position of `total` new bytes with their header.
    private func dataSplices(
        _ total: Int
    ) throws(CoderError) -> (splices: [Splice], place: Int, header: [UInt8]) {
        var splices = dropped.map { Splice(range: $0, bytes: []) }
        var left = cuts.subtracting(RangeSet(dropped)).ranges[...]
        let last = layout.boxes.lastIndex { $0.type == "mdat" }
        for (index, box) in layout.boxes.enumerated() where box.type == "mdat" {
            var growth = index == last ? total : 0
            while let cut = left.first, cut.lowerBound < box.payload.upperBound {
                guard cut.lowerBound >= box.payload.lowerBound, cut.upperBound <= box.payload.upperBound else { break }
                splices.append(Splice(range: cut, bytes: []))
                growth -= cut.count
                left.removeFirst()
            }
            if growth == 0 || box.isOpen { continue }
            splices.append(
                Splice(
                    range: box.range.lowerBound..<box.payload.lowerBound,
                    bytes: FileLayout.header("mdat", payload: box.payload.count + growth)))
        }
        if !left.isEmpty { throw .refused("a removed item is outside of the data boxes and cannot be cut out") }
        if let last { return (splices, layout.boxes[last].payload.upperBound, []) }
        if total == 0 { return (splices, layout.end, []) }
        if let open = layout.boxes.last, open.isOpen, open.type != "meta", open.type != "moov" {
            throw .refused("nothing can follow the box '\(open.type)', which has no size")
        }
        return (splices, layout.end, FileLayout.header("mdat", payload: total))
    }

    private static let piece = 1 << 16

    private static func copy(_ range: Range<Int>, _ session: RewriteSession) throws(CoderError) {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: piece) {
            try session.host.checkCancellation()
            let part = start..<min(start + piece, range.upperBound)
            try session.source.withBytes(part) { bytes throws(CoderError) in
                try session.sink.write(bytes)
            }
        }
    }
}
