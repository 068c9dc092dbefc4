public import CoderPluginKit
public import ImageModel

/// Decodes PNG; for an animated PNG the default image.
///
/// Walks the file chunk by chunk, so that complete and growing sources use the same code.
public final class PNGDecoder: ImageDecoder {
    private let file: PNGFile
    private let options: CoderOptions
    private let host: HostServices
    private var info: ImageInfo?
    private var engine: PNGEngine?
    private var image: PNGImage?
    /// The request of the current image, or of its last band.
    private var begun: DecodeRequest?
    private var format: PixelFormat?

    public init(_ session: DecoderSession) throws(CoderError) {
        file = PNGFile(session)
        options = session.options
        host = session.host
    }

    public func readHeader() throws(CoderError) -> ImageInfo {
        var info = try file.readHeader()
        // A row of an interlaced image is complete only with the last pass.
        info.decodesRows = !file.isInterlaced
        self.info = info
        return info
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] { try file.metadata() }

    public var pixelFormats: [PixelFormat] { file.pixelFormats }

    public func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        guard takesPasses else { return size }
        for shift in [3, 2, 1] {
            let reduced = Self.reduced(size, by: shift)
            if reduced.width >= wanted.width, reduced.height >= wanted.height { return reduced }
        }
        return size
    }

    public func decode(
        _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard let info, pixelFormats.contains(surface.format) else { throw Self.misfit }
        if let region = request.region { return try decode(region, of: request, into: surface) }
        let shift = try shift(for: request.scaledSize ?? info.size)
        guard surface.size == request.scaledSize ?? info.size else { throw Self.misfit }
        let isSame = begun?.region == nil && begun?.scaledSize == request.scaledSize
        if !isSame || image?.fits(surface) != true {
            image = try begin(in: surface, shift: shift, wantsPartial: request.wantsPartial)
            begun = request
        }
        return try finish(request)
    }

    /// Decodes a band of rows.
    private func decode(
        _ region: PixelRect, of request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard let info, info.decodesRows, request.scaledSize ?? info.size == info.size, region.x == 0,
            region.width == info.size.width, !region.isEmpty, PixelRect(info.size).contains(region),
            surface.size == region.size
        else { throw Self.misfit }
        let isGoingOn = begun?.region == region && image?.fits(surface) == true
        if region.y == 0, !isGoingOn {
            image = try begin(in: surface, wantsPartial: false)
        } else {
            guard let image, begun?.region != nil, format == surface.format else { throw Self.misfit }
            try image.goOn(with: region.y..<region.y + region.height, in: surface)
        }
        begun = request
        return try finish(request)
    }

    private func finish(_ request: DecodeRequest) throws(CoderError) -> DecodeOutcome {
        guard let image else { throw Self.misfit }
        let outcome = try image.decode(wantsPartial: request.wantsPartial)
        if outcome == .complete, image.isDecoded { file.passWarnings() }
        return outcome
    }

    private func begin(
        in surface: borrowing Surface, shift: Int = 0, wantsPartial: Bool
    ) throws(CoderError) -> PNGImage {
        if engine == nil { engine = try file.makeEngine() }
        guard let engine, let info else { throw CoderError(.misuse, "the header was not read") }
        format = surface.format
        return try PNGImage(
            PNGCursor(file.source, at: file.firstData ?? 0), of: file.source, by: engine, host: host,
            isInterlaced: file.isInterlaced, size: info.size, shift: shift, into: surface, wantsPartial: wantsPartial)
    }

    // MARK: Early passes

    /// Whether the first passes of an interlaced image may produce a smaller image.
    private var takesPasses: Bool { file.isInterlaced && options.bool("png.passes") == true }

    /// Returns how often a size is halved to get `reduced`.
    private func shift(for reduced: PixelSize) throws(CoderError) -> Int {
        guard let info else { throw Self.misfit }
        if reduced == info.size { return 0 }
        guard takesPasses, let shift = (1...3).first(where: { Self.reduced(info.size, by: $0) == reduced }) else {
            throw Self.misfit
        }
        return shift
    }

    /// Returns the size of every 2ⁿ-th pixel in every 2ⁿ-th row, beginning with the first.
    private static func reduced(_ size: PixelSize, by shift: Int) -> PixelSize {
        func part(_ side: Int) -> Int { (side + (1 << shift) - 1) >> shift }
        return PixelSize(part(size.width), part(size.height))
    }

    private static var misfit: CoderError {
        CoderError(.misuse, "the surface does not have the size or format of the image")
    }
}
