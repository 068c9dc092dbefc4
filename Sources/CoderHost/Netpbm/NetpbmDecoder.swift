import HostSystem
import ImageModel
import ImageProcessing
import PluginRuntime

/// Decodes PBM, PGM, PPM and PAM.
///
/// Samples are scaled to the full range of 8 or 16 bits; in a bitmap, 1 is black.
final class NetpbmDecoder: FrameDecoder {
    private let source: ImageSource
    private let context: SessionContext
    private var header: NetpbmHeader?
    private var position = -1

    init(_ source: ImageSource, _ context: SessionContext) {
        self.source = source
        self.context = context
    }

    private func parsed() throws(CoderError) -> NetpbmHeader {
        if let header { return header }
        let fresh = try NetpbmHeader(source)
        header = fresh
        return fresh
    }

    func readHeader() throws(CoderError) -> ImageInfo {
        let header = try parsed()
        let channels: PixelFormat.Channels =
            switch header.channels {
            case 1: .gray
            case 2: .grayAlpha
            case 3: .rgb
            default: .rgba
            }
        let depth = Int.bitWidth - header.maxValue.leadingZeroBitCount
        // Reading a part costs only its bytes. The pixel limit still applies to the whole image without tiles, because
        // a header of a few bytes can state any size.
        return ImageInfo(
            size: header.size, nativeFormat: PixelFormat(channels, bits: header.bytesPerSample * 8), bitDepth: depth,
            decodesRows: !header.isPlain, regionCost: header.isPlain ? .whole : .above)
    }

    func pixelFormats() throws(CoderError) -> [PixelFormat] { [try readHeader().nativeFormat] }

    func nextFrame() throws(CoderError) -> FrameInfo? {
        let header = try parsed()
        position += 1
        return position == 0 ? FrameInfo(index: 0, rect: PixelRect(header.size), hasAlpha: header.hasAlpha) : nil
    }

    func seek(toFrame index: Int) throws(CoderError) -> Int {
        guard index == 0 else { throw .invalidArgument("there is no frame \(index)") }
        position = -1
        return 0
    }

    func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome {
        let header = try parsed()
        let part = request.region ?? PixelRect(header.size)
        if !header.isPlain {
            try decodeRaw(part, header, place)
        } else if part == PixelRect(header.size) {
            try decodePlain(header, place)
        } else {
            throw .refused("plain text samples can be read only from the start")
        }
        return .complete
    }

    private func decodePlain(_ header: NetpbmHeader, _ place: CanvasPlace) throws(CoderError) {
        var samples = PlainSamples(source, header)
        for y in 0..<header.size.height {
            if y % 64 == 0 { try context.checkCancellation() }
            let row = try samples.row()
            try write(row.count, header, place, y) { row[$0] }
        }
    }

    /// Reads only the bytes of the part.
    private func decodeRaw(_ part: PixelRect, _ header: NetpbmHeader, _ place: CanvasPlace) throws(CoderError) {
        let columns = part.x..<part.x + part.width
        let bytes =
            header.isBitmap
            ? columns.lowerBound / 8..<(columns.upperBound + 7) / 8
            : columns.lowerBound * header.bytesPerPixel..<columns.upperBound * header.bytesPerPixel
        let count = part.width * header.channels
        for y in 0..<part.height {
            if y % 64 == 0 { try context.checkCancellation() }
            let row = header.dataOffset + (part.y + y) * header.bytesPerRow
            let (start, end) = (row + bytes.lowerBound, row + bytes.upperBound)
            guard end <= source.count else { throw source.isComplete ? .truncated() : .needsInput }
            try source.withBytes(start..<end) { row throws(CoderError) in
                guard row.byteCount == bytes.count else { throw .truncated() }
                switch header.maxValue {
                case 1 where header.isBitmap:
                    let first = columns.lowerBound % 8
                    try write(count, header, place, y) {
                        1 - Int(row.byte(at: (first + $0) / 8) >> (7 - (first + $0) % 8) & 1)
                    }
                case 255: place.withMutableRow(y) { $0.copy(row) }
                case 65_535: place.withMutableRow(y) { $0.copySwappingPairs(row) }
                case ..<256: try write(count, header, place, y) { Int(row.byte(at: $0)) }
                default: try write(count, header, place, y) { Int(row.bigEndian(at: 2 * $0, as: UInt16.self)) }
                }
            }
        }
    }

    /// Scales samples of 0 … maxval to the full range.
    private func write(
        _ count: Int, _ header: NetpbmHeader, _ place: CanvasPlace, _ y: Int, _ sample: (Int) -> Int
    ) throws(CoderError) {
        let limit = header.maxValue
        try place.withMutableRow(y) { row throws(CoderError) in
            for index in 0..<count {
                let value = sample(index)
                guard value <= limit else { throw .corrupt("a sample of row \(y) is \(value), above \(limit)") }
                if header.bytesPerSample == 1 {
                    row.setByte(index, UInt8((value * 255 + limit / 2) / limit))
                } else {
                    row.setPair(index, UInt16((value * 65_535 + limit / 2) / limit))
                }
            }
        }
    }
}

/// Reads the decimal samples of P1, P2 and P3.
private struct PlainSamples {
    private let bytes: [UInt8]
    private let header: NetpbmHeader
    private let isComplete: Bool
    private var at = 0

    init(_ source: ImageSource, _ header: NetpbmHeader) {
        bytes = source.bytes(header.dataOffset..<source.count)
        isComplete = source.isComplete
        self.header = header
    }

    mutating func row() throws(CoderError) -> [Int] {
        // Every sample needs at least one byte; check before allocating memory.
        guard header.size.width * header.channels <= bytes.count - at else {
            throw isComplete ? .truncated() : .needsInput
        }
        var result: [Int] = []
        result.reserveCapacity(header.size.width * header.channels)
        for _ in 0..<header.size.width * header.channels { result.append(try sample()) }
        return result
    }

    private mutating func sample() throws(CoderError) -> Int {
        while at < bytes.count, bytes[at] <= 0x20 || bytes[at] == UInt8(ascii: "#") {
            if bytes[at] == UInt8(ascii: "#") { while at < bytes.count, bytes[at] != 0x0A { at += 1 } } else { at += 1 }
        }
        guard at < bytes.count else { throw isComplete ? .truncated() : .needsInput }
        var value = 0
        let start = at
        while at < bytes.count, (0x30...0x39).contains(bytes[at]) {
            value = min(value * 10 + Int(bytes[at] - 0x30), 1 << 20)
            at += 1
            // The digits of a plain bitmap need no space between them; 1 is black.
            if header.isBitmap {
                guard value <= 1 else { throw .corrupt("a bit is \(value)", at: header.dataOffset + start) }
                return 1 - value
            }
        }
        if at == start { throw .corrupt("a sample is not a number", at: header.dataOffset + at) }
        if at == bytes.count && !isComplete { throw .needsInput }
        return value
    }
}
