import CoderPluginKit
import ImageModel

/// The bytes of a bitmap: headers and rows.
struct BMPWriter {
    let size: PixelSize
    /// gray8, rgb8 or bgra8.
    let format: PixelFormat
    let profile: [UInt8]
    let info: ImageInfo

    /// The bytes of a row, padded to a multiple of four.
    var rowBytes: Int { (format.bytesPerPixel * size.width + 3) / 4 * 4 }
    private var hasAlpha: Bool { format == .bgra8 }
    /// Grays are stored as indices of a palette.
    private var palette: [UInt8] {
        format == .gray8
            ? (0..<256).flatMap {
                let gray = UInt8($0); return [gray, gray, gray, 0]
            } : []
    }
    private var isLong: Bool { hasAlpha || !profile.isEmpty }
    private var headerBytes: Int { isLong ? 124 : 40 }

    /// Returns the header of the file and that of the bitmap.
    ///
    /// - Throws: `.invalidArgument` if the file is too large for its 32-bit fields.
    func header() throws(CoderError) -> [UInt8] {
        let start = 14 + headerBytes + palette.count
        let (pixels, overflow) = rowBytes.multipliedReportingOverflow(by: size.height)
        guard !overflow, let total = UInt32(exactly: start + pixels + profile.count), total <= UInt32(Int32.max),
            size.width <= Int(Int32.max), size.height <= Int(Int32.max)
        else { throw .invalidArgument("a BMP of \(size) would be larger than 2 GiB", hint: "encode PNG instead") }
        return Array("BM".utf8) + Self.u32(Int(total)) + [0, 0, 0, 0] + Self.u32(start) + bitmapHeader(pixels) + palette
    }

    /// Returns the header of the bitmap.
    private func bitmapHeader(_ pixels: Int) -> [UInt8] {
        var bytes = Self.u32(headerBytes) + Self.u32(size.width) + Self.u32(size.height)
        bytes += [1, 0, UInt8(8 * format.bytesPerPixel), 0] + Self.u32(isLong && hasAlpha ? 3 : 0) + Self.u32(pixels)
        var density = (x: UInt32(0), y: UInt32(0))
        if case .perMeter(let x, let y)? = info.density { density = (x, y) }
        bytes += Self.u32(Int(density.x)) + Self.u32(Int(density.y)) + Self.u32(0) + Self.u32(0)
        guard isLong else { return bytes }
        for mask in hasAlpha ? [0xff_0000, 0xff00, 0xff, 0xff00_0000] : [0, 0, 0, 0] { bytes += Self.u32(mask) }
        // sRGB, or a profile behind the pixels.
        bytes += Array((profile.isEmpty ? "BGRs" : "DEBM").utf8)
        bytes += [UInt8](repeating: 0, count: 48)
        // The intent for photographs, and the place of the profile from the start of this header.
        bytes +=
            Self.u32(4) + Self.u32(profile.isEmpty ? 0 : headerBytes + palette.count + pixels) + Self.u32(profile.count)
            + Self.u32(0)
        return bytes
    }

    /// Fills `row` with the pixels of a surface.
    func fill(_ row: inout [UInt8], _ pixels: RawSpan) {
        if format != .rgb8 {
            for offset in 0..<pixels.byteCount { row[offset] = pixels.byte(at: offset) }
            return
        }
        for offset in stride(from: 0, to: pixels.byteCount, by: 3) {
            row[offset] = pixels.byte(at: offset + 2)
            row[offset + 1] = pixels.byte(at: offset + 1)
            row[offset + 2] = pixels.byte(at: offset)
        }
    }

    private static func u32(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}
