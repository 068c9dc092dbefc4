import CoderPluginKit
import ImageModel

/// Writes TGA 2.0 from the top row down, with an extension area if there is alpha.
struct TGAWriter: RowWriter {
    private let info: ImageInfo
    private let isPacked: Bool
    /// The number of bytes before the footer.
    private var written = TGAHeader.byteCount
    private var row: [UInt8] = []

    static func formats(for info: ImageInfo) -> [PixelFormat] {
        if info.nativeFormat.hasTransparency { return [.bgra8] }
        return info.nativeFormat.channels == .gray ? [.gray8] : [.rgb8]
    }

    init(_ info: ImageInfo, _ session: EncoderSession) throws(CoderError) {
        guard UInt16(exactly: info.size.width) != nil, UInt16(exactly: info.size.height) != nil else {
            throw .invalidArgument("a TGA side is at most 65535, not \(info.size)", hint: "encode PNG instead")
        }
        self.info = info
        isPacked = session.options.bool("tga.rle") ?? true
    }

    private var hasAlpha: Bool { info.nativeFormat == .bgra8 }

    func header() -> [UInt8] {
        let type: UInt8 = (info.nativeFormat == .gray8 ? 3 : 2) | (isPacked ? 8 : 0)
        return [0, 0, type, 0, 0, 0, 0, 0, 0, 0, 0, 0] + Self.u16(info.size.width) + Self.u16(info.size.height)
            + [UInt8(8 * info.nativeFormat.bytesPerPixel), 0x20 | (hasAlpha ? 8 : 0)]
    }

    private static func u16(_ value: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    }

    mutating func write(_ pixels: RawSpan, to output: inout [UInt8]) {
        let before = output.count
        row.removeAll(keepingCapacity: true)
        if info.nativeFormat == .rgb8 {
            for at in stride(from: 0, to: pixels.byteCount, by: 3) {
                row += [pixels.byte(at: at + 2), pixels.byte(at: at + 1), pixels.byte(at: at)]
            }
        } else {
            for at in 0..<pixels.byteCount { row.append(pixels.byte(at: at)) }
        }
        if isPacked {
            Self.pack(row, by: info.nativeFormat.bytesPerPixel, to: &output)
        } else {
            output += row
        }
        written += output.count - before
    }

    /// Packs a row: at least two equal pixels become a run.
    private static func pack(_ row: [UInt8], by step: Int, to output: inout [UInt8]) {
        func isEqual(_ a: Int, _ b: Int) -> Bool {
            for index in 0..<step where row[a + index] != row[b + index] { return false }
            return true
        }
        var at = 0
        while at < row.count {
            var end = at + step
            let most = min(row.count, at + 128 * step)
            while end < most, isEqual(end, at) { end += step }
            if end - at > step {
                output.append(UInt8(127 + (end - at) / step))
                output += row[at..<at + step]
            } else {
                while end < most, end + step >= row.count || !isEqual(end, end + step) { end += step }
                output.append(UInt8((end - at) / step - 1))
                output += row[at..<end]
            }
            at = end
        }
    }

    mutating func finish(_ output: inout [UInt8]) {
        var extensionStart = 0
        if hasAlpha {
            // All fields empty, but the length and the meaning of alpha.
            var area = [UInt8](repeating: 0, count: 495)
            area.replaceSubrange(0..<2, with: Self.u16(495))
            area[494] = 3
            extensionStart = written
            output += area
        }
        output += Self.u16(extensionStart) + Self.u16(extensionStart >> 16) + [0, 0, 0, 0]
        output += TGAHeader.footer + [0]
    }
}
