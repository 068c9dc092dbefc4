import APNGCodec
import CoderPluginKit
import ImageModel
import Testing

// MARK: A file made by hand

/// Writes animated PNG chunk by chunk, with stored deflate blocks, so that every byte of a test's input is known.
struct HandmadeAPNG {
    /// The fields of fcTL (PNG 3rd edition, 11.3.6.2), and the rows with their filter bytes.
    struct Frame {
        var rect = PixelRect(x: 0, y: 0, width: 2, height: 2)
        var delay: (UInt16, UInt16) = (1, 10)
        var dispose: UInt8 = 0
        var blend: UInt8 = 0
        var rows: [UInt8]
        /// The number of fdAT chunks.
        var pieces = 1
    }

    var type: UInt8 = 0
    var depth: UInt8 = 8
    var size = PixelSize(2, 2)
    var before: [[UInt8]] = []
    /// Rows of a default image that is not a frame; nil if the first frame is the default image.
    var hidden: [UInt8]?
    var frames: [Frame]
    /// The number of frames in acTL; nil for the correct number.
    var claimed: Int?
    var plays = 0

    /// The chunks in order, with the names by which a test finds them.
    var chunks: [(name: String, bytes: [UInt8])] {
        let header = be32(size.width) + be32(size.height) + [depth, type, 0, 0, 0]
        var chunks: [(String, [UInt8])] = [
            ("IHDR", pngChunk("IHDR", header)),
            ("acTL", pngChunk("acTL", be32(claimed ?? frames.count) + be32(plays))),
        ]
        chunks += before.map { ("before", $0) }
        var number = 0
        if let hidden { chunks.append(("IDAT", pngChunk("IDAT", storedZlib(hidden)))) }
        for (index, frame) in frames.enumerated() {
            chunks.append(("fcTL", apngControl(number, frame)))
            number += 1
            let stream = storedZlib(frame.rows)
            if index == 0, hidden == nil {
                chunks.append(("IDAT", pngChunk("IDAT", stream)))
                continue
            }
            let step = (stream.count + frame.pieces - 1) / frame.pieces
            for start in stride(from: 0, to: stream.count, by: step) {
                let piece = Array(stream[start..<min(start + step, stream.count)])
                chunks.append(("fdAT", pngChunk("fdAT", be32(number) + piece)))
                number += 1
            }
        }
        return chunks + [("IEND", pngChunk("IEND", []))]
    }

    var bytes: [UInt8] { HandmadePNG.signature + chunks.flatMap(\.bytes) }

    /// Returns the file with changed chunks.
    func bytes(_ change: (inout [(name: String, bytes: [UInt8])]) -> Void) -> [UInt8] {
        var chunks = chunks
        change(&chunks)
        return HandmadePNG.signature + chunks.flatMap(\.bytes)
    }
}

func apngControl(_ number: Int, _ frame: HandmadeAPNG.Frame) -> [UInt8] {
    let rect = frame.rect
    func be16(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
    return pngChunk(
        "fcTL",
        be32(number) + be32(rect.width) + be32(rect.height) + be32(rect.x) + be32(rect.y) + be16(frame.delay.0)
            + be16(frame.delay.1) + [frame.dispose, frame.blend])
}

/// Three gray frames of 2 × 2: the first is the default image, the second one pixel, the third in three pieces.
let threeGrayFrames = HandmadeAPNG(frames: [
    HandmadeAPNG.Frame(rows: [0, 1, 2, 0, 3, 4]),
    HandmadeAPNG.Frame(rect: PixelRect(x: 1, y: 1, width: 1, height: 1), rows: [0, 9]),
    HandmadeAPNG.Frame(rows: [0, 5, 6, 0, 7, 8], pieces: 3),
])
let threeGraySamples: [[Int]] = [[1, 2, 3, 4], [9], [5, 6, 7, 8]]

// MARK: Decoding

struct DecodedAPNG {
    var info: ImageInfo
    var frames: [FrameInfo] = []
    /// The samples of each frame, in the native format.
    var samples: [[Int]] = []
    /// The error behind the last frame.
    var failure: CoderError.Code?
}

/// Decodes every frame into its own surface.
func decodeAPNG(_ bytes: [UInt8], limits: DecodeLimits = .default) throws(CoderError) -> DecodedAPNG {
    let decoder = try APNGDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
    var result = DecodedAPNG(info: try decoder.readHeader())
    do throws(CoderError) {
        while let frame = try decoder.nextFrame() {
            let buffer = try PixelBuffer(size: frame.rect.size, format: result.info.nativeFormat)
            _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
            result.frames.append(frame)
            var info = result.info
            info.size = frame.rect.size
            result.samples.append(DecodedPNG(info: info, buffer: buffer, blobs: []).samples)
        }
    } catch {
        result.failure = error.code
    }
    return result
}
