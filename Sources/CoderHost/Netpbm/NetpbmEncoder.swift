import HostSystem
import ImageModel
import ImageProcessing
import PluginRuntime

/// Writes a Netpbm format; `pnm` selects PGM or PPM according to the image.
///
/// Writes 8-bit rows directly; converts 16-bit rows to big-endian in bands.
final class NetpbmEncoder: FrameEncoder {
    private let format: NetpbmFormat
    private let context: SessionContext
    private var sink: (any OutputSink)?
    private var wroteFrame = false

    init(_ format: NetpbmFormat, _ context: SessionContext) {
        self.format = format
        self.context = context
    }

    func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        if format == .pbm { return [.gray8] }
        let deep = info.nativeFormat.bits > 8
        let gray = info.nativeFormat.channels == .gray || info.nativeFormat.channels == .grayAlpha
        var result: [PixelFormat] = []
        for bits in deep ? [16, 8] : [8, 16] {
            if format == .pam && info.nativeFormat.hasTransparency {
                if gray { result.append(PixelFormat(.grayAlpha, bits: bits)) }
                result.append(PixelFormat(.rgba, bits: bits))
            }
            if gray && format != .ppm { result.append(PixelFormat(.gray, bits: bits)) }
            if format != .pgm { result.append(PixelFormat(.rgb, bits: bits)) }
            if !gray && format != .ppm { result.append(PixelFormat(.gray, bits: bits)) }
        }
        return result
    }

    func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError) {
        self.sink = sink
        let pixels = info.nativeFormat
        let limit = pixels.bits == 16 ? 65_535 : 255
        var header: String
        switch format {
        case .pam:
            let type =
                switch pixels.channels {
                case .gray: "GRAYSCALE"
                case .grayAlpha: "GRAYSCALE_ALPHA"
                case .rgb: "RGB"
                default: "RGB_ALPHA"
                }
            header = "P7\nWIDTH \(info.size.width)\nHEIGHT \(info.size.height)\nDEPTH \(pixels.channels.count)\n"
            header += "MAXVAL \(limit)\nTUPLTYPE \(type)\nENDHDR\n"
        case .pbm: header = "P4\n\(info.size.width) \(info.size.height)\n"
        case .pnm, .ppm, .pgm:
            header = "P\(pixels.channels == .gray ? 5 : 6)\n\(info.size.width) \(info.size.height)\n\(limit)\n"
        }
        try Array(header.utf8).withSpan { span throws(CoderError) in try sink.write(span) }
    }

    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool { false }

    func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError) {
        _ = try beginRows(frame)
        try addRows(pixels)
    }

    func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int? {
        if wroteFrame { throw CoderError(.unsupportedFeature, "Netpbm holds one image") }
        wroteFrame = true
        return 1
    }

    func addRows(_ pixels: PixelBuffer) throws(CoderError) {
        guard let sink, wroteFrame else { throw CoderError(.misuse, "there is no current frame") }
        if format == .pbm { return try writeBits(pixels, to: sink) }
        // Write many rows at once, because a system call costs more than a small row.
        let band = max(1, (1 << 18) / pixels.bytesPerRow)
        for y in stride(from: 0, to: pixels.size.height, by: band) {
            try context.checkCancellation()
            let rows = min(band, pixels.size.height - y)
            if pixels.format.bits == 8 && pixels.stride == pixels.bytesPerRow {
                try pixels.withRows(y, rows) { bytes throws(CoderError) in try sink.write(bytes) }
                continue
            }
            for row in y..<y + rows {
                try pixels.withRow(row) { bytes throws(CoderError) in
                    if pixels.format.bits == 16 {
                        let swapped = swappedPairs(bytes)
                        try swapped.withSpan { span throws(CoderError) in try sink.write(span) }
                    } else {
                        try sink.write(bytes)
                    }
                }
            }
        }
    }

    /// Packs eight pixels per byte, the first in the highest bit; dark pixels become black, which is 1.
    private func writeBits(_ pixels: PixelBuffer, to sink: any OutputSink) throws(CoderError) {
        for y in 0..<pixels.size.height {
            if y % 64 == 0 { try context.checkCancellation() }
            var line = [UInt8](repeating: 0, count: (pixels.size.width + 7) / 8)
            pixels.withRow(y) { row in
                for x in 0..<pixels.size.width where row.byte(at: x) < 128 { line[x / 8] |= 0x80 >> UInt8(x % 8) }
            }
            try line.withSpan { span throws(CoderError) in try sink.write(span) }
        }
    }

    func finish() throws(CoderError) {
        if !wroteFrame { throw CoderError(.misuse, "no frame was added") }
    }
}
