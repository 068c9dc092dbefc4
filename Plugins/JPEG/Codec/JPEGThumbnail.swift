import CoderPluginKit
import ImageModel

/// The embedded thumbnail of a JPEG file, compressed or not.
///
/// Its size comes from its own data, not from the directory.
struct JPEGThumbnail {
    let info: ImageInfo
    private let samples: Samples

    private enum Samples {
        case compressed([UInt8])
        /// Rows of RGB without padding.
        case plain([UInt8])
    }

    /// Returns the thumbnails of a file: of Exif, then of JFIF; omits those that cannot be decoded.
    static func all(_ markers: JPEGMarkers, of image: PixelSize, _ session: DecoderSession) -> [JPEGThumbnail] {
        var found: [JPEGThumbnail?] = []
        let allowed = session.limits.maxMetadataBytes
        if let range = markers.exif, allowed == 0 || range.count <= allowed {
            let exif = session.source.bytes(range)
            found.append(ExifThumbnail(exif).flatMap { JPEGThumbnail(compressed: Array(exif[$0.bytes]), session) })
        }
        for range in markers.jfifThumbnails {
            found.append(JPEGThumbnail(jfif: session.source.bytes(range), session))
        }
        // A thumbnail is not larger than the image.
        return found.compactMap { $0 }.filter { ($0.info.size.area ?? .max) <= (image.area ?? 0) }
    }

    private init(info: ImageInfo, samples: Samples) {
        self.info = info
        self.samples = samples
    }

    private init?(compressed bytes: [UInt8], _ session: DecoderSession) {
        guard let decompressor = try? JPEGDecompressor(ByteSource(bytes)),
            let header = try? decompressor.readHeader(), let native = header.native, native != .cmyk8,
            Self.isAllowed(header.size, session.limits)
        else { return nil }
        self.init(info: ImageInfo(size: header.size, nativeFormat: native, isLossy: true), samples: .compressed(bytes))
    }

    /// The body of an APP0 segment from its name on.
    ///
    ///     "JFIF\0" | version 2 | unit 1 | density 4 | width 1 | height 1 | RGB …
    ///     "JFXX\0" | 0x10 | JPEG …        or        "JFXX\0" | 0x13 | width 1 | height 1 | RGB …
    ///
    /// - Source: JFIF 1.02, "JFIF extension APP0 marker segment".
    private init?(jfif body: [UInt8], _ session: DecoderSession) {
        let isExtension = body.count > 6 && body[3] == 0x58
        if isExtension, body[5] == 0x10 {
            self.init(compressed: Array(body[6...]), session)
            return
        }
        let head = isExtension ? 6 : 12
        guard body.count > head + 2, !isExtension || body[5] == 0x13 else { return nil }
        let size = PixelSize(Int(body[head]), Int(body[head + 1]))
        let count = size.width * size.height * 3
        guard !size.isEmpty, body.count >= head + 2 + count else { return nil }
        self.init(
            info: ImageInfo(size: size, nativeFormat: .rgb8), samples: .plain(Array(body[head + 2..<head + 2 + count])))
    }

    private static func isAllowed(_ size: PixelSize, _ limits: DecodeLimits) -> Bool {
        guard !size.isEmpty, let area = size.area else { return false }
        return (limits.maxSide == 0 || max(size.width, size.height) <= limits.maxSide)
            && (limits.maxPixels == 0 || area <= limits.maxPixels)
    }

    func decode(into surface: borrowing Surface, _ session: DecoderSession) throws(CoderError) {
        guard surface.size == info.size, surface.format == info.nativeFormat else {
            throw CoderError(.misuse, "the surface does not have the size or format of the thumbnail")
        }
        switch samples {
        case .plain(let bytes):
            for y in 0..<surface.size.height {
                let row = y * surface.bytesPerRow
                surface.withMutableRow(y) { target in
                    for x in 0..<surface.bytesPerRow {
                        target.storeBytes(of: bytes[row + x], toByteOffset: x, as: UInt8.self)
                    }
                }
            }
        case .compressed(let bytes):
            let inner = DecoderSession(source: ByteSource(bytes), limits: session.limits, host: session.host)
            do throws(CoderError) {
                _ = try JPEGDecoder(inner, window: JPEGDecompressor.defaultWindow, listsItems: false)
                    .decode(DecodeRequest(), into: surface)
            } catch {
                // Only the thumbnail is no JPEG: the session continues.
                throw error.code == .notMine ? .corrupt("the thumbnail is not a JPEG") : error
            }
        }
    }
}
