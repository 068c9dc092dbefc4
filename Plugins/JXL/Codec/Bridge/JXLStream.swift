internal import CoderPluginKit
internal import ImageModel
internal import JXLShim

/// A decoder of libjxl that reads a source.
///
/// Pixels are decoded from all bytes that have arrived, in one call; its tasks poll. libjxl 0.7 reports damage in every
/// fifth file of newer encoders if it gets the file in pieces of 64 KiB.
///
/// - Ownership: borrows the source's bytes during a step; frees the library's decoder when it is deinitialized.
@safe final class JXLStream {
    /// The state at which the decoder stopped.
    enum Event {
        case end, facts, color, frame, needsTarget, image, box, boxFull, jpeg, jpegFull
    }

    /// The events at which the decoder stops.
    struct Wanted: OptionSet {
        let rawValue: UInt32
        static let header = Wanted(rawValue: jxl_shim_wants_header)
        static let frames = Wanted(rawValue: jxl_shim_wants_frames)
        static let pixels = Wanted(rawValue: jxl_shim_wants_pixels)
        static let boxes = Wanted(rawValue: jxl_shim_wants_boxes)
        static let jpeg = Wanted(rawValue: jxl_shim_wants_jpeg)
    }

    /// The decoder of libjxl, for the other files of this folder.
    @unsafe let decoder: OpaquePointer
    private let source: ByteSource
    private let host: HostServices
    private let runner: HostRunner
    private let decodesPixels: Bool
    /// The number of bytes that the library has taken.
    private(set) var position = 0
    /// Whether the library was called again after it had taken all bytes that had arrived.
    private(set) var hasContinued = false
    private var hasSuspended = false
    /// The number of bytes for one step that decodes no pixels: a source that is read in pieces is not copied as a whole.
    private var piece = JXLStream.usualPiece
    private static let usualPiece = 64 << 10

    /// - Parameter isParallel: whether to use the host's threads; transcoders have no session, so they must not.
    init(
        _ source: ByteSource, _ host: HostServices, _ wanted: Wanted, isParallel: Bool = false
    ) throws(CoderError) {
        self.source = source
        self.host = host
        runner = HostRunner(host, isParallel: isParallel, maySkip: true)
        decodesPixels = !wanted.isDisjoint(with: [.pixels, .jpeg])
        guard let made = unsafe jxl_shim_decoder_new(wanted.rawValue, runner.function, runner.context) else {
            throw CoderError(.outOfMemory, "there is not enough memory")
        }
        unsafe decoder = made
    }

    deinit { unsafe jxl_shim_decoder_free(decoder) }

    /// Reads up to the next event.
    ///
    /// - Throws: `.needsInput`; `.truncated` if the source is complete; `.corrupt`; `.cancelled`, `.deadlineExceeded`.
    func next() throws(CoderError) -> Event {
        while true {
            try host.checkCancellation()
            let isComplete = source.isComplete
            let available = source.available
            let range = position..<(decodesPixels ? available : min(available, position + piece))
            if hasSuspended, !range.isEmpty { hasContinued = true }
            var used: UInt64 = 0
            let status = source.withBytes(range) { span in
                unsafe span.withUnsafeBytes { bytes in
                    unsafe jxl_shim_step(
                        decoder, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count), &used)
                }
            }
            if let error = runner.error { throw error }
            position += Int(used)
            if decodesPixels, isComplete { host.progress(position, of: max(1, available)) }
            guard status == jxl_shim_needs_input else { return try event(status) }
            if range.upperBound == available {
                if isComplete { throw .truncated() }
                hasSuspended = true
                throw .needsInput
            }
            // The library asks for the rest of an unfinished header again.
            piece = used == 0 ? 2 * piece : Self.usualPiece
        }
    }

    private func event(_ status: Int32) throws(CoderError) -> Event {
        switch status {
        case jxl_shim_end: return .end
        case jxl_shim_at_facts: return .facts
        case jxl_shim_at_color: return .color
        case jxl_shim_at_frame: return .frame
        case jxl_shim_needs_target: return .needsTarget
        case jxl_shim_at_image: return .image
        case jxl_shim_at_box: return .box
        case jxl_shim_box_full: return .boxFull
        case jxl_shim_at_jpeg: return .jpeg
        case jxl_shim_jpeg_full: return .jpegFull
        default: throw CoderError(.corrupt, "the image is damaged", domain: "libjxl")
        }
    }

    // MARK: Frames and pixels

    /// The duration of the frame in ticks, and whether it is the last one.
    func frame() throws(CoderError) -> (ticks: UInt32, isLast: Bool) {
        var (ticks, isLast): (UInt32, UInt32) = (0, 0)
        guard unsafe jxl_shim_get_frame(decoder, &ticks, &isLast) == 0 else { throw .corrupt("a frame has no header") }
        return (ticks, isLast != 0)
    }

    /// Skips frames without decoding pixels that no later frame needs.
    func skip(_ frames: Int) { unsafe jxl_shim_skip(decoder, UInt64(frames)) }

    /// Draws into the target all pixels that have arrived; false if there are none.
    func flush() throws(CoderError) -> Bool {
        let status = unsafe jxl_shim_flush(decoder)
        if let error = runner.error { throw error }
        return status == 0
    }

    /// Decodes the frame into memory that outlives the frame.
    func draw(into target: PixelMemory) throws(CoderError) {
        var pixels = unsafe target.pixels
        guard unsafe jxl_shim_set_target(decoder, &pixels) == 0 else {
            throw CoderError(.pluginFault, "libjxl refuses the pixel format \(target.format)")
        }
    }

    /// Also decodes an extra channel.
    func draw(channel: Int, into target: PixelMemory) throws(CoderError) {
        var pixels = unsafe target.pixels
        guard unsafe jxl_shim_set_channel(decoder, UInt32(channel), &pixels) == 0 else {
            throw .corrupt("an extra channel does not have the size of the image")
        }
    }
}
