public import CoderPluginKit
public import ImageModel

/// Encodes GIF, one frame at a time.
///
/// The bytes of one frame are held back until the next one is there: what has to happen to a frame before a
/// replacing one with holes is drawn stands in front of its own pixels.
public final class GIFEncoder: ImageEncoder {
    private let options: CoderOptions
    private let host: HostServices
    private var info: ImageInfo?
    private var sink: ByteSink?
    private var extensions: [UInt8] = []
    private var globalColors: [UInt32]?
    private var pending: (bytes: [UInt8], rect: PixelRect, disposal: Disposal)?
    /// What may be seen of the frames in front of the pending one; nil: nothing.
    private var painted: PixelRect?
    private var isStarted = false

    public init(_ session: EncoderSession) throws(CoderError) {
        options = session.options
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
            throw .invalidArgument("GIF cannot hold a picture of \(info.size) pixels", hint: "a side is at most 65535")
        }
        guard Self.takes(info.nativeFormat) else {
            throw CoderError(.misuse, "the pixel format was not offered")
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
        guard let info, surface.format == info.nativeFormat, surface.size == frame.rect.size,
            PixelRect(info.size).contains(frame.rect)
        else { throw CoderError(.misuse, "the surface does not fit the picture") }
        let ownBytes = surface.size.width * surface.size.height * 2
        try host.reserve(bytes: ownBytes)
        let indexer = GIFIndexer(host: host, isDithered: options.bool("gif.dither") ?? true)
        let indexed = try indexer.index(surface, globalColors: globalColors)
        if !isStarted { try start(info, colors: indexed.colors) }
        try release(before: frame, hasHoles: indexed.transparentIndex.map(indexed.indices.contains) ?? false)
        let bytes = try GIFWriter.frame(
            frame, indexed, isGlobal: indexed.isGlobal || indexed.colors == globalColors, host: host)
        pending = (bytes, frame.rect, frame.disposal)
        try host.reserve(bytes: -ownBytes)
    }

    public func finish() throws(CoderError) {
        guard let pending, let sink else { throw CoderError(.misuse, "the picture has no frame") }
        try sink.write(pending.bytes)
        try sink.write([0x3B])
        self.pending = nil
    }

    // MARK: Parts

    private static func takes(_ format: PixelFormat) -> Bool {
        format.bits == 8 && format.numeric == .unorm && format.alpha != .premultiplied
            && (format.channels == .gray || format.channels == .rgb || format.channels == .rgba)
    }

    private func start(_ info: ImageInfo, colors: [UInt32]) throws(CoderError) {
        globalColors = colors
        isStarted = true
        var plays: Int?
        switch info.loopCount {
        case .infinite: plays = 0
        case .plays(let count) where count > 1: plays = count
        case .plays, .unknown: plays = nil
        }
        if let count = plays, count > 0x1_0000 {
            host.warn("GIF cannot repeat a picture more than 65535 times")
            plays = 0x1_0000
        }
        try sink?.write(GIFWriter.screen(info.size, colors: colors, plays: plays) + extensions)
    }

    /// Writes the frame held back, with the disposal that the next one needs.
    private func release(before next: FrameInfo, hasHoles: Bool) throws(CoderError) {
        guard let (_, rect, _) = pending, var (bytes, _, disposal) = pending else { return }
        // Pixels of a replacing frame that are not there must not let earlier ones through: GIF can only draw over.
        if next.blend == .source, hasHoles {
            let hidden = painted.map { $0.intersection(next.rect) } ?? PixelRect(PixelSize.zero)
            if disposal == .keep, next.rect.contains(rect), hidden.isEmpty || rect.contains(hidden) {
                disposal = .background
                GIFWriter.setDisposal(disposal, in: &bytes)
            } else if disposal != .background || !rect.contains(next.rect) {
                host.warn("frame \(next.index) replaces pixels with transparent ones, which GIF can only draw over")
            }
        }
        switch disposal {
        case .keep: painted = painted.map { union($0, rect) } ?? rect
        case .background: if let old = painted, rect.contains(old) { painted = nil }
        case .previous: break
        }
        try sink?.write(bytes)
        pending = nil
    }

    private func union(_ a: PixelRect, _ b: PixelRect) -> PixelRect {
        let (x, y) = (min(a.x, b.x), min(a.y, b.y))
        return PixelRect(
            x: x, y: y, width: max(a.x + a.width, b.x + b.width) - x, height: max(a.y + a.height, b.y + b.height) - y)
    }
}
