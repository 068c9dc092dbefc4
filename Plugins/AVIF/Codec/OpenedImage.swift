internal import AVIFShim
internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// An image or a sequence whose boxes libavif has read.
final class OpenedImage {
    let picture: Picture
    let frames: Int
    /// Tiles that are decoded one by one; nil where libavif decodes the whole image.
    let grid: TileGrid?
    let reader: AVIFReader
    private let session: DecoderSession
    /// Bytes that libavif and dav1d take to decode all of it.
    private let memory: Int
    /// The frame whose planes libavif holds.
    private var decoded: Int?
    private var hasReserved = false
    /// Why the whole image must not be decoded; tiles may be.
    private let excess: CoderError?

    /// - Parameters:
    ///   - tiles: the number of tiles that libavif would decode, at most.
    ///   - item: where the image is one of these, and not a track.
    init(
        _ reader: AVIFReader, _ facts: avif_shim_facts, _ session: DecoderSession, tiles: Int = 0,
        item: (id: UInt32, boxes: ItemBoxes)? = nil
    ) throws(CoderError) {
        self.reader = reader
        self.session = session
        frames = Int(facts.frames)
        let picture = try Picture(facts, session)
        self.picture = picture
        memory = picture.libraryMemory(frames: frames, tiles: tiles)
        grid = item.flatMap { TileGrid($0.id, picture, in: $0.boxes, from: session.source) }
        excess = picture.excess(over: session.limits)
        if let excess {
            if grid == nil { throw excess }
            return
        }
        // The stream is asked for no more than the boxes promise, but for a small one that is padded or scaled.
        let area = picture.stored.area ?? 0
        let allowed = session.limits.maxPixels > 0 ? session.limits.maxPixels : .max
        reader.limit(maxPixels: min(area * 8 + 65_536, allowed), memory: memory)
        try reader.restart()
    }

    /// Opens an item as if it were alone in the file.
    convenience init(
        _ id: UInt32, in boxes: ItemBoxes, _ session: DecoderSession, threads: Int
    ) throws(CoderError) {
        let excerpt = try boxes.excerpt(of: id, from: session.source)
        let reader = try AVIFReader(session, maxFrames: 1, threads: threads, prefix: excerpt)
        let tiles = boxes.derivations.closure(of: id).count
        try self.init(reader, try reader.parse(), session, tiles: tiles, item: (id, boxes))
    }

    deinit {
        // Giving back is never refused.
        if hasReserved { try? session.host.reserve(bytes: -memory) }
    }

    /// Throws until the bytes of a frame are there.
    func require(_ frame: Int) throws(CoderError) {
        // Tiles are asked for one by one.
        if grid != nil { return }
        // Asked in this order: the last bytes may arrive between the two questions.
        let isComplete = session.source.isComplete
        if try reader.end(of: frame) > session.source.available {
            throw isComplete ? .truncated("the file ends in frame \(frame)") : .needsInput
        }
    }

    /// Fills the surface with a part of a frame, which is shown upright.
    func decode(_ frame: Int, _ region: PixelRect, into surface: borrowing Surface) throws(CoderError) {
        let target = SurfaceTarget(surface)
        let part = picture.placement.canvas(of: region)
        if let grid {
            let decoder = GridDecoder(session: session, grid: grid, picture: picture, model: reader)
            if try decoder.paint(part, into: target) { return }
        }
        if let excess { throw excess }
        if !hasReserved {
            try session.host.reserve(bytes: memory)
            hasReserved = true
        }
        try advance(to: frame)
        guard reader.planes.knowsColors else {
            throw .unsupported("a matrix of constant luminance or of ICtCp")
        }
        try reader.planes.convert(part, of: picture.stored, picture, into: target, session.host)
    }

    /// Decodes up to a frame: from the one before, or from the nearest key frame.
    private func advance(to frame: Int) throws(CoderError) {
        if decoded == frame { return }
        let key = reader.nearestKey(frame)
        var index = key
        if let decoded, decoded < frame, decoded + 1 > key { index = decoded + 1 }
        while index <= frame {
            try session.host.checkCancellation()
            do throws(CoderError) {
                let facts = try reader.decode(index)
                guard facts.storedSize == picture.stored, (facts.chroma == 400) == picture.isGray else {
                    throw .corrupt("frame \(index) differs from the image that the boxes state")
                }
            } catch {
                decoded = nil
                throw error.numbered
            }
            decoded = index
            index += 1
        }
    }
}

extension CoderError {
    /// The limit of libavif itself, which no limit of the session raises.
    var numbered: CoderError {
        code == .limitExceeded && limit?.name == "pixels"
            ? .unsupported("a stream of more pixels than the boxes state, or than libavif takes (268,435,456)") : self
    }
}
