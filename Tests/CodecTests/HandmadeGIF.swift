import CoderPluginKit
import GIFCodec
import GIFShim
import ImageModel
import Testing

// MARK: A file made by hand

/// Writes GIF block by block; its codes never leave their first size, so that no LZW encoder is needed.
struct HandmadeGIF {
    var bytes: [UInt8]

    /// A canvas of four colors: black, red, green, blue.
    init(_ width: Int, _ height: Int, aspect: UInt8 = 0, background: UInt8 = 0, hasPalette: Bool = true) {
        bytes = Array("GIF89a".utf8) + le16(width) + le16(height) + [hasPalette ? 0x81 : 0, background, aspect]
        if hasPalette { bytes += [0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255] }
    }

    mutating func control(delay: Int, disposal: UInt8 = 0, transparent: UInt8? = nil) {
        bytes += [0x21, 0xF9, 4, disposal << 2 | (transparent == nil ? 0 : 1)] + le16(delay) + [transparent ?? 0, 0]
    }

    mutating func loops(_ count: Int, name: String = "NETSCAPE2.0") {
        bytes += [0x21, 0xFF, 11] + Array(name.utf8) + [3, 1] + le16(count) + [0]
    }

    mutating func frame(
        _ x: Int, _ y: Int, _ width: Int, _ height: Int, _ pixels: [UInt8], interlaced: Bool = false,
        palette: [UInt8] = []
    ) {
        descriptor(x, y, width, height, interlaced: interlaced, palette: palette)
        bytes += Self.data(pixels)
    }

    mutating func descriptor(
        _ x: Int, _ y: Int, _ width: Int, _ height: Int, interlaced: Bool = false, palette: [UInt8] = []
    ) {
        let flags: UInt8 = (interlaced ? 0x40 : 0) | (palette.isEmpty ? 0 : 0x81)
        bytes += [0x2C] + le16(x) + le16(y) + le16(width) + le16(height) + [flags] + palette
    }

    mutating func end() { bytes.append(0x3B) }

    /// Codes of 3 bits for pixels 0 … 3, with a clear code (4) in front of every second one, then the end code (5).
    static func data(_ pixels: [UInt8], ends: Bool = true) -> [UInt8] {
        var codes: [Int] = []
        for (index, pixel) in pixels.enumerated() { codes += index % 2 == 0 ? [4, Int(pixel)] : [Int(pixel)] }
        if ends { codes.append(5) }
        return [2] + blocks(packed(codes))
    }

    static func packed(_ codes: [Int]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: (codes.count * 3 + 7) / 8)
        for (index, code) in codes.enumerated() {
            for bit in 0..<3 where code >> bit & 1 == 1 {
                bytes[(index * 3 + bit) / 8] |= 1 << UInt8((index * 3 + bit) % 8)
            }
        }
        return bytes
    }

    static func blocks(_ bytes: [UInt8]) -> [UInt8] {
        stride(from: 0, to: bytes.count, by: 255).flatMap { start -> [UInt8] in
            let block = bytes[start..<min(start + 255, bytes.count)]
            return [UInt8(block.count)] + block
        } + [0]
    }
}

func le16(_ value: Int) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }

// The four colors of a handmade file as RGBA.
private let handmadeColors: [[UInt8]] = [[0, 0, 0, 255], [255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]]

func handmadeRGBA(_ pixels: [UInt8], transparent: UInt8? = nil) -> [UInt8] {
    pixels.flatMap { $0 == transparent ? [0, 0, 0, 0] : handmadeColors[Int($0)] }
}

// MARK: Decoding

func bytesOfRows(_ buffer: PixelBuffer) -> [UInt8] {
    (0..<buffer.size.height).flatMap { y in
        buffer.withRow(y) { row in (0..<row.byteCount).map { row.byte(at: $0) } }
    }
}

struct DecodedFrame {
    var info: FrameInfo
    /// RGBA; empty for an empty frame.
    var pixels: [UInt8]
}

func decodeGIF(
    _ file: [UInt8], as format: PixelFormat = .rgba8, limits: DecodeLimits = .default
) throws -> (info: ImageInfo, frames: [DecodedFrame]) {
    let decoder = try GIFDecoder(DecoderSession(source: ByteSource(file), limits: limits))
    let info = try decoder.readHeader()
    var frames: [DecodedFrame] = []
    while let frame = try decoder.nextFrame() { frames.append(try gifPixels(of: frame, decoder, format)) }
    return (info, frames)
}

func gifPixels(of frame: FrameInfo, _ decoder: GIFDecoder, _ format: PixelFormat = .rgba8) throws -> DecodedFrame {
    if frame.rect.isEmpty { return DecodedFrame(info: frame, pixels: []) }
    let buffer = try PixelBuffer(size: frame.rect.size, format: format)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return DecodedFrame(info: frame, pixels: bytesOfRows(buffer))
}

func gifFailure(_ file: [UInt8], limits: DecodeLimits = .default) -> CoderError.Code? {
    do {
        _ = try decodeGIF(file, limits: limits)
        return nil
    } catch {
        return (error as? CoderError)?.code
    }
}

/// Every frame as giflib decodes it; nil if it fails.
func giflibFrames(_ file: [UInt8]) -> [DecodedFrame]? {
    unsafe file.withUnsafeBufferPointer { buffer in
        guard let reader = unsafe gifshim_open(buffer.baseAddress, UInt64(buffer.count)) else { return nil }
        defer { unsafe gifshim_close(reader) }
        var frames: [DecodedFrame] = []
        while true {
            var frame = unsafe gifshim_frame()
            switch unsafe gifshim_next(reader, &frame) {
            case 0: return frames
            case 1:
                let rect = unsafe PixelRect(
                    x: Int(frame.x), y: Int(frame.y), width: Int(frame.width), height: Int(frame.height))
                let pixels = unsafe Array(UnsafeBufferPointer(start: frame.rgba, count: rect.width * rect.height * 4))
                let duration = unsafe FrameDuration(frame.delay, over: 100)
                frames.append(
                    DecodedFrame(info: FrameInfo(index: frames.count, rect: rect, duration: duration), pixels: pixels))
            default: return nil
            }
        }
    }
}
