import CoderPluginKit
import GIFCodec
import ImageModel
import TestSupport

/// The frames of a GIF as stored and as shown, and the code of the error at the end.
struct ShownGIF: Equatable {
    var size = PixelSize.zero
    var loopCount = LoopCount.unknown
    var frames: [FrameInfo] = []
    var pixels: [[UInt8]] = []
    /// The canvas with each frame, and its time on screen.
    var canvases: [[UInt8]] = []
    var durations: [FrameDuration] = []
    var code: CoderError.Code?

    init(_ bytes: [UInt8]) {
        do throws(CoderError) {
            let decoder = try GIFDecoder(DecoderSession(source: ByteSource(bytes)))
            let info = try decoder.readHeader()
            (size, loopCount) = (info.size, info.loopCount)
            // Damaged files declare canvases of any size.
            let isSmall = (size.area ?? .max) <= 1 << 20
            var canvas = [UInt8](repeating: 0, count: isSmall ? 4 * size.width * size.height : 0)
            while let frame = try decoder.nextFrame() {
                frames.append(frame)
                durations.append(frame.duration)
                if frame.rect.isEmpty { continue }
                let buffer = try PixelBuffer(size: frame.rect.size, format: .rgba8)
                _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
                pixels.append(buffer.packed)
                if isSmall { show(frame, buffer.packed, &canvas) }
            }
        } catch {
            code = error.code
        }
    }

    /// Whether both show the same pixels for the same time; rectangles and disposals may differ.
    func shows(_ other: ShownGIF) -> Bool {
        size == other.size && loopCount == other.loopCount && canvases == other.canvases
            && durations == other.durations && code == other.code
    }

    /// Draws a frame and disposes of it (GIF89a specification, section 23).
    private mutating func show(_ frame: FrameInfo, _ pixels: [UInt8], _ canvas: inout [UInt8]) {
        let before = canvas
        let inside = frame.rect.intersection(PixelRect(size))
        func visit(_ body: (_ place: Int, _ pixel: Int) -> Void) {
            if inside.isEmpty { return }
            for y in inside.y..<inside.y + inside.height {
                for x in inside.x..<inside.x + inside.width {
                    body(4 * (y * size.width + x), 4 * ((y - frame.rect.y) * frame.rect.width + x - frame.rect.x))
                }
            }
        }
        visit { place, pixel in
            guard pixels[pixel + 3] > 0 else { return }
            for channel in 0..<4 { canvas[place + channel] = pixels[pixel + channel] }
        }
        canvases.append(canvas)
        switch frame.disposal {
        case .keep: break
        case .background: visit { place, _ in for channel in 0..<4 { canvas[place + channel] = 0 } }
        case .previous: canvas = before
        }
    }

    /// The comments of a file.
    static func comments(_ bytes: [UInt8]) -> [[UInt8]] {
        do {
            let decoder = try GIFDecoder(DecoderSession(source: ByteSource(bytes)))
            _ = try decoder.readHeader()
            return try decoder.metadata().filter { $0.kind == .text }.map(\.bytes)
        } catch {
            return []
        }
    }
}
