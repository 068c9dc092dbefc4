public import CoderPluginKit
public import ImageModel

/// Encodes JPEG: baseline or progressive, Huffman or arithmetic coding, 8 bits.
///
/// - Source: ITU-T T.81; JFIF 1.02; Adobe TN 5116 for CMYK.
public final class JPEGEncoder: ThumbnailEncoder, RowEncoder {
    private let session: EncoderSession
    private var sink: ByteSink?
    private var info: ImageInfo?
    private var metadata = Metadata()
    private var thumbnail: PixelBuffer?
    /// The compressor of a frame that arrives in bands.
    private var compressor: JPEGCompressor?
    private var reserved = 0
    private var rowsDone = 0
    private var isWritten = false

    /// The metadata to write, without segment headers.
    private struct Metadata {
        var exif: [UInt8]?
        var xmp: [UInt8]?
        var profile: [UInt8]?
        var iptc: [UInt8]?
        var comments: [[UInt8]] = []
    }

    /// A segment's length includes its own 2 bytes of the 65535.
    private static let maxSegment = 65_533
    private static let exifName = Array("Exif\0\0".utf8)
    private static let xmpName = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
    private static let resourcesName = Array("Photoshop 3.0\0".utf8)
    /// The record, in as many segments as it needs.
    private static let maxRecord = 1 << 24
    /// 255 segments, each with 14 bytes before its part (ICC.1 annex B.4).
    private static let maxProfile = 255 * (maxSegment - 14)

