internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The boxes in front of the codestream of a JP2 file.
///
/// - Source: ISO/IEC 15444-1 annex I; 15444-2 section M.11.7 (CMYK).
struct FileHeader {
    private let info: ImageInfo
    private let blobs: [MetadataBlob]
    private let profile: [UInt8]?

    init(_ info: ImageInfo, _ blobs: [MetadataBlob], _ host: HostServices) {
        self.info = info
        self.blobs = blobs
        profile = blobs.last { $0.kind == .icc }?.bytes
        if profile == nil, let points = info.color.codePoints, !points.isUnspecified,
            !(points.primaries == 1 && [1, 6, 13, 14, 15].contains(points.transfer))
        {
            host.warn("JP2 cannot describe these colors without a profile; the file declares sRGB")
        }
    }

    func bytes(codestreamCount: Int) -> [UInt8] {
        var out = BoxWriter()
        out.box("jP  ") { $0.bytes += [0x0D, 0x0A, 0x87, 0x0A] }
        out.box("ftyp") {
            // Inks are a color space of JPX.
            $0.code(isCMYK ? "jpx " : "jp2 ")
            $0.u32(0)
            $0.code(isCMYK ? "jpx " : "jp2 ")
        }
        out.box("jp2h") { header(&$0) }
        for blob in blobs {
            switch blob.kind {
            case .exif:
                let exif = info.orientation.map { ExifOrientation.replacing(blob.bytes, with: $0) } ?? blob.bytes
                Self.metadata(MetadataIdentifier.exif, exif, &out)
            case .xmp: Self.metadata(MetadataIdentifier.xmp, blob.bytes, &out)
            case .iptc: Self.metadata(MetadataIdentifier.iptc, blob.bytes, &out)
            default: break
            }
        }
        if codestreamCount + 8 <= Int(UInt32.max) {
            out.u32(UInt32(codestreamCount + 8))
            out.code("jp2c")
        } else {
            out.u32(1)
            out.code("jp2c")
            out.u64(codestreamCount + 16)
        }
        return out.bytes
    }

    private static func metadata(_ identifier: [UInt8], _ bytes: [UInt8], _ out: inout BoxWriter) {
        out.box("uuid") { $0.bytes += identifier + bytes }
    }

    private var format: PixelFormat { info.nativeFormat }
    private var isCMYK: Bool { format.channels == .cmyk }
    private var colorCount: Int { format.channels.count - (format.channels.hasAlpha ? 1 : 0) }

    private func header(_ out: inout BoxWriter) {
        out.box("ihdr") {
            $0.u32(UInt32(info.size.height))
            $0.u32(UInt32(info.size.width))
            $0.u16(UInt16(format.channels.count))
            // Bits minus one; the wavelet compression; the colors are known; no rights.
            $0.bytes += [UInt8(format.bits - 1), 7, 0, 0]
        }
        out.box("colr") {
            if let profile {
                $0.bytes += [2, 0, 0] + profile
            } else {
                $0.bytes += [1, 0, 0]
                $0.u32(isCMYK ? 12 : colorCount == 1 ? 17 : 16)
            }
        }
        if format.channels.hasAlpha { out.box("cdef") { definitions(&$0) } }
        if case .perMeter(let x, let y) = info.density { out.box("res ") { resolution(&$0, x, y) } }
    }

    /// Channel, kind and association: a color is 0 and its number, alpha is 1 or 2 and the whole image.
    private func definitions(_ out: inout BoxWriter) {
        out.u16(UInt16(format.channels.count))
        for channel in 0..<format.channels.count {
            out.u16(UInt16(channel))
            if channel < colorCount {
                out.u16(0)
                out.u16(UInt16(channel + 1))
            } else {
                out.u16(format.alpha == .premultiplied ? 2 : 1)
                out.u16(0)
            }
        }
    }

    /// Pixels per meter as fractions and powers of ten, first the vertical ones.
    private func resolution(_ out: inout BoxWriter, _ x: UInt32, _ y: UInt32) {
        func parts(_ value: UInt32) -> (UInt16, UInt8) {
            var (number, power) = (value, UInt8(0))
            while number > 65_535 { (number, power) = (number / 10, power + 1) }
            return (UInt16(number), power)
        }
        let (vertical, horizontal) = (parts(max(1, y)), parts(max(1, x)))
        out.box("resc") {
            for number in [vertical.0, 1, horizontal.0, 1] { $0.u16(number) }
            $0.bytes += [vertical.1, horizontal.1]
        }
    }
}
