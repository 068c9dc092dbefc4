public import CoderPluginKit
public import ImageModel

/// Decodes JPEG: baseline, extended and progressive, Huffman or arithmetic coding, 8 bits; through ``ExtendedImage``
/// lossless images, and images of 12 bits.
///
/// From a growing source, a single-scan image arrives row by row, each row once. A multi-scan image arrives as a whole,
/// at most once for each finished scan, if the host requests partial images; ``JPEGScans`` chooses the scans. Its
/// coefficients stay until the session ends, so that another format or reduction costs one pass over them.
///
/// - Source: ITU-T T.81; JFIF 1.02; Adobe TN 5116 for the color transform.
public final class JPEGDecoder: ItemDecoder {
    let session: DecoderSession
    let window: Int
    /// Whether the other images of the file are listed; false for the decoder of an item.
    private let listsItems: Bool
    private var decompressor: JPEGDecompressor?
    private var header: JPEGDecompressor.Header?
    private var image: ImageInfo?
    private(set) var run: Run?
    private(set) var album: JPEGAlbum?
    /// The decoder of an image that the library does not decode.
    var extended: ExtendedImage?
    /// The item that calls refer to; nil for the image of this decoder.
    var selected: JPEGAlbum.Opened?

    /// The state of a decode that may continue while the source grows, or with another request.
    struct Run {
        /// The output format of a single-scan image.
        var format: PixelFormat
        var scale: Int
        var reserved = 0
        var row = 0
        var scans: JPEGScans
        var isAbsorbed = false
        /// Whether scans are skipped, so that the coefficients serve no other scale.
        var isSkimmed = false
        /// The bands of this run, if the caller requests bands.
        var bands: Bands?
        /// The output of the last image of several scans.
        var shown: OutputForm?
    }

    /// The progress of an image that is decoded in bands of rows.
    struct Bands {
        var output: OutputForm
        /// The current band, not complete yet.
        var current: PixelRect?
        /// The first row of the next band.
        var next = 0
        /// Whether a pass over the coefficients has begun.
        var hasPass = false
    }

    struct OutputForm: Equatable {
        var format: PixelFormat
        var scale: Int
    }

    public convenience init(_ session: DecoderSession) throws(CoderError) {
        self.init(session, window: JPEGDecompressor.defaultWindow)
    }

