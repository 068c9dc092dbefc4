internal import AVIFShim
internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// An image or a sequence whose boxes libavif has read.
final class OpenedImage {
    let properties: Image
    let frames: Int
    /// Tiles that are decoded one by one; nil if libavif decodes the whole image.
    let grid: TileGrid?
    let reader: AVIFReader
    private let session: DecoderSession
    /// Bytes that libavif and dav1d need to decode the full image.
    private let memory: Int
    /// The index of the frame whose planes libavif holds.
    private var decoded: Int?
    private var hasReserved = false
    /// The reason why the full image must not be decoded; single tiles may be.
    private let excess: CoderError?

    /// - Parameters:
    ///   - tiles: the maximum number of tiles that libavif would decode.
    ///   - item: set if the image is an item, not a track.
    init(
        _ reader: AVIFReader, _ facts: avif_shim_facts, _ session: DecoderSession, tiles: Int = 0,
        item: (id: UInt32, boxes: ItemBoxes)? = nil
    ) throws(CoderError) {
        self.reader = reader
        self.session = session
        frames = Int(facts.frames)
        let properties = try Image(facts, session)
        self.properties = properties
        memory = properties.libraryMemory(frames: frames, tiles: tiles)
        grid = item.flatMap { TileGrid($0.id, properties, in: $0.boxes, from: session.source) }
        excess = properties.excess(over: session.limits)
        if let excess {
            if grid == nil { throw excess }
            return
        }
        // The stream may not need more memory than the boxes declare, except for a small padded or scaled image.
        let area = properties.stored.area ?? 0
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
        // Freeing reserved memory never fails.
        if hasReserved { try? session.host.reserve(bytes: -memory) }
    }

    /// Throws unless all bytes of a frame are there.
    func require(_ frame: Int) throws(CoderError) {
        // The decoder requests tiles one by one.
        if grid != nil { return }
        // Keep this order: the last bytes may arrive between the two checks.
        let isComplete = session.source.isComplete
        if try reader.end(of: frame) > session.source.available {
            throw isComplete ? .truncated("the file ends in frame \(frame)") : .needsInput
        }
    }

    /// Fills the surface with an upright part of a frame.
    func decode(_ frame: Int, _ region: PixelRect, into surface: borrowing Surface) throws(CoderError) {
        let target = SurfaceTarget(surface)
        let part = properties.placement.canvas(of: region)
        if let grid {
            let decoder = GridDecoder(session: session, grid: grid, image: properties, model: reader)
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
        try reader.planes.convert(part, of: properties.stored, properties, into: target, session.host)
    }

    /// Decodes up to a frame, starting from the current frame or from the nearest key frame.
    private func advance(to frame: Int) throws(CoderError) {
        if decoded == frame { return }
        let key = reader.nearestKey(frame)
        var index = key
        if let decoded, decoded < frame, decoded + 1 > key { index = decoded + 1 }
        while index <= frame {
            try session.host.checkCancellation()
            do throws(CoderError) {
                let facts = try reader.decode(index)
                guard facts.storedSize == properties.stored, (facts.chroma == 400) == properties.isGray else {
                    throw .corrupt("frame \(index) differs from the image that the boxes state")
                }
            } catch {
                decoded = nil
                throw error
            }
            decoded = index
            index += 1
        }
    }
}
