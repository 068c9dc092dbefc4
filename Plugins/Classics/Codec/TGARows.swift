import CoderPluginKit
import ImageModel

/// The rows of a TGA file.
struct TGARows: StoredRows {
    let info: ImageInfo
    private let header: TGAHeader
    private let pixels: TGAPixels
    private var input: RowInput
    /// The pixels of the row, as stored.
    private var stored: [UInt8] = []
    /// A packet that continues in the next row.
    private var packet = TGAPacket()

    var isFromBottom: Bool { !header.isFromTop }

    init(_ session: DecoderSession) throws(CoderError) {
        header = try TGAHeader(session)
        pixels = try TGAPixels(header, session)
        input = RowInput(source: session.source, offset: header.pixelStart)
        info = ImageInfo(
            size: header.size, nativeFormat: pixels.format, decodesRows: !header.isPacked || header.isFromTop)
    }

    mutating func begin(atRow row: Int) -> Bool {
        guard row == 0 || !header.isPacked else { return false }
        input.offset = header.pixelStart + row * header.size.width * header.pixelBytes
        packet = TGAPacket()
        return true
    }

    mutating func next(_ row: inout MutableRawSpan) throws(CoderError) {
        let (pixels, header) = (self.pixels, self.header)
        let width = header.size.width
        var stored = self.stored
        self.stored = []
        if stored.isEmpty { stored = [UInt8](repeating: 0, count: width * header.pixelBytes) }
        defer { self.stored = stored }
        if header.isPacked {
            var after = packet
            // One byte before each pixel at most.
            try input.read(upTo: width * (header.pixelBytes + 1)) { [packet] bytes in
                after = packet
                return after.fill(&stored, from: bytes, pixelBytes: header.pixelBytes)
            }
            packet = after
        } else {
            try input.read(exactly: stored.count) { bytes in
                var target = stored.mutableSpan
                target.copy(bytes, toByteOffset: 0)
            }
        }
        pixels.put(stored, width: width, isFromRight: header.isFromRight, into: &row)
    }
}

/// A packet of equal or different pixels.
struct TGAPacket {
    /// The number of pixels that are left.
    private var left = 0
    private var isRun = false
    /// The repeated pixel, its first byte lowest.
    private var pixel: UInt32 = 0

    /// Fills a row and returns the number of used bytes; nil if bytes are missing.
    mutating func fill(_ row: inout [UInt8], from bytes: RawSpan, pixelBytes: Int) -> Int? {
        let count = row.count
        var target = row.mutableSpan
        var (at, place) = (0, 0)
        while place < count {
            if left == 0 {
                guard at < bytes.byteCount else { return nil }
                let code = bytes.byte(at: at)
                at += 1
                left = Int(code & 127) + 1
                isRun = code & 128 != 0
                if isRun {
                    guard bytes.byteCount - at >= pixelBytes else { return nil }
                    pixel = 0
                    for index in 0..<pixelBytes { pixel |= UInt32(bytes.byte(at: at + index)) << UInt32(8 * index) }
                    at += pixelBytes
                }
            }
            let length = min(left * pixelBytes, count - place)
            if isRun {
                for start in stride(from: place, to: place + length, by: pixelBytes) {
                    put(at: start, pixelBytes, into: &target)
                }
            } else {
                guard bytes.byteCount - at >= length else { return nil }
                target.copy(bytes.extracting(at..<at + length), toByteOffset: place)
                at += length
            }
            place += length
            left -= length / pixelBytes
        }
        return at
    }

    /// Stores the repeated pixel.
    private func put(at offset: Int, _ pixelBytes: Int, into target: inout MutableSpan<UInt8>) {
        switch pixelBytes {
        case 4: target.storeBytes(of: pixel, toByteOffset: offset)
        case 2: target.storeBytes(of: UInt16(truncatingIfNeeded: pixel), toByteOffset: offset)
        default:
            for index in 0..<pixelBytes {
                target[offset + index] = UInt8(truncatingIfNeeded: pixel >> UInt32(8 * index))
            }
        }
    }
}