    /// Makes a decoder that keeps at most `window` bytes of a file in memory, if the host only reads piece by piece.
    init(_ session: DecoderSession, window: Int, listsItems: Bool = true) {
        self.session = session
        self.window = window
        self.listsItems = listsItems
    }

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let selected { return selected.item.info }
        return try facts()
    }

    /// The facts of the first image, for any selected item.
    func facts() throws(CoderError) -> ImageInfo {
        if let image { return image }
        let header: JPEGDecompressor.Header
        do throws(CoderError) {
            header = try begin().header
        } catch {
            guard error.code == .unsupportedFeature else { throw error }
            return try extendedFacts(error)
        }
        guard let native = header.native else { throw .unsupported("an image with \(header.components) components") }
        return try describe(
            ImageInfo(
                size: header.size, nativeFormat: native, isLossy: true, density: header.density,
                // The coefficients of several scans are all needed.
                regionCost: header.isMultiScan ? .whole : .above))
    }

    /// Adds the metadata and the items to the facts of the frame.
    func describe(_ frame: ImageInfo) throws(CoderError) -> ImageInfo {
        var image = frame
        let metadata = JPEGMetadata(session.source, limit: session.limits.maxMetadataBytes)
        if listsItems { album = try JPEGAlbum(metadata.markers, of: image.size, self) }
        image.orientation = try metadata.orientation()
        image.color = ColorDescription(hasProfile: metadata.hasProfile)
        image.hasItems = album?.isEmpty == false
        image.decodesRows = true
        self.image = image
        return image
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        if let selected { return try selected.metadata() }
        _ = try facts()
        return try JPEGMetadata(session.source, limit: session.limits.maxMetadataBytes).blobs(warn: session.host.warn)
    }

    public var pixelFormats: [PixelFormat] {
        if let selected { return selected.pixelFormats }
        if let extended { return [extended.header.format] }
        let native = image?.nativeFormat ?? .rgb8
        return (native == .rgb8 ? [] : [native])
            + [.rgb8, PixelFormat(.rgba, alpha: .opaque), PixelFormat(.bgra, alpha: .opaque)]
    }

    /// Only the scales with vector instructions in libjpeg-turbo: 5/8 to 7/8 take longer than the full size, 3/8 as
    /// long as 4/8. ``decode(_:into:)`` supports all scales.
    public func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        if let selected { return selected.scaledSize(atLeast: wanted, of: size) }
        if extended != nil { return size }
        return [1, 2, 4, 8].lazy.map { Self.reduce(size, to: $0) }
            .first { $0.width >= wanted.width && $0.height >= wanted.height } ?? size
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        if let selected { return try selected.decode(request, into: surface) }
        let image = try facts()
        if let extended { return try decode(extended, request, into: surface) }
        let format = surface.format
        guard pixelFormats.contains(where: { $0.channels == format.channels }), format.bits == 8,
            format.numeric == .unorm, format.alpha != .premultiplied
        else { throw CoderError(.misuse, "JPEG is not decoded to \(format)") }
        let output = OutputForm(
            format: format, scale: Self.scale(of: image.size, for: request.scaledSize ?? image.size))
        let size = Self.reduce(image.size, to: output.scale)
        let part = try self.part(request.region, of: size)
        guard surface.size == part?.size ?? size else {
            throw CoderError(.misuse, "the surface has \(surface.size) pixels, not \(part?.size ?? size)")
        }
        if let part, !isBand(part, of: output, size) { return try decodeRegion(part, output, request, surface) }
        let band = part

        try enter(band, of: output)
        let (decompressor, header) = try begin()
        if header.needsAllInput, !session.source.isComplete { throw .needsInput }
        if run == nil { try beginRun(output, decompressor, header, image) }
        if let band {
            if run?.bands == nil { run?.bands = Bands(output: output) }
            run?.bands?.current = band
        }
        try decompressor.start(run?.format ?? format, scale: run?.scale ?? output.scale)
        let outcome =
            header.isMultiScan
            ? try decodeScans(decompressor, request, output.scale, band, size, surface)
            : try decodeRows(decompressor, request, band?.y ?? 0, size, surface)
        if let band, outcome == .complete {
            run?.bands?.current = nil
            run?.bands?.next = band.y + band.height
        }
        return outcome
    }

    func beginRun(
        _ output: OutputForm, _ decompressor: JPEGDecompressor, _ header: JPEGDecompressor.Header, _ image: ImageInfo
    ) throws(CoderError) {
        var isSkimmed = false
        if header.isMultiScan {
            if output.scale < 8, session.source.isComplete {
                let (scans, leavesOut) = try decompressor.skim(output.format, scale: output.scale)
                try checkScans(scans)
                isSkimmed = leavesOut
            }
            try session.host.reserve(bytes: header.coefficientBytes)
        }
        run = Run(
            format: output.format, scale: output.scale, reserved: header.isMultiScan ? header.coefficientBytes : 0,
            scans: JPEGScans(
                pixels: image.size.area ?? .max, showsAll: session.options.bool(OptionKey.everyScan) ?? false),
            isSkimmed: isSkimmed)
    }

    private func checkScans(_ count: Int) throws(CoderError) {
        let allowed = session.limits.maxScans
        if allowed > 0, count > allowed { throw .limit("scans", allowed: allowed, requested: count) }
    }

    // MARK: Bands

    /// The requested part; nil for the whole image.
    func part(_ region: PixelRect?, of size: PixelSize) throws(CoderError) -> PixelRect? {
        guard let region, region != PixelRect(size) else { return nil }
        guard !region.isEmpty, PixelRect(size).contains(region) else {
            throw .invalidArgument("the region \(region) is not inside the image of \(size) pixels")
        }
        return region
    }

    /// Whether a part is the first band of rows or the next one.
    private func isBand(_ part: PixelRect, of output: OutputForm, _ size: PixelSize) -> Bool {
        guard part.x == 0, part.width == size.width else { return false }
        if part.y == 0 { return true }
        guard let bands = run?.bands, bands.output == output else { return false }
        return bands.current.map { $0 == part } ?? (bands.next == part.y)
    }

    /// Ends the current run if it does not serve the request.
    private func enter(_ band: PixelRect?, of output: OutputForm) throws(CoderError) {
        // A band from row 0 restarts the frame.
        if let band, band.y == 0, let bands = run?.bands,
            bands.output != output || bands.next > 0 || bands.current.map({ $0 != band }) ?? false
        {
            close()
        }
        if band != nil, run?.bands != nil { return }
        let bands = run?.bands
        guard let run, let header else { return }
        let isSame = run.format == output.format && run.scale == output.scale
        if header.isMultiScan {
            if bands != nil { try endBands() }
            if run.isSkimmed, run.scale != output.scale { close() }
        } else if !isSame || (band == nil) != (bands == nil), run.row > 0 || !isSame {
            close()
        }
    }

    /// Ends a pass that was decoded in bands.
    func endBands() throws(CoderError) {
        if run?.bands?.hasPass == true { try decompressor?.endPass() }
        run?.bands = nil
    }

    /// Returns a decompressor that has read the header, and the header.
    func begin() throws(CoderError) -> (decompressor: JPEGDecompressor, header: JPEGDecompressor.Header) {
        if let decompressor, let header { return (decompressor, header) }
        let decompressor: JPEGDecompressor
        if let begun = self.decompressor {
            decompressor = begun
        } else {
            var reader = ByteReader(session.source)
            guard try reader.consume([0xFF, 0xD8]) else { throw .notMine() }
            decompressor = try JPEGDecompressor(session.source, window: window)
            self.decompressor = decompressor
        }
        let header = try decompressor.readHeader()
        self.header = header
        return (decompressor, header)
    }

    /// Ends a run; the next decode begins with the first byte again.
    func close() {
        extended?.close()
        if let reserved = run?.reserved, reserved > 0 { try? session.host.reserve(bytes: -reserved) }
        run = nil
        decompressor = nil
        header = nil
    }

    // MARK: One scan: rows as they come

    private func decodeRows(
        _ decompressor: JPEGDecompressor, _ request: DecodeRequest, _ top: Int, _ size: PixelSize,
        _ surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let first = run?.row ?? 0
        var row = first
        while row < top + surface.size.height {
            try session.host.checkCancellation()
            let step = try decompressor.rows(into: surface, top: top, row: &row, count: Self.stripHeight)
            run?.row = row
            let new = PixelRect(x: 0, y: first - top, width: size.width, height: max(0, row - first))
            switch step {
            case .needsInput:
                if request.wantsPartial, !new.isEmpty { return .partial(new) }
                throw .needsInput
            case .truncated:
                close()
                if request.wantsPartial, !new.isEmpty { return .partial(new) }
                throw .truncated("the image ends at row \(row) of \(size.height)")
            case .done, .more:
                session.host.progress(row, of: size.height)
            }
        }
        if row < size.height { return .complete }
        if let warning = decompressor.warning { session.host.warn(warning) }
        close()
        return .complete
    }

    // MARK: Several scans: all coefficients first, then the rows

    private func decodeScans(
        _ decompressor: JPEGDecompressor, _ request: DecodeRequest, _ scale: Int, _ band: PixelRect?,
        _ size: PixelSize, _ surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard try absorb(decompressor) else {
            if band != nil { throw .needsInput }
            return try preview(decompressor, request, scale, surface)
        }
        if let band {
            if run?.bands?.hasPass == false { try decompressor.beginPass(.best, scale: scale, for: surface) }
            run?.bands?.hasPass = true
            try show(decompressor, .best, band, of: size, surface)
            if band.y + band.height < size.height { return .complete }
            try endBands()
        } else {
            try decompressor.beginPass(.best, scale: scale, for: surface)
            try show(decompressor, .best, PixelRect(size), of: size, surface)
            try decompressor.endPass()
        }
        if !decompressor.isTruncated { return .complete }
        if request.wantsPartial { return .partial(PixelRect(surface.size)) }
        throw .truncated("the image ends within its scans")
    }

    /// Reads the available scans; returns whether all scans are in.
    func absorb(_ decompressor: JPEGDecompressor) throws(CoderError) -> Bool {
        run?.scans.begin(decompressor.scan)
        while run?.isAbsorbed == false {
            try session.host.checkCancellation()
            let step = try decompressor.absorb()
            let scan = decompressor.scan
            try checkScans(scan.number)
            run?.scans.begin(scan)
            switch step {
            case .done, .truncated:
                run?.isAbsorbed = true
                if let warning = decompressor.warning { session.host.warn(warning) }
            case .more: break
            case .needsInput: return false
            }
        }
        return true
    }

    /// Shows the scans since the last image, if an image is worthwhile.
    private func preview(
        _ decompressor: JPEGDecompressor, _ request: DecodeRequest, _ scale: Int, _ surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let output = OutputForm(format: surface.format, scale: scale)
        guard request.wantsPartial, let run, run.scans.wantsImage || run.scans.hasImage && run.shown != output
        else { throw .needsInput }
        let isCoarse = scale == 8 && !run.scans.hasDetail
        let quality: JPEGDecompressor.Quality = isCoarse ? .coarse : run.scans.showsAll ? .quick : .plain
        try decompressor.beginPass(quality, scale: scale, for: surface)
        try show(decompressor, quality, PixelRect(surface.size), of: surface.size, surface)
        try decompressor.endPass()
        self.run?.scans.showed()
        self.run?.shown = output
        return .partial(PixelRect(surface.size))
    }

    /// Fills a surface with a band of the pass.
    private func show(
        _ decompressor: JPEGDecompressor, _ quality: JPEGDecompressor.Quality, _ band: PixelRect, of size: PixelSize,
        _ surface: borrowing Surface
    ) throws(CoderError) {
        var row = band.y
        while row < band.y + band.height {
            try session.host.checkCancellation()
            guard case .done = try decompressor.rows(into: surface, top: band.y, row: &row, count: Self.stripHeight)
            else { throw CoderError(.misuse, "a complete scan asked for more input") }
            if quality == .best { session.host.progress(row, of: size.height) }
        }
    }

    /// The number of rows between two polls.
    private static let stripHeight = 64

    // MARK: Reduction while decoding, n/8 of each side

    private static func reduce(_ size: PixelSize, to eighths: Int) -> PixelSize {
        PixelSize((size.width * eighths + 7) / 8, (size.height * eighths + 7) / 8)
    }

    private static func scale(of size: PixelSize, for wanted: PixelSize) -> Int {
        wanted == size ? 8 : (1...8).first { reduce(size, to: $0) == wanted } ?? 8
    }
}
