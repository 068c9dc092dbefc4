internal import AVIFShim
internal import CoderPluginKit
internal import ImageModel

/// A thumbnail item, decoded as if it were the picture of the file.
struct Thumbnail {
    let info: ImageInfo
    private let place: ThumbnailPlace
    private let picture: Picture

    /// Nil for one that libavif does not read, that is larger than the picture, or above the limits.
    init?(_ place: ThumbnailPlace, of whole: PixelSize, _ session: DecoderSession) {
        guard let reader = try? Self.reader(place, session), let facts = try? reader.parse(), facts.frames == 1,
            let picture = try? Picture(facts, session), let area = picture.stored.area, area <= whole.area ?? 0
        else { return nil }
        self.place = place
        self.picture = picture
        info = ImageInfo(
            size: picture.size, nativeFormat: picture.formats[0], bitDepth: picture.depth, hasAlpha: picture.hasAlpha,
            orientationApplied: true, isLossy: true,
            color: ColorDescription(codePoints: picture.codePoints, hasProfile: picture.hasProfile))
    }

    private static func reader(_ place: ThumbnailPlace, _ session: DecoderSession) throws(CoderError) -> AVIFReader {
        try AVIFReader(session, maxFrames: 1, threads: 1, thumbnail: place)
    }

    func decode(into surface: borrowing Surface, _ session: DecoderSession) throws(CoderError) {
        guard surface.size == info.size, surface.format == info.nativeFormat else {
            throw CoderError(.misuse, "the surface does not fit the thumbnail")
        }
        let reader = try Self.reader(place, session)
        _ = try reader.parse()
        // The stream is asked for no more than the boxes promise, but for a small one that is padded or scaled.
        let area = picture.stored.area ?? 0
        try reader.restart(maxPixels: area * 8 + 65_536, memory: picture.libraryMemory(frames: 1))
        // Asked in this order: the last bytes may arrive between the two questions.
        let isComplete = session.source.isComplete
        if try reader.end(of: 0) > session.source.available {
            throw isComplete ? .truncated("the file ends in the thumbnail") : .needsInput
        }
        try session.host.checkCancellation()
        let bytes = picture.libraryMemory(frames: 1)
        try session.host.reserve(bytes: bytes)
        defer { try? session.host.reserve(bytes: -bytes) }
        let facts = try reader.decode(0)
        guard facts.storedSize == picture.stored, (facts.chroma == 400) == picture.isGray else {
            throw .corrupt("the thumbnail is another kind of picture than the file says")
        }
        guard reader.knowsColors else { throw .unsupported("a matrix of constant luminance or of ICtCp") }
        try reader.convert(picture, into: surface, session.host)
    }
}

extension AVIFReader {
    /// Converts all of the decoded frame.
    func convert(_ picture: Picture, into surface: borrowing Surface, _ host: HostServices) throws(CoderError) {
        // Every strip but the first begins with an odd row: see avif_shim_convert.
        var row = 0
        while row < picture.stored.height {
            try host.checkCancellation()
            let end = min(row + (row == 0 ? 65 : 64), picture.stored.height)
            try convert(row..<end, picture.part, turns: picture.turns, mirror: picture.mirror, into: surface)
            host.progress(end, of: picture.stored.height)
            row = end
        }
    }
}
