public import CoderPluginKit
public import ImageModel

/// Decodes JPEG: baseline, extended and progressive, Huffman or arithmetic coding, 8 bits.
///
/// From a growing source, a picture of one scan comes row by row, each once. One of several scans comes as a whole, at
/// most once for each finished scan and only where the host wants partial pictures; ``JPEGScans`` says for which. What
/// was read of it stays until the session ends, so that another format or reduction costs one pass over it.
///
/// - Source: ITU-T T.81; JFIF 1.02; Adobe TN 5116 for the colour transform.
public final class JPEGDecoder: ImageDecoder {
    private let session: DecoderSession
    private var decompressor: JPEGDecompressor?
    private var header: JPEGDecompressor.Header?
    private var image: ImageInfo?
    private var run: Run?

    /// The state of a decode that may be called again, while the source grows or with another request.
    private struct Run {
        /// What a picture of one scan is decoded to.
        var format: PixelFormat
        var scale: Int
        var reserved = 0
        var row = 0
        var scans: JPEGScans
        var isAbsorbed = false
        /// What the last picture of several scans was made for.
        var shown: Picture?
    }

    private struct Picture: Equatable {
        var format: PixelFormat
        var scale: Int
    }

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let image { return image }
        let header = try begin().header
        guard let native = header.native else { throw .unsupported("a picture of \(header.components) components") }
        let metadata = JPEGMetadata(session.source, limit: session.limits.maxMetadataBytes)
        let image = ImageInfo(
            size: header.size, nativeFormat: native, orientation: try metadata.orientation(), isLossy: true,
            color: ColorDescription(hasProfile: metadata.hasProfile), density: header.density)
        self.image = image
        return image
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        _ = try readHeader()
        return try JPEGMetadata(session.source, limit: session.limits.maxMetadataBytes).blobs(warn: session.host.warn)
    }

    public var pixelFormats: [PixelFormat] {
        let native = image?.nativeFormat ?? .rgb8
        return (native == .rgb8 ? [] : [native])
            + [.rgb8, PixelFormat(.rgba, alpha: .opaque), PixelFormat(.bgra, alpha: .opaque)]
    }

    public func reducedSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        (1...8).lazy.map { Self.reduce(size, to: $0) }
            .first { $0.width >= wanted.width && $0.height >= wanted.height } ?? size
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let image = try readHeader()
        if let region = request.region, region != PixelRect(image.size) { throw .unsupported("a region") }
        let format = surface.format
        guard pixelFormats.contains(where: { $0.channels == format.channels }), format.bits == 8,
            format.numeric == .unorm, format.alpha != .premultiplied
        else { throw CoderError(.misuse, "JPEG is not decoded to \(format)") }
        let scale = Self.scale(of: image.size, for: request.reducedSize ?? image.size)
        guard Self.reduce(image.size, to: scale) == surface.size else {
            throw CoderError(.misuse, "the surface is \(surface.size), not \(Self.reduce(image.size, to: scale))")
        }

        if let run, run.format != format || run.scale != scale, header?.isMultiScan == false { close() }
        let (decompressor, header) = try begin()
        if header.needsAllInput, !session.source.isComplete { throw .needsInput }
        if run == nil {
            if header.isMultiScan { try session.host.reserve(bytes: header.coefficientBytes) }
            run = Run(
                format: format, scale: scale, reserved: header.isMultiScan ? header.coefficientBytes : 0,
                scans: JPEGScans(
                    pixels: image.size.area ?? .max, showsAll: session.options.bool("jpeg.every-scan") ?? false))
        }
        try decompressor.start(run?.format ?? format, scale: run?.scale ?? scale)
        return header.isMultiScan
            ? try decodeScans(decompressor, request, scale, surface)
            : try decodeRows(decompressor, request, surface)
    }

    /// A decompressor that has read the header, and what it read.
    private func begin() throws(CoderError) -> (decompressor: JPEGDecompressor, header: JPEGDecompressor.Header) {
        if let decompressor, let header { return (decompressor, header) }
        let decompressor: JPEGDecompressor
        if let begun = self.decompressor {
            decompressor = begun
        } else {
            var reader = ByteReader(session.source)
            guard try reader.consume([0xFF, 0xD8]) else { throw .notMine() }
            decompressor = try JPEGDecompressor(session.source)
            self.decompressor = decompressor
        }
        let header = try decompressor.readHeader()
        self.header = header
        return (decompressor, header)
    }

    /// Ends a run; the next decode begins with the first byte again.
    private func close() {
        if let reserved = run?.reserved, reserved > 0 { try? session.host.reserve(bytes: -reserved) }
        run = nil
        decompressor = nil
        header = nil
    }

    // MARK: One scan: rows as they come

    private func decodeRows(
        _ decompressor: JPEGDecompressor, _ request: DecodeRequest, _ surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let first = run?.row ?? 0
        var row = first
        while row < surface.size.height {
            try session.host.checkCancellation()
            let step = try decompressor.rows(into: surface, row: &row, count: Self.stripHeight)
            run?.row = row
            let new = PixelRect(x: 0, y: first, width: surface.size.width, height: max(0, row - first))
            switch step {
            case .needsInput:
                if request.wantsPartial, !new.isEmpty { return .partial(new) }
                throw .needsInput
            case .truncated:
                close()
                if request.wantsPartial, !new.isEmpty { return .partial(new) }
                throw .truncated("the picture ends at row \(row) of \(surface.size.height)")
            case .done, .more:
                session.host.progress(row, of: surface.size.height)
            }
        }
        if let warning = decompressor.warning { session.host.warn(warning) }
        close()
        return .complete
    }

    // MARK: Many scans: all of them first, then the rows

    private func decodeScans(
        _ decompressor: JPEGDecompressor, _ request: DecodeRequest, _ scale: Int, _ surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        run?.scans.begin(decompressor.scan)
        while run?.isAbsorbed == false {
            try session.host.checkCancellation()
            let step = try decompressor.absorb()
            let scan = decompressor.scan
            let allowed = session.limits.maxScans
            if allowed > 0, scan.number > allowed {
                throw .limit("scans", allowed: allowed, requested: scan.number)
            }
            run?.scans.begin(scan)
            switch step {
            case .done, .truncated:
                run?.isAbsorbed = true
                if let warning = decompressor.warning { session.host.warn(warning) }
            case .more: break
            case .needsInput: return try preview(decompressor, request, scale, surface)
            }
        }
        try show(decompressor, .best, scale, surface)
        if !decompressor.isTruncated { return .complete }
        if request.wantsPartial { return .partial(PixelRect(surface.size)) }
        throw .truncated("the picture ends within its scans")
    }

    /// Shows what has come since the last picture, if it is worth one.
    private func preview(
        _ decompressor: JPEGDecompressor, _ request: DecodeRequest, _ scale: Int, _ surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let picture = Picture(format: surface.format, scale: scale)
        guard request.wantsPartial, let run, run.scans.wantsPicture || run.scans.hasPicture && run.shown != picture
        else { throw .needsInput }
        let isCoarse = scale == 8 && !run.scans.hasDetail
        try show(decompressor, isCoarse ? .coarse : run.scans.showsAll ? .quick : .plain, scale, surface)
        self.run?.scans.showed()
        self.run?.shown = picture
        return .partial(PixelRect(surface.size))
    }

    private func show(
        _ decompressor: JPEGDecompressor, _ quality: JPEGDecompressor.Quality, _ scale: Int,
        _ surface: borrowing Surface
    ) throws(CoderError) {
        try decompressor.beginPass(quality, scale: scale, for: surface)
        var row = 0
        while row < surface.size.height {
            try session.host.checkCancellation()
            guard case .done = try decompressor.rows(into: surface, row: &row, count: Self.stripHeight) else {
                throw CoderError(.misuse, "a complete scan asked for more input")
            }
            if quality == .best { session.host.progress(row, of: surface.size.height) }
        }
        try decompressor.endPass()
    }

    /// Rows between two questions for cancellation.
    private static let stripHeight = 64

    // MARK: Reduction while decoding, n/8 of each side

    private static func reduce(_ size: PixelSize, to eighths: Int) -> PixelSize {
        PixelSize((size.width * eighths + 7) / 8, (size.height * eighths + 7) / 8)
    }

    private static func scale(of size: PixelSize, for wanted: PixelSize) -> Int {
        wanted == size ? 8 : (1...8).first { reduce(size, to: $0) == wanted } ?? 8
    }
}
