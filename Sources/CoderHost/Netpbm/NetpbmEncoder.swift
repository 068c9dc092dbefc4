import ImageModel

/// Writes PAM, or PGM and PPM where the format is `pnm`.
///
/// Rows of 8 bits go out as they are; 16 bit rows are put into big-endian order band by band.
final class NetpbmEncoder: FrameEncoder {
    private let asPAM: Bool
    private let context: SessionContext
    private var sink: (any OutputSink)?
    private var wroteFrame = false

    init(asPAM: Bool, _ context: SessionContext) {
        self.asPAM = asPAM
        self.context = context
    }

    func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let deep = info.nativeFormat.bits > 8
        let gray = info.nativeFormat.channels == .gray || info.nativeFormat.channels == .grayAlpha
        var result: [PixelFormat] = []
        for bits in deep ? [16, 8] : [8, 16] {
            if asPAM && info.nativeFormat.hasTransparency {
                if gray { result.append(PixelFormat(.grayAlpha, bits: bits)) }
                result.append(PixelFormat(.rgba, bits: bits))
            }
            if gray { result.append(PixelFormat(.gray, bits: bits)) }
            result.append(PixelFormat(.rgb, bits: bits))
            if !gray { result.append(PixelFormat(.gray, bits: bits)) }
        }
        return result
    }

    func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError) {
        self.sink = sink
        let format = info.nativeFormat
        let limit = format.bits == 16 ? 65_535 : 255
        var header: String
        if asPAM {
            let type =
                switch format.channels {
                case .gray: "GRAYSCALE"
                case .grayAlpha: "GRAYSCALE_ALPHA"
                case .rgb: "RGB"
                default: "RGB_ALPHA"
                }
            header = "P7\nWIDTH \(info.size.width)\nHEIGHT \(info.size.height)\nDEPTH \(format.channels.count)\n"
            header += "MAXVAL \(limit)\nTUPLTYPE \(type)\nENDHDR\n"
        } else {
            header = "P\(format.channels == .gray ? 5 : 6)\n\(info.size.width) \(info.size.height)\n\(limit)\n"
        }
        try Array(header.utf8).withSpan { span throws(CoderError) in try sink.write(span) }
    }

    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool { false }

    func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError) {
        guard let sink, !wroteFrame else { throw CoderError(.unsupportedFeature, "Netpbm holds one picture") }
        wroteFrame = true
        // Many rows at once: a system call costs more than a small row.
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

    func finish() throws(CoderError) {
        if !wroteFrame { throw CoderError(.misuse, "no frame was added") }
    }
}
