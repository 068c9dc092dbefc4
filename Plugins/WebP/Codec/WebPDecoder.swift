public import CoderPluginKit
public import ImageModel

/// Decodes WebP stills, lossy and lossless, with alpha; of an animation, the first frame.
///
/// - Source: RFC 9649 (container and lossless bitstream); RFC 6386 (VP8).
public final class WebPDecoder: ImageDecoder {
    let session: DecoderSession
    private var content: Content?
    private var image: ImageInfo?
    private var run: Run?

    /// The image to decode.
    struct Content {
        var canvas: PixelSize
        /// Nil for a still, which the library reads from the first byte of the file on.
        var frame: WebPContainer.Frame?
        var hasAlpha: Bool
        var isLossless: Bool
        /// Whether libwebp decodes other alpha samples for a part than for the whole image.
        var needsWholeAlpha = false

        var rect: PixelRect { frame?.rect ?? PixelRect(canvas) }
    }

    /// A decode that may continue while the source grows.
    private struct Run {
        var decompressor: WebPDecompressor
        var format: PixelFormat
        var size: PixelSize
        var reserved: Int
        /// The image bytes that the library has read.
        var fed = 0
    }

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    // MARK: Facts

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let image { return image }
        let source = session.source
        var reader = ByteReader(source)
        guard try reader.consume(Array("RIFF".utf8)) else { throw .notMine() }
        try reader.skip(4)
        guard try reader.consume(Array("WEBP".utf8)) else { throw .notMine() }