    public init(_ session: EncoderSession) throws(CoderError) { self.session = session }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let native = info.nativeFormat
        switch native.channels {
        case .gray: return [.gray8]
        case .cmyk: return [.cmyk8]
        case .rgba where native.alpha == .opaque: return [PixelFormat(.rgba, alpha: .opaque), .rgb8]
        case .bgra where native.alpha == .opaque: return [PixelFormat(.bgra, alpha: .opaque), .rgb8]
        case .grayAlpha where native.alpha == .opaque: return [.gray8]
        case .rgb, .rgba, .bgra, .grayAlpha: return [.rgb8]
        }
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        let size = info.size
        guard !size.isEmpty, max(size.width, size.height) <= JPEGLibrary.maxSide else {
            throw .invalidArgument(
                "a JPEG has sides of 1 to \(JPEGLibrary.maxSide) pixels, not \(size)", hint: "scale the image down")
        }
        guard try acceptedFormats(for: info).contains(info.nativeFormat) else {
            throw .invalidArgument("JPEG is not encoded from \(info.nativeFormat)")
        }
        self.info = info
        self.sink = sink
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        switch blob.kind {
        case .exif where blob.bytes.count <= Self.maxSegment - Self.exifName.count: metadata.exif = blob.bytes
        case .xmp where blob.bytes.count <= Self.maxSegment - Self.xmpName.count: metadata.xmp = blob.bytes
        case .icc where !blob.bytes.isEmpty && blob.bytes.count <= Self.maxProfile: metadata.profile = blob.bytes
        case .iptc where blob.bytes.count <= Self.maxRecord: metadata.iptc = blob.bytes
        case .text where blob.key == JPEGMetadata.commentKey && blob.bytes.count <= Self.maxSegment:
            metadata.comments.append(blob.bytes)
        default: return false
        }
        return true
    }

    public func addThumbnail(pixels surface: borrowing Surface) throws(CoderError) {
        guard let info, !isWritten, compressor == nil else {
            throw CoderError(.misuse, "the thumbnail comes too late")
        }
        guard surface.size.width <= info.size.width, surface.size.height <= info.size.height else {
            throw .refused("the thumbnail is larger than the image")
        }
        guard max(surface.size.width, surface.size.height) <= Self.longestThumbnail else {
            throw .refused("a thumbnail of \(surface.size) pixels does not fit one segment")
        }
        thumbnail = try surface.copy()
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        guard let info, surface.size == info.size else {
            throw CoderError(.misuse, "the frame differs from the header")
        }
        _ = try beginRows(frame)
        try addRows(surface)
    }

    public func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int {
        guard let info, let sink, frame.rect == PixelRect(info.size) else {
            throw CoderError(.misuse, "the frame differs from the header")
        }
        if isWritten { throw .unsupported("a second frame") }
        guard compressor == nil else { throw CoderError(.misuse, "the frame was begun already") }
        let settings = try settings(info)
        reserved = settings.coefficientBytes
        try session.host.reserve(bytes: reserved)
        let compressor = try JPEGCompressor(sink, session.host)
        try compressor.start(settings)
        if let exif = try thumbnailedExif(info.orientation) { try compressor.write(marker: 0xE1, Self.exifName + exif) }
        if let xmp = metadata.xmp { try compressor.write(marker: 0xE1, Self.xmpName + xmp) }
        if let profile = metadata.profile { try compressor.write(profile: profile) }
        try writeTexts(by: compressor)
        self.compressor = compressor
        // Blocks have 8 rows; one of chroma covers that many of luma (T.81, A.2).
        return 8 * settings.largestFactors.down
    }

    /// Writes the IPTC record among the resources of Photoshop, and the comments.
    private func writeTexts(by compressor: JPEGCompressor) throws(CoderError) {
        if let record = metadata.iptc, var resources = PhotoshopResources([]) {
            resources.replaceIPTC(with: record)
            let bytes = resources.bytes
            let part = Self.maxSegment - Self.resourcesName.count
            for start in stride(from: 0, to: bytes.count, by: part) {
                let piece = bytes[start..<min(start + part, bytes.count)]
                try compressor.write(marker: 0xED, Self.resourcesName + piece)
            }
        }
        for comment in metadata.comments { try compressor.write(marker: 0xFE, comment) }
    }

    public func addRows(_ surface: borrowing Surface) throws(CoderError) {
        guard let info, let compressor, surface.format == info.nativeFormat, surface.size.width == info.size.width,
            surface.size.height <= info.size.height - rowsDone
        else { throw CoderError(.misuse, "the rows differ from the header") }
        var row = 0
        while row < surface.size.height {
            try session.host.checkCancellation()
            let count = min(64, surface.size.height - row)
            try compressor.rows(of: surface, from: row, count: count)
            row += count
            session.host.progress(rowsDone + row, of: info.size.height)
        }
        rowsDone += row
        guard rowsDone == info.size.height else { return }
        try compressor.finish()
        try session.host.reserve(bytes: -reserved)
        self.compressor = nil
        isWritten = true
    }

    public func finish() throws(CoderError) {
        if !isWritten { throw CoderError(.misuse, "no frame was added") }
    }

    private func settings(_ info: ImageInfo) throws(CoderError) -> JPEGCompressor.Settings {
        let options = session.options
        var settings = JPEGCompressor.Settings(size: info.size, format: info.nativeFormat)
        let quality = options.real(OptionKey.quality) ?? 90
        guard quality >= 0, quality <= 100 else {
            throw .invalidArgument("quality \(quality) is not in 0 … 100")
        }
        settings.quality = Int(quality.rounded())
        settings.isProgressive = options.bool("jpeg.progressive") ?? false
        settings.optimizes = options.bool("jpeg.optimize") ?? false
        settings.isArithmetic = options.bool("jpeg.arithmetic") ?? false
        settings.density = info.density
        switch options.string("jpeg.subsampling") ?? "420" {
        case "444": settings.subsampling = (1, 1)
        case "422": settings.subsampling = (2, 1)
        case "420": settings.subsampling = (2, 2)
        case let other:
            throw .invalidArgument("jpeg.subsampling has no value \(other)", hint: "use 444, 422 or 420")
        }
        return settings
    }

    /// The longest side; a larger image in 64 KiB would have no usable quality.
    private static let longestThumbnail = 1024

    /// Returns the Exif blob with the thumbnail, whose quality is lowered until it fits the segment.
    private func thumbnailedExif(_ orientation: Orientation?) throws(CoderError) -> [UInt8]? {
        let exif = orientedExif(orientation)
        guard let thumbnail else { return exif }
        let base = exif ?? ExifOrientation.blob(.up)
        for quality in [80, 60, 40, 20, 10] {
            try session.host.checkCancellation()
            let sink = ByteSink()
            let compressor = try JPEGCompressor(sink, session.host)
            var settings = JPEGCompressor.Settings(size: thumbnail.size, format: thumbnail.format)
            settings.quality = quality
            settings.optimizes = true
            try compressor.start(settings)
            let surface = Surface(thumbnail)
            try compressor.rows(of: surface, from: 0, count: thumbnail.size.height)
            try compressor.finish()
            let limit = Self.maxSegment - Self.exifName.count
            if let result = ExifThumbnail.embedding(sink.written, in: base, atMost: limit) { return result }
        }
        session.host.warn("the thumbnail and the Exif data do not fit one segment")
        return exif
    }

    /// Returns the Exif blob with the orientation of the encoded pixels.
    private func orientedExif(_ orientation: Orientation?) -> [UInt8]? {
        guard let orientation else { return metadata.exif }
        guard let exif = metadata.exif else { return orientation == .up ? nil : ExifOrientation.blob(orientation) }
        if orientation != .up, ExifOrientation.read(exif) == nil {
            session.host.warn("the Exif data has no orientation tag to set to \(orientation)")
        }
        return ExifOrientation.replacing(exif, with: orientation)
    }
}
