public import CoderPluginKit
public import ImageModel

/// Encodes GIF from full canvases, one at a time.
///
/// The encoder writes a frame when the next one arrives. Only then does it know the frame's duration, and whether the
/// next frame clears pixels. GIF can clear pixels only by the disposal of the frame before.
public final class GIFEncoder: ImageEncoder {
    private let host: HostServices
    private let settings: GIFSettings
    private var info: ImageInfo?
    private var sink: ByteSink?
    private var extensions: [UInt8] = []
    private var canvas: FrameCanvas?
    private var stream: FrameStream?
    private var clock = FrameClock()
    private var frameCount = 0

    public init(_ session: EncoderSession) throws(CoderError) {
        settings = try GIFSettings(session.options)
        host = session.host
    }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let native = info.nativeFormat
        let isGray = native.channels == .gray || native.channels == .grayAlpha
        let first = Self.takes(native) ? native : native.hasTransparency ? .rgba8 : isGray ? .gray8 : .rgb8
        return first == .rgba8 ? [first] : [first, .rgba8]
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        guard !info.size.isEmpty, info.size.width <= 0xFFFF, info.size.height <= 0xFFFF else {
            throw .invalidArgument("GIF cannot hold an image of \(info.size) pixels", hint: "a side is at most 65535")
        }
        guard Self.takes(info.nativeFormat) else {
            throw CoderError(.misuse, "the encoder did not offer this pixel format")
        }
        self.info = info
        self.sink = sink
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        switch blob.kind {
        case .text where blob.key == GIFMetadata.commentKey:
            extensions += [0x21, 0xFE] + GIFWriter.blocks(blob.bytes)
            return true
        case .xmp where !blob.bytes.contains(0):
            extensions += [0x21, 0xFF, 11] + Array("XMP DataXMP".utf8) + blob.bytes + GIFMetadata.xmpTrailer
            return true
        default: return false
        }
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        guard let info, let sink, surface.format == info.nativeFormat, surface.size == info.size,
            frame.rect == PixelRect(info.size)
        else { throw CoderError(.misuse, "the surface does not have the size of the canvas") }
        if canvas == nil {
            let each = FrameCanvas.bytesPerPixel
            let most =
                (info.frameCount == 1 ? each.still : each.animation) + (settings.distance == .rgb ? 0 : each.keys)
            try host.reserve(bytes: info.size.width * info.size.height * most)
            canvas = FrameCanvas(
                width: info.size.width, height: info.size.height, mayHaveHoles: info.nativeFormat.hasTransparency)
            stream = FrameStream(settings, info, extensions: extensions, sink: sink, host: host)
            try load(surface)
            _ = canvas!.examine()
            canvas!.promote(isKept: false)
        } else {
            try load(surface)
            if canvas!.examine() {
                let isKept = try encode(hasNext: true)
                canvas!.promote(isKept: isKept)
            }
        }
        clock.advance(by: frame.duration)
        frameCount += 1
    }

    public func finish() throws(CoderError) {
        guard canvas != nil, let sink else { throw CoderError(.misuse, "the image has no frame") }
        _ = try encode(hasNext: false)
        try stream?.end()
        try sink.write([0x3B])
        if clock.isRounded {
            let sum = clock.hasCut ? "" : ", their sum is kept"
            host.warn("durations are rounded to hundredths of a second, the unit of GIF\(sum)")
        }
        if clock.hasCut {
            host.warn("a frame is written with at most 16 times 655.35 s: a longer duration was cut")
        }
        if frameCount > 1, let short = clock.tooShort {
            let milliseconds = short.milliseconds.rounded()
            host.warn(
                "frames of \(Int(milliseconds)) ms are shown for 100 ms by most viewers: 20 ms or more (50 frames a second or "
                    + "fewer) avoid that")
        }
        canvas = nil
        stream = nil
    }

    // MARK: Parts

    private static func takes(_ format: PixelFormat) -> Bool {
        format.bits == 8 && format.numeric == .unorm && format.alpha != .premultiplied
            && (format.channels == .gray || format.channels == .rgb || format.channels == .rgba)
    }

    private func load(_ surface: borrowing Surface) throws(CoderError) {
        for y in 0..<surface.size.height {
            if y % 64 == 0 { try host.checkCancellation() }
            PixelRows.load(y, of: surface, into: &canvas!.next)
        }
    }

    private func encode(hasNext: Bool) throws(CoderError) -> Bool {
        try stream!.encode(&canvas!, delay: clock.take(), hasNext: hasNext)
    }
}
