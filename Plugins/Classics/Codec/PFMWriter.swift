import CoderPluginKit
import ImageModel
import Light

/// Writes PFM: linear light, little endian.
struct PFMWriter: RowWriter {
    static let isFromBottom = true
    private let info: ImageInfo
    private let light: LightRow

    static func formats(for info: ImageInfo) -> [PixelFormat] {
        LightRow.formats(info.nativeFormat.isGray ? .gray : .rgb, for: info)
    }

    init(_ info: ImageInfo, _ session: EncoderSession) throws(CoderError) {
        self.info = info
        light = try LightRow(info.color)
        if light.primaries != 1 { session.host.warn("PFM cannot state the primaries of the colors") }
    }

    func header() -> [UInt8] {
        let kind = info.nativeFormat.channels == .gray ? "Pf" : "PF"
        return Array("\(kind)\n\(info.size.width) \(info.size.height)\n-1.0\n".utf8)
    }

    mutating func write(_ row: RawSpan, to output: inout [UInt8]) {
        for index in 0..<row.byteCount / info.nativeFormat.bytesPerSample {
            let bits = light.light(row, index, info.nativeFormat).bitPattern
            for shift in [0, 8, 16, 24] as [UInt32] { output.append(UInt8(truncatingIfNeeded: bits >> shift)) }
        }
    }

    mutating func finish(_ output: inout [UInt8]) {}
}

extension PixelFormat {
    /// Whether there is no color.
    var isGray: Bool { channels == .gray || channels == .grayAlpha }
}