        var content = try ended { () throws(CoderError) in try Self.content(source) }
        content.needsWholeAlpha =
            content.frame == nil && content.hasAlpha && !content.isLossless && WebPContainer.filtersAlpha(source)
        var info = ImageInfo(
            size: content.canvas, nativeFormat: content.hasAlpha ? .rgba8 : .rgb8,
            isAnimated: content.frame != nil, isLossy: !content.isLossless,
            regionCost: content.frame == nil && !content.needsWholeAlpha ? .above : .whole)
        if let exif = try bytes(.exif) { info.orientation = ExifOrientation.read(Self.tiff(exif)) }
        info.color.hasProfile = WebPContainer.chunk(.profile, of: source) != nil
        self.content = content
        image = info
        return info
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        _ = try readHeader()
        var blobs: [MetadataBlob] = []
        if let exif = try bytes(.exif) { blobs.append(MetadataBlob(.exif, Self.tiff(exif))) }
        if let xmp = try bytes(.xmp) { blobs.append(MetadataBlob(.xmp, xmp)) }
        if let profile = try bytes(.profile) { blobs.append(MetadataBlob(.icc, profile)) }
        return blobs
    }

    private static func content(_ source: ByteSource) throws(CoderError) -> Content {
        let features = try WebPContainer.features(source)
        guard features.isAnimated else {
            return Content(
                canvas: features.canvas, frame: nil, hasAlpha: features.hasAlpha, isLossless: features.isLossless)
        }
        let frame = try WebPContainer.firstFrame(source)
        guard !frame.rect.isEmpty, PixelRect(features.canvas).contains(frame.rect) else {
            throw .corrupt("the first frame is outside the canvas")
        }
        let coded = try WebPContainer.features(source, in: frame.bytes)
        return Content(
            canvas: features.canvas, frame: frame,
            hasAlpha: features.hasAlpha || frame.hasAlpha || frame.rect != PixelRect(features.canvas),
            isLossless: coded.isLossless)
    }

    /// Converts `.needsInput` to `.truncated` if the source is complete.
    private func ended<R>(_ body: () throws(CoderError) -> R) throws(CoderError) -> R {
        let isComplete = session.source.isComplete
        do throws(CoderError) {
            return try body()
        } catch {
            throw error.code == .needsInput && isComplete ? .truncated() : error
        }
    }

    private func bytes(_ kind: WebPContainer.Chunk) throws(CoderError) -> [UInt8]? {
        guard let range = WebPContainer.chunk(kind, of: session.source) else { return nil }
        let allowed = session.limits.maxMetadataBytes
        if allowed > 0, range.count > allowed {
            throw .limit("metadata", allowed: allowed, requested: range.count)
        }
        return session.source.bytes(range)
    }

    /// Quirk: some writers keep the prefix that Exif data has in a JPEG segment.
    private static func tiff(_ exif: [UInt8]) -> [UInt8] {
        exif.starts(with: Array("Exif\0\0".utf8)) ? Array(exif.dropFirst(6)) : exif
    }

    // MARK: Pixels

    public var pixelFormats: [PixelFormat] {
        guard let content else { return [] }
        if !content.hasAlpha { return [.rgb8, PixelFormat(.rgba, alpha: .opaque), PixelFormat(.bgra, alpha: .opaque)] }
        return [
            .rgba8, .bgra8, PixelFormat(.rgba, alpha: .premultiplied), PixelFormat(.bgra, alpha: .premultiplied),
        ]
    }

    /// Returns a whole fraction of the size. libwebp averages the source pixels of a new pixel; with partially covered
    /// pixels, further scaling is up to 1.5 dB worse. The result is softer than the host's scaling, so it is a seventh
    /// larger than requested.
    public func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        guard let content, content.rect == PixelRect(size), !wanted.isEmpty else { return size }
        // libwebp scales the colors of lossy data without its alpha: hidden colors would become visible.
        if content.hasAlpha, !content.isLossless { return size }
        let divisor = min(size.width * 7 / (wanted.width * 8), size.height * 7 / (wanted.height * 8))
        if divisor < 2 { return size }
        return Self.reduced(size, by: divisor)
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        _ = try readHeader()
        guard var content else { throw .needsInput }
        if let region = request.region, region != PixelRect(request.scaledSize ?? content.canvas) {
            close()
            return try decodeRegion(region, of: content, request, surface)
        }
        if content.frame != nil {
            // The frame may have grown since the header was read.
            content.frame = try ended { () throws(CoderError) in try WebPContainer.firstFrame(session.source) }
        }
        try begin(content, request, surface)
        guard let decompressor = run?.decompressor else { throw .needsInput }

        let isComplete = session.source.isComplete
        let range = content.frame?.bytes ?? stillRange
        let isWaiting = !isComplete && range.upperBound == session.source.available
        if content.isLossless, content.frame == nil, isWaiting, range.count - (run?.fed ?? 0) < least {
            throw .needsInput
        }
        let first = decompressor.rows
        let done = try feed(decompressor, range)
        if done, !(isComplete && isCut) {
            close()
            return .complete
        }
        let rows = min(decompressor.rows, surface.size.height)
        let place = surface.size == content.canvas ? content.rect : PixelRect(surface.size)
        let changed = PixelRect(x: place.x, y: place.y + first, width: place.width, height: max(0, rows - first))
        let isLast = done || isComplete || content.frame?.isComplete == true
        if isLast { close() }
        if request.wantsPartial, !changed.isEmpty { return .partial(changed) }
        throw isLast ? .truncated("the file ends at row \(rows) of \(surface.size.height)") : .needsInput
    }

    /// The bytes of a still up to the end of its pixels: libwebp would read the chunk behind a damaged one as pixels.
    var stillRange: Range<Int> {
        0..<min(session.source.available, WebPContainer.imageEnd(session.source) ?? .max)
    }

    /// Whether the file is shorter than it declares; libwebp then reports it as truncated even if no pixel is missing.
    ///
    ///     "RIFF" | bytes behind this word 4 | "WEBP" | chunks
    private var isCut: Bool {
        var reader = ByteReader(session.source, at: 4)
        guard let size = try? reader.u32LE() else { return true }
        return Int(size) > session.source.available - 8
    }

    /// The minimum number of new bytes for which decoding of arriving lossless data continues.
    ///
    /// On each call, the library repeats the work since its last checkpoint, some rows back.
    private var least: Int {
        var reader = ByteReader(session.source, at: 4)
        guard let size = try? reader.u32LE() else { return 1 }
        return min(max(1, Int(size) / Self.lossless.pieces), Self.lossless.mostBytes)
    }

    /// Evidence: an image of 4 megapixels costs a fiftieth more in 32 pieces, two fifths more in 256.
    private static let lossless = (pieces: 32, mostBytes: 1 << 18)

    /// Continues the run of the last call, or begins one.
    private func begin(
        _ content: Content, _ request: DecodeRequest, _ surface: borrowing Surface
    ) throws(CoderError) {
        if let run, run.format == surface.format, run.size == surface.size, run.decompressor.isFilling(surface) {
            return
        }
        close()
        let wanted = request.scaledSize ?? content.canvas
        let isWhole = content.rect == PixelRect(content.canvas)
        let mayScale = isWhole && (content.isLossless || !content.hasAlpha)
        guard wanted == surface.size, wanted == content.canvas || mayScale,
            pixelFormats.contains(where: { $0 == surface.format || Self.isTwin($0, surface.format) })
        else { throw CoderError(.misuse, "WebP is not decoded to \(surface.size) pixels of \(surface.format)") }

        if try beginReducing(content, surface) { return }
        if !isWhole { clear(surface) }
        let reserved = Self.bytes(for: content)
        try session.host.reserve(bytes: reserved)
        run = Run(
            decompressor: try WebPDecompressor(
                into: surface, rect: isWhole ? PixelRect(surface.size) : content.rect,
                isOpaque: content.isLossless && !content.hasAlpha, scales: surface.size != content.canvas,
                threads: mayThread),
            format: surface.format, size: surface.size, reserved: reserved)
    }

    /// Begins the reduction of lossy data by a whole number, which is faster than libwebp's scaler.
    ///
    /// - Returns: false for other data or sizes, and if the limits leave no memory for the planes.
    private func beginReducing(_ content: Content, _ surface: borrowing Surface) throws(CoderError) -> Bool {
        let (size, new) = (content.canvas, surface.size)
        let isWide = size.width >= size.height
        let (long, short) = (isWide ? size.width : size.height, isWide ? new.width : new.height)
        let divisor = (long + short - 1) / max(1, short)
        guard !content.isLossless, divisor > 1, Self.reduced(size, by: divisor) == new else { return false }
        // Y, Cb and Cr, if the library delivers all rows between two slices.
        let reserved = (size.area ?? 0) / 2 * 3
        guard (try? session.host.reserve(bytes: reserved)) != nil else { return false }
        run = Run(
            decompressor: try WebPDecompressor(into: surface, reducing: size, threads: mayThread),
            format: surface.format, size: new, reserved: reserved)
        return true
    }

    private static func reduced(_ size: PixelSize, by divisor: Int) -> PixelSize {
        PixelSize((size.width + divisor - 1) / divisor, (size.height + divisor - 1) / divisor)
    }

    /// Lossless data is decoded to ARGB first; alpha of a lossy image has its own plane.
    static func bytes(for content: Content) -> Int {
        let area = content.rect.size.area ?? 0
        return content.isLossless ? area * 4 : content.hasAlpha ? area : 0
    }

    var mayThread: Bool {
        session.limits.maxThreads != 1 && (session.options.integer(OptionKey.threads) ?? 1) > 1
    }

    /// Whether two formats differ only in the declaration of an opaque alpha.
    static func isTwin(_ offer: PixelFormat, _ format: PixelFormat) -> Bool {
        offer.alpha == .opaque && format == PixelFormat(offer.channels)
    }

    private func close() {
        if let run { try? session.host.reserve(bytes: -run.reserved) }
        run = nil
    }

    private func clear(_ surface: borrowing Surface) {
        for y in 0..<surface.size.height {
            surface.withMutableRow(y) { row in
                for offset in row.byteOffsets { row.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self) }
            }
        }
    }

    /// Passes the new bytes in slices, so that a large image can be cancelled; returns whether it is complete.
    private func feed(_ decompressor: WebPDecompressor, _ range: Range<Int>) throws(CoderError) -> Bool {
        let area = content?.rect.size.area ?? 0
        // The library refuses fewer bytes than before.
        let known = min(run?.fed ?? 0, range.count)
        let fresh = range.count - known
        let slices = 1 + area / Self.pixelsPerSlice * fresh / max(1, range.count)
        for slice in 1...slices {
            try session.host.checkCancellation()
            let count = slice == slices ? range.count : known + fresh / slices * slice
            run?.fed = count
            if try decompressor.update(session.source, range.lowerBound..<range.lowerBound + count) { return true }
            session.host.progress(slice, of: slices)
        }
        return false
    }

    /// Evidence: about 10 ms of decoding on a machine of 2026; smaller slices make lossless data measurably slower,
    /// because the library returns to a checkpoint after each.
    static let pixelsPerSlice = 2_000_000
}
