import APNGCodec
import CoderPluginKit
import ImageModel
import PNGCodec
import Testing

/// An APNG as a viewer shows it: libpng decodes each frame as a still, and the player composites them pixel by pixel
/// after PNG 3rd edition, 11.3.6.2.
struct PlayedAPNG {
    struct Frame {
        var rect: PixelRect
        var delay: [Int]
        var disposal: UInt8
        var blend: UInt8
        /// The canvas, four samples a pixel.
        var samples: [Int] = []
    }

    var header: [UInt8]
    /// The frames and plays of acTL; empty in a still.
    var control: [Int] = []
    var frames: [Frame] = []

    init(_ bytes: [UInt8], as format: PixelFormat = .rgba8) throws {
        #expect(bytes.starts(with: HandmadePNG.signature))
        let chunks = pngChunks(bytes)
        header = chunks[0].data
        let size = PixelSize(Int(be: header[0..<4]), Int(be: header[4..<8]))
        var rebuilt: [UInt8] = HandmadePNG.signature
        for chunk in chunks { rebuilt += pngChunk(chunk.name, chunk.data) }
        if bytes != rebuilt { Issue.record("a checksum is wrong, or bytes are left") }
        let colors = chunks.filter { ["PLTE", "tRNS"].contains($0.name) }.flatMap { pngChunk($0.name, $0.data) }

        var sequence = 0
        var pending: Frame?
        var data: [UInt8] = []
        var canvas = [Int](repeating: 0, count: size.width * size.height * 4)
        func flush() throws {
            guard
                var frame = pending
                    ?? (data.isEmpty ? nil : Frame(rect: PixelRect(size), delay: [], disposal: 0, blend: 0))
            else { return }
            let before = canvas
            let still =
                HandmadePNG.signature
                + pngChunk("IHDR", be32(frame.rect.width) + be32(frame.rect.height) + header[8...]) + colors
                + pngChunk("IDAT", data) + pngChunk("IEND", [])
            draw(try decodePNG(still, as: format).samples, frame, format, size, &canvas)
            frame.samples = canvas
            frames.append(frame)
            switch frame.disposal {
            case 1: clear(frame.rect, size, &canvas)
            case 2: canvas = before
            default: break
            }
            pending = nil
            data = []
        }
        for chunk in chunks {
            let bytes = chunk.data
            switch chunk.name {
            case "acTL": control = [Int(be: bytes[0..<4]), Int(be: bytes[4..<8])]
            case "fcTL":
                if sequence > 0 { try flush() }
                #expect(Int(be: bytes[0..<4]) == sequence)
                sequence += 1
                let numbers = [4, 8, 12, 16].map { Int(be: bytes[$0..<$0 + 4]) }
                let rect = PixelRect(x: numbers[2], y: numbers[3], width: numbers[0], height: numbers[1])
                #expect(PixelRect(size).contains(rect) && !rect.isEmpty)
                pending = Frame(
                    rect: rect, delay: [Int(be: bytes[20..<22]), Int(be: bytes[22..<24])], disposal: bytes[24],
                    blend: bytes[25])
            case "IDAT": data += bytes
            case "fdAT":
                #expect(Int(be: bytes[0..<4]) == sequence)
                sequence += 1
                data += bytes[4...]
            default: break
            }
        }
        try flush()
    }
}

extension Int {
    fileprivate init(be bytes: ArraySlice<UInt8>) { self = bytes.reduce(0) { $0 << 8 | Int($1) } }
}

private func draw(
    _ samples: [Int], _ frame: PlayedAPNG.Frame, _ format: PixelFormat, _ size: PixelSize, _ canvas: inout [Int]
) {
    let full = format.bits == 8 ? 255 : 65535
    for y in 0..<frame.rect.height {
        for x in 0..<frame.rect.width {
            let from = (y * frame.rect.width + x) * 4
            let to = ((frame.rect.y + y) * size.width + frame.rect.x + x) * 4
            let alpha = samples[from + 3]
            if frame.blend == 1, alpha == 0 { continue }
            if frame.blend == 1 { #expect(alpha == full, "blending over must need no arithmetic") }
            for channel in 0..<4 { canvas[to + channel] = samples[from + channel] }
        }
    }
}

private func clear(_ rect: PixelRect, _ size: PixelSize, _ canvas: inout [Int]) {
    for y in rect.y..<rect.y + rect.height {
        for place in (y * size.width + rect.x) * 4..<(y * size.width + rect.x + rect.width) * 4 { canvas[place] = 0 }
    }
}

// MARK: Encoding

/// Encodes canvases with the given durations; the last duration applies to the remaining canvases.
func encodeAPNG(
    _ canvases: [PixelBuffer], _ options: CoderOptions = [:], durations: [FrameDuration] = [.milliseconds(40)],
    blobs: [MetadataBlob] = [], describe: (inout ImageInfo) -> Void = { _ in }
) throws -> [UInt8] {
    let encoder = try APNGEncoder(EncoderSession(options: options))
    let first = canvases[0]
    var info = ImageInfo(
        size: first.size, nativeFormat: first.format, frameCount: nil, loopCount: .infinite, isAnimated: true)
    describe(&info)
    #expect(try encoder.acceptedFormats(for: info).first == first.format)
    let sink = ByteSink()
    try encoder.begin(info, to: sink)
    for blob in blobs { #expect(try encoder.add(blob), "\(blob.kind) is accepted") }
    for (index, canvas) in canvases.enumerated() {
        let duration = durations[min(index, durations.count - 1)]
        try encoder.add(
            FrameInfo(index: index, rect: PixelRect(first.size), duration: duration), pixels: Surface(canvas))
    }
    try encoder.finish()
    return sink.written
}

/// A canvas whose pixels are the bytes that `color` returns.
func canvas(_ size: PixelSize, _ format: PixelFormat, _ color: (Int, Int) -> [UInt8]) throws -> PixelBuffer {
    let buffer = try PixelBuffer(size: size, format: format)
    for y in 0..<size.height {
        buffer.withMutableRow(y) { row in
            for x in 0..<size.width {
                for (place, value) in color(x, y).enumerated() {
                    row.storeBytes(of: value, toByteOffset: x * format.bytesPerPixel + place, as: UInt8.self)
                }
            }
        }
    }
    return buffer
}

/// The canvas as four samples a pixel.
func expanded(_ buffer: PixelBuffer) -> [Int] {
    let format = buffer.format
    let full = format.bits == 8 ? 255 : 65535
    let info = ImageInfo(size: buffer.size, nativeFormat: format)
    let samples = DecodedPNG(info: info, buffer: buffer, blobs: []).samples
    return stride(from: 0, to: samples.count, by: format.channels.count).flatMap { at -> [Int] in
        let pixel = Array(samples[at..<at + format.channels.count])
        return switch format.channels {
        case .gray: [pixel[0], pixel[0], pixel[0], full]
        case .grayAlpha: [pixel[0], pixel[0], pixel[0], pixel[1]]
        case .rgb: pixel + [full]
        default: pixel
        }
    }
}
