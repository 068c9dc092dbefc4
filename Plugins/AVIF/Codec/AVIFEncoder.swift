public import CoderPluginKit
public import ImageModel

/// Encodes AVIF with aom: stills and sequences.
///
/// libavif keeps the coded frames until the end; nothing else grows. The encoder's memory is that of the output and of
/// aom's look-ahead frames.
public final class AVIFEncoder: ThumbnailEncoder {
    private let session: EncoderSession
    private var sink: ByteSink?
    private var info: ImageInfo?
    private var settings: EncodeSettings?
    private var blobs: [MetadataBlob] = []
    private var thumbnail: ThumbnailItem?
    private var writer: AVIFWriter?
    private var clock: FrameClock?

    public init(_ session: EncoderSession) throws(CoderError) { self.session = session }

    /// Gray stays one plane; the file records whether alpha is straight or premultiplied.
    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let native = info.nativeFormat
        let bits = native.bits > 8 || native.numeric == .float ? 16 : 8
        if native.channels == .gray { return [PixelFormat(.gray, bits: bits), PixelFormat(.rgb, bits: bits)] }
        // Coding an alpha plane takes as long as coding color, even if it is fully opaque.
        if !native.hasTransparency || !info.hasAlpha { return [PixelFormat(.rgb, bits: bits)] }
        let alpha: PixelFormat.Alpha = native.alpha == .premultiplied ? .premultiplied : .straight
        return [PixelFormat(.rgba, bits: bits, alpha: alpha)]
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        // libaom's own bound.
        let longest = max(info.size.width, info.size.height)
        guard !info.size.isEmpty, longest <= 65_535 else {
            throw .invalidArgument("an image of \(info.size) pixels does not fit into the format")
        }
        guard try acceptedFormats(for: info).contains(info.nativeFormat) else {
            throw CoderError(.misuse, "the pixels do not have the format of the session")
        }
        settings = try EncodeSettings(session, info: info)
        self.info = info
        self.sink = sink
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        guard [.exif, .xmp, .icc].contains(blob.kind), !blob.bytes.isEmpty, writer == nil else { return false }
        // libavif searches for the TIFF header and refuses bytes without one.
        if blob.kind == .exif, AVIFDecoder.tiff(blob.bytes) == nil { return false }
        blobs.append(blob)
        return true
    }

    public func addThumbnail(pixels surface: borrowing Surface) throws(CoderError) {
        guard let info, let settings, writer == nil else { throw CoderError(.misuse, "the thumbnail comes too late") }
        // MIAF (ISO/IEC 23000-22) does not allow a thumbnail that is larger than its image.
        guard surface.size.width <= info.size.width, surface.size.height <= info.size.height else {
            throw .refused("the thumbnail is larger than the image")
        }
        try session.host.checkCancellation()
        let small = settings.ofThumbnail(isGray: surface.format.channels == .gray)
        let writer = try AVIFWriter(small, timescale: 1)
        // An ICC profile is either for gray or for RGB.
        for blob in blobs where blob.kind == .icc && surface.format.channels == info.nativeFormat.channels {
            try writer.add(blob)
        }
        try writer.add(surface, duration: 1)
        let file = ByteSink()
        try writer.finish(to: file) { _, _ in }
        guard let item = ThumbnailItem(file: file.written) else { throw .refused("the thumbnail cannot be encoded") }
        thumbnail = item
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        guard let info, let settings, surface.size == info.size, surface.format == info.nativeFormat else {
            throw CoderError(.misuse, "the surface does not have the size or format of the session")
        }
        try session.host.checkCancellation()
        let writer: AVIFWriter
        if let begun = self.writer {
            writer = begun
        } else {
            writer = try begin(settings, first: frame)
        }
        guard !settings.isSingle || writer.frames == 0 else { throw .unsupported("more frames than were announced") }
        try writer.add(surface, duration: clock?.units(frame.duration) ?? 1)
        try session.host.checkCancellation()
    }

    public func finish() throws(CoderError) {
        guard let sink, let info, let writer, writer.frames > 0 else {
            throw CoderError(.misuse, "no frame was added")
        }
        let isSequence = writer.frames > 1
        var isWritten = true
        var isEmbedded = true
        try writer.finish(to: sink) { boxes, count in
            if isSequence { isWritten = EditList(loopCount: info.loopCount).insert(into: &boxes) }
            if let thumbnail { isEmbedded = thumbnail.insert(into: &boxes, before: count) }
        }
        if !isEmbedded { session.host.warn("the thumbnail could not be stored") }
        // A still stores no duration.
        if isSequence, let clock { warn(of: clock) }
        if info.isAnimated, !isSequence {
            session.host.warn("a single frame is written as a still, without duration and loop count")
        }
        if !isWritten { session.host.warn("the loop count could not be stored") }
    }

    private func warn(of clock: FrameClock) {
        let unit = "1/\(clock.timescale) s"
        if clock.hasRounded {
            session.host.warn("durations are rounded to units of \(unit)\(clock.keepsSum ? "; their sum is kept" : "")")
        }
        if clock.hasCut {
            let longest = FrameClock.longest / clock.timescale
            session.host.warn("AVIF shows a frame for at most \(longest) s: a longer duration was cut")
        }
        if clock.hasLengthened { session.host.warn("a frame of duration 0 is shown for \(unit): AVIF has none") }
    }

    private func begin(_ settings: EncodeSettings, first frame: FrameInfo) throws(CoderError) -> AVIFWriter {
        if let info { try session.host.reserve(bytes: Self.libraryMemory(info, settings)) }
        let clock = FrameClock(first: frame.duration)
        let made = try AVIFWriter(settings, timescale: clock.timescale)
        for blob in blobs { try made.add(blob) }
        blobs = []
        self.clock = clock
        writer = made
        return made
    }

    /// The peak memory of libavif and aom, measured with noise of 0.3 to 12 megapixels. A still takes eleven times its
    /// planes, 24 times from effort 4 on, where aom searches more. A sequence takes forty frames (35 of them
    /// look-ahead), each with a border of 288 pixels. Alpha has an encoder of its own.
    private static func libraryMemory(_ info: ImageInfo, _ settings: EncodeSettings) -> Int {
        let border = settings.isSingle ? 0 : 576
        let area = (info.size.width + border) * (info.size.height + border)
        let colors = area * (settings.chroma == 444 ? 6 : settings.chroma == 422 ? 4 : 3) / 2
        let alpha = info.nativeFormat.hasTransparency ? area * 3 / 2 : 0
        return (colors + alpha) * (settings.depth > 8 ? 2 : 1)
            * (settings.isSingle ? (settings.effort < 4 ? 11 : 24) : 40)
    }
}
