internal import AVIFShim
internal import CoderPluginKit
internal import ImageModel

/// libavif with a file open: it decodes frames into planes and converts them into rows of a surface.
///
/// - Ownership: borrows the source's bytes; frees all libavif objects when it is deinitialized.
@safe final class AVIFReader {
    private var decoder: OpaquePointer?
    private let source: ByteSource
    private let arrived: ArrivedBytes?
    private let poll: CancellationPoll
    /// Whether libavif reads the boxes of the file itself.
    private let readsFile: Bool
    private let maxFrames: Int
    /// The memory limit of libavif for images, in bytes.
    private var imageMemory = 0

    /// The memory limit of libavif for boxes, and for images no larger than their blocks.
    private static let baseMemory = 64 << 20

    /// - Parameters:
    ///   - metadata: whether libavif reads Exif and XMP, which may wait for the end of the file.
    ///   - prefix: boxes that replace the boxes of the file; nil to use those of the file.
    ///   - arrived: the bytes to read if the call is not on the session's thread; else all available bytes.
    init(
        _ session: DecoderSession, maxFrames: Int, threads: Int, metadata: Bool = false, prefix: [UInt8] = [],
        arrived: ArrivedBytes? = nil
    ) throws(CoderError) {
        source = session.source
        self.arrived = arrived
        self.maxFrames = maxFrames
        readsFile = prefix.isEmpty
        poll = CancellationPoll(session.host)
        var error = avif_shim_error()
        let code = unsafe avif_shim_open(
            UInt32(clamping: maxFrames), UInt32(threads), metadata ? 1 : 0,
            poll.callback, poll.context, &decoder, &error)
        if code != 0 { throw failure(error) }
        if !prefix.isEmpty, unsafe avif_shim_prefix(decoder, prefix, UInt64(prefix.count)) != 0 {
            throw CoderError(.outOfMemory, "there is not enough memory")
        }
    }

    deinit { unsafe avif_shim_close(decoder) }

    /// Reads the boxes; may be called again after `.needsInput`.
    func parse() throws(CoderError) -> avif_shim_facts {
        feed()
        if readsFile {
            let places = Track.otherKinds(in: source).map { UInt64($0.place) }
            if unsafe avif_shim_hide(decoder, places, UInt32(places.count)) != 0 {
                throw CoderError(.outOfMemory, "there is not enough memory")
            }
        }
        var facts = avif_shim_facts()
        var error = avif_shim_error()
        if unsafe avif_shim_parse(decoder, &facts, &error) != 0 { throw failure(error) }
        return facts
    }

    /// Makes libavif refuse larger images and streams, from the next `parse` or `restart` on.
    ///
    /// - Parameter memory: the bytes that decoding takes.
    func limit(maxPixels: Int, memory: Int) {
        // Blocks of 128 pixels are larger than small tiles, and a frame with film grain exists twice.
        imageMemory = 2 * memory
        unsafe avif_shim_limit(decoder, UInt32(clamping: maxPixels))
    }

    /// Restarts with the first frame.
    func restart() throws(CoderError) {
        feed()
        var error = avif_shim_error()
        if unsafe avif_shim_restart(decoder, &error) != 0 { throw failure(error) }
    }

    func isKey(_ frame: Int) -> Bool { unsafe avif_shim_is_key(decoder, UInt32(frame)) != 0 }
    func nearestKey(_ frame: Int) -> Int { unsafe Int(avif_shim_nearest_key(decoder, UInt32(frame))) }

    /// Returns the end of the file bytes that decoding this frame needs.
    func end(of frame: Int) throws(CoderError) -> Int {
        var end: UInt64 = 0
        let code = unsafe avif_shim_end(decoder, UInt32(frame), &end)
        if code != 0 { throw .corrupt("a frame has no position in the file") }
        return Int(clamping: end)
    }

    /// Decodes a frame into planes.
    func decode(_ frame: Int) throws(CoderError) -> avif_shim_facts {
        feed()
        var facts = avif_shim_facts()
        var error = avif_shim_error()
        if unsafe avif_shim_frame(decoder, UInt32(frame), &facts, &error) != 0 { throw failure(error) }
        return facts
    }

    /// The samples of the decoded frame.
    var planes: AVIFPlanes { unsafe AVIFPlanes(avif_shim_decoded(decoder), of: self) }

    /// The decoder of libavif, for the canvas.
    @unsafe var handle: OpaquePointer? { unsafe decoder }

    /// Copies a blob, if there is one.
    func blob(_ kind: MetadataBlob.Kind, limit: Int) throws(CoderError) -> [UInt8]? {
        let number: UInt32 = kind == .exif ? 1 : kind == .xmp ? 2 : 3
        var count: UInt64 = 0
        guard let start = unsafe avif_shim_blob(decoder, number, &count), let count = Int(exactly: count) else {
            return nil
        }
        if limit > 0, count > limit { throw .limit("metadata", allowed: limit, requested: count) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: count))
    }

    private func feed() {
        let arrived = arrived ?? ArrivedBytes(source)
        unsafe avif_shim_feed(decoder, arrived.start, UInt64(arrived.count), arrived.isComplete ? 1 : 0)
        // libavif copies items of several extents, ICC, Exif and XMP.
        unsafe avif_shim_allow(decoder, UInt64(Self.baseMemory + 2 * arrived.count + imageMemory))
    }

    private func failure(_ error: avif_shim_error) -> CoderError {
        switch error.code {
        case avif_shim_stopped: poll.error ?? .avif(error)
        // libavif stops counting at the limit.
        case avif_shim_frame_limit where maxFrames > 0:
            .limit("frames", allowed: maxFrames, requested: maxFrames + 1)
        default: .avif(error)
        }
    }
}

extension avif_shim_facts {
    var storedSize: PixelSize { PixelSize(Int(width), Int(height)) }

    /// Numerators and denominators of the clean aperture.
    var aperture: [UInt32] {
        unsafe withUnsafeBytes(of: clap) { unsafe Array($0.bindMemory(to: UInt32.self)) }
    }
}

extension CoderError {
    /// Translates an error of libavif.
    static func avif(_ error: avif_shim_error) -> CoderError {
        let message = unsafe withUnsafeBytes(of: error.message) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        let code: Code =
            switch error.code {
            case avif_shim_waiting: .needsInput
            case avif_shim_truncated: .truncated
            case avif_shim_unsupported: .unsupportedFeature
            case avif_shim_not_mine: .notMine
            case avif_shim_memory: .outOfMemory
            case avif_shim_stopped: .cancelled
            default: .corrupt
            }
        switch error.code {
        case avif_shim_memory_limit:
            return .limit(
                "bytes of libavif", allowed: Int(clamping: error.allowed), requested: Int(clamping: error.requested))
        // These limits are libavif's own, which does not tell the number that exceeds them.
        case avif_shim_pixel_limit:
            return .unsupported("a stream with more pixels than declared, or than libavif's limit of 268,435,456")
        case avif_shim_frame_limit: return .unsupported("a sequence with more frames than libavif's limit")
        default: break
        }
        // If the AV1 decoder fails, libavif's message begins with the name of its own function.
        let reason = message.hasPrefix("tile->codec->") ? "its AV1 data cannot be decoded" : message
        let damage = "the image is damaged" + (reason.isEmpty ? "" : ": \(reason)")
        return CoderError(
            code, code == .corrupt || message.isEmpty ? damage : message, domain: "libavif",
            feature: code == .unsupportedFeature ? message : nil)
    }
}
