public import CoderPluginKit
public import ImageModel
internal import JXLShim

/// Encodes JPEG XL: stills and animations, lossy and lossless, with 8 and 16 bits and floats.
///
/// - Source: ISO/IEC 18181-1 (codestream) and 18181-2 (file).
public final class JXLEncoder: ImageEncoder {
    private let session: EncoderSession
    private var sink: ByteSink?
    private var info: ImageInfo?
    private var settings: EncodeSettings?
    private var blobs: [MetadataBlob] = []
    private var writer: JXLWriter?
    private var clock: TickClock?
    private var frames = 0
    private var reserved = 0

    public init(_ session: EncoderSession) throws(CoderError) { self.session = session }

    /// Alpha and samples stay as they are.
    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let native = info.nativeFormat
        let hasAlpha = native.hasTransparency
        let isGray = native.channels == .gray || native.channels == .grayAlpha
        let channels: PixelFormat.Channels = isGray ? (hasAlpha ? .grayAlpha : .gray) : (hasAlpha ? .rgba : .rgb)
        // libjxl 0.7 ends the process if alpha is premultiplied.
        return [PixelFormat(channels, bits: native.bits, numeric: native.numeric, alpha: hasAlpha ? .straight : nil)]
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        // 30 bits for a side, 40 for the area: level 10 of the format.
        guard !info.size.isEmpty, max(info.size.width, info.size.height) <= 1 << 30,
            let area = info.size.area, area <= 1 << 40
        else { throw .invalidArgument("an image of \(info.size) pixels does not fit into the format") }
        guard try acceptedFormats(for: info).contains(info.nativeFormat) else {
            throw CoderError(.misuse, "the pixels do not have the format of the session")
        }
        settings = try EncodeSettings(session, info: info)
        self.info = info
        self.sink = sink
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        guard !blob.bytes.isEmpty, writer == nil else { return false }
        switch blob.kind {
        case .exif, .xmp, .icc: blobs.append(blob)
        case .raw where blob.key == "jumb" || blob.key == "jhgm": blobs.append(blob)
        default: return false
        }
        return true
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        guard let info, let sink, let settings, surface.size == info.size, surface.format == info.nativeFormat else {
            throw CoderError(.misuse, "the surface does not have the size or format of the session")
        }
        try session.host.checkCancellation()
        guard settings.isAnimated || frames == 0 else { throw .unsupported("more frames than were announced") }
        let writer: JXLWriter
        if let begun = self.writer {
            writer = begun
            // The library marks the last frame, so it encodes a frame when the next one is there.
            try writer.write { bytes throws(CoderError) in try sink.write(bytes) }
        } else {
            writer = try begin(settings, info, first: frame)
        }
        try writer.add(surface, ticks: clock?.ticks(frame.duration) ?? 1)
        frames += 1
        session.host.progress(frames, of: max(frames + 1, info.frameCount ?? 0))
    }

    public func finish() throws(CoderError) {
        guard let sink, let writer, let info, frames > 0 else { throw CoderError(.misuse, "no frame was added") }
        writer.close()
        try writer.write { bytes throws(CoderError) in try sink.write(bytes) }
        if info.isAnimated, clock == nil {
            session.host.warn("a single frame is written as a still, without duration and loop count")
        }
        if let clock { warn(of: clock) }
    }

    private func warn(of clock: TickClock) {
        let unit = "1/\(clock.rate) s"
        if clock.hasRounded { session.host.warn("durations are rounded to units of \(unit); their sum is kept") }
        if clock.hasLengthened {
            session.host.warn("a frame of duration 0 is shown for \(unit): JPEG XL would merge it with the next one")
        }
        if clock.hasCut { session.host.warn("a duration was cut to \(UInt32.max / UInt32(clock.rate)) s") }
    }

    private func begin(
        _ wanted: EncodeSettings, _ info: ImageInfo, first: FrameInfo
    ) throws(CoderError) -> JXLWriter {
        var settings = wanted
        let bytes = Self.libraryMemory(info, settings)
        try session.host.reserve(bytes: bytes)
        reserved = bytes
        if settings.isAnimated {
            let clock = TickClock(first: first.duration)
            settings.ticks = clock.rate
            self.clock = clock
        }
        let boxes = blobs.filter { $0.kind != .icc }
        let made = try JXLWriter(session.host, isParallel: settings.isParallel)
        try made.begin(settings, info, hasBoxes: !boxes.isEmpty)
        try describeColors(info, to: made)
        for blob in boxes { try add(blob, info, to: made) }
        blobs = []
        writer = made
        return made
    }

    /// A usable profile of the right kind describes the colors; else code points or a gamma do, else sRGB.
    private func describeColors(_ info: ImageInfo, to writer: JXLWriter) throws(CoderError) {
        let isGray = info.nativeFormat.channels == .gray || info.nativeFormat.channels == .grayAlpha
        let profile = blobs.last { $0.kind == .icc }?.bytes
        let color = JXLColors.encoded(info.color, isGray: isGray)
        if let profile, color == nil || !info.color.prefersCodePoints {
            if writer.set(profile: profile) { return }
            session.host.warn("libjxl cannot use the ICC profile, so it is left out")
        } else if color == nil, info.color.codePoints?.isUnspecified == false {
            session.host.warn("JPEG XL cannot describe these colors; the file declares sRGB")
        }
        try writer.set(color ?? JXLColors.described(isGray: isGray))
    }

    private func add(_ blob: MetadataBlob, _ info: ImageInfo, to writer: JXLWriter) throws(CoderError) {
        switch blob.kind {
        case .exif:
            let exif = info.orientation.map { ExifOrientation.replacing(blob.bytes, with: $0) } ?? blob.bytes
            // Four bytes state that the TIFF header follows at once.
            try writer.add(box: "Exif", [0, 0, 0, 0] + exif)
        case .xmp: try writer.add(box: "xml ", blob.bytes)
        default: try writer.add(box: blob.key ?? "jumb", blob.bytes)
        }
    }

    /// The peak memory of libjxl, which does not count it, beside the output.
    private static func libraryMemory(_ info: ImageInfo, _ settings: EncodeSettings) -> Int {
        let area = info.size.area ?? .max / 256
        return area.multipliedReportingOverflow(by: settings.isLossless ? 70 : 50).partialValue
    }
}
