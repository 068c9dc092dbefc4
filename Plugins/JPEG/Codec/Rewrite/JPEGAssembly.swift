import CoderPluginKit
import ImageModel

/// Writes a new file: its metadata, the image, and the bytes behind the image.
struct JPEGAssembly {
    /// The source of the image data.
    enum Body {
        case source
        case new(JPEGBody)
        /// Data that is written while it is compressed.
        case compressing(JPEGTranscoder)
    }

    /// The fate of the index of further images.
    private enum Index {
        case stays
        case goes
        case becomes([UInt8])

        var goes: Bool { if case .goes = self { true } else { false } }
    }

    let survey: JPEGSurvey
    let edit: JPEGEdit
    /// Whether pixels change their position.
    let turns: Bool
    let source: JPEGSource
    let session: RewriteSession

    /// Writes the file; returns whether it drops the images behind the first.
    func write(_ body: Body) throws(CoderError) -> Bool {
        let whole = survey.end..<source.count
        var index = Index.stays
        var behind = [whole]
        var isDamaged = false
        let found = try survey.multiPicture.flatMap(album)
        if edit.removesRest {
            warn(of: behind, "are dropped: the request removes raw metadata")
            behind = []
        } else if let segment = survey.multiPicture {
            index = try plan(segment, found, body)
            if index.goes {
                let reason = turns ? "it shows the image before the change" : "its offsets cannot be kept right"
                session.host.warn("the index of further images is dropped: \(found == nil ? "it is damaged" : reason)")
                behind = Self.parts(of: whole, without: found?.images.map(\.bytes) ?? [])
            }
            if let found, !index.goes { try warnOfMetadata(in: found.images) }
            isDamaged = found == nil
        }
        if turns || index.goes || isDamaged { warn(of: behind, "stay as they are") }
        var output = JPEGOutput(session.sink, session.host)
        try write(body, index, to: &output)
        for range in behind { try output.copy(range, of: source) }
        return (edit.removesRest || index.goes) && found?.images.isEmpty == false
    }

    /// An index and the images that it names.
    private typealias Album = (index: MultiPictureIndex, images: [MultiPictureIndex.Image])

    /// Reads the index of further images; nil if it is damaged.
    private func album(_ segment: JPEGSegment) throws(CoderError) -> Album? {
        do throws(CoderError) {
            let index = try MultiPictureIndex(at: segment.bytes, source)
            do throws(CoderError) {
                return (index, try index.images(behind: survey.end, source))
            } catch {
                guard error.code == .corrupt else { throw error }
                return try index.movedImages(behind: survey.end, source).map { (index, $0) }
            }
        } catch {
            if error.code == .corrupt { return nil }
            throw error
        }
    }

    /// Decides the fate of the index of further images.
    private func plan(_ segment: JPEGSegment, _ found: Album?, _ body: Body) throws(CoderError) -> Index {
        if turns { return .goes }
        var measured = JPEGOutput(nil, session.host)
        let base = try write(body, .stays, to: &measured)
        if base == segment.bytes.lowerBound, measured.count == survey.end { return .stays }
        let moved = found.flatMap { found in
            found.index.moved(
                base: base + MultiPictureIndex.header, from: survey.end, to: measured.count, found.images)
        }
        return moved.map { .becomes($0) } ?? .goes
    }

    /// Writes the file up to the end of the image; returns the position of the index of further images.
    @discardableResult
    private func write(_ body: Body, _ index: Index, to output: inout JPEGOutput) throws(CoderError) -> Int {
        var base = 0
        var insertions = edit.insertions[...]
        var isCopied = false
        if case .source = body { isCopied = true }
        // A recompressed image has its own scans, so metadata between the old ones goes before them.
        let hasLateIndex = survey.multiPicture.map { $0.bytes.lowerBound > survey.scans } ?? false
        let readsScans = survey.hasLateMetadata && (!isCopied || edit.removesSegments || hasLateIndex)
        var walk = JPEGWalk(source, session.host, at: JPEGBody.head)
        try output.copy(0..<JPEGBody.head, of: source)
        walking: while true {
            while let next = insertions.first, next.place <= walk.offset {
                try output.write(next.bytes)
                insertions.removeFirst()
            }
            if walk.offset >= survey.scans, !readsScans { break }
            switch try walk.next() {
            case .end:
                break walking
            case .bytes(let range):
                if isCopied { try output.copy(range, of: source) }
            case .segment(let segment):
                if segment.bytes.lowerBound == survey.multiPicture?.bytes.lowerBound { base = output.count }
                let content = try JPEGContent(segment, source)
                if !segment.isMetadata, !isCopied { continue }
                switch try fate(of: segment, content, index) {
                case .stays: try output.copy(segment.bytes, of: source)
                case .becomes(let bytes): try output.write(bytes)
                case .goes: break
                }
            }
        }
        switch body {
        case .source: try output.copy((readsScans ? survey.end - 2 : walk.offset)..<survey.end, of: source)
        case .new(let new): for chunk in new.chunks { try output.write(chunk) }
        case .compressing(let transcoder): try compress(transcoder, to: output)
        }
        return base
    }

    private func fate(
        of segment: JPEGSegment, _ content: JPEGContent, _ index: Index
    ) throws(CoderError) -> JPEGEdit.Fate {
        let isFirst = segment.bytes.lowerBound == survey.multiPicture?.bytes.lowerBound
        return switch (content, index) {
        case (.multiPicture, .becomes(let bytes)) where isFirst: .becomes(bytes)
        case (.multiPicture, .goes), (.multiPicture, .becomes): .goes
        default: try edit.fate(of: segment, content)
        }
    }

    private func compress(_ transcoder: JPEGTranscoder, to output: JPEGOutput) throws(CoderError) {
        var output = output
        var skipped = 0
        try transcoder.write(.asItIs) { (bytes) throws(CoderError) in
            let new = bytes.dropFirst(JPEGBody.head - skipped)
            skipped += bytes.count - new.count
            try output.write(Array(new))
        }
    }

    // MARK: Behind the image

    private func warn(of ranges: [Range<Int>], _ fate: String) {
        let count = ranges.reduce(0) { $0 + $1.count }
        if count > 0 { session.host.warn("\(count) bytes behind the image \(fate)") }
    }

    /// Warns of further images that hold metadata which the request removes: only the first image is changed.
    private func warnOfMetadata(in images: [MultiPictureIndex.Image]) throws(CoderError) {
        var keepers: [Int] = []
        for (index, image) in images.enumerated() where try holdsRemoved(image.bytes) { keepers.append(index + 1) }
        guard let first = keepers.first else { return }
        let text =
            keepers.count == 1
            ? "image \(first) behind the first keeps its metadata"
            : "\(keepers.count) images behind the first keep their metadata"
        session.host.warn("\(text): only the first image is changed")
    }

    /// Whether the header of a further image has metadata that the request removes; true if it cannot be read.
    private func holdsRemoved(_ image: Range<Int>) throws(CoderError) -> Bool {
        if edit.removed.isEmpty { return false }
        var walk = JPEGWalk(source, session.host, at: image.lowerBound + JPEGBody.head)
        do throws(CoderError) {
            while walk.offset < image.upperBound {
                guard case .segment(let segment) = try walk.next() else { continue }
                if segment.marker == Self.scan { return false }
                if try JPEGContent(segment, source).kind.map(edit.removed.contains) == true { return true }
            }
            return false
        } catch {
            guard [.corrupt, .truncated].contains(error.code) else { throw error }
            return true
        }
    }

    /// The marker of a scan, ITU-T T.81 table B.1.
    private static let scan: UInt8 = 0xDA

    /// Returns the rest of a range.
    private static func parts(of whole: Range<Int>, without holes: [Range<Int>]) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var start = whole.lowerBound
        for hole in holes.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if hole.lowerBound > start { parts.append(start..<hole.lowerBound) }
            start = max(start, hole.upperBound)
        }
        if start < whole.upperBound { parts.append(start..<whole.upperBound) }
        return parts
    }
}
