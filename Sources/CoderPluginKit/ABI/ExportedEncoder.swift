internal import CCoderPlugin
internal import ImageModel

/// One encoding session of the host: where it stands in the sequence of `cpi/encoder.h`, and the author's encoder.
final class ExportedEncoder: ExportedSession {
    private enum State { case opened, begun, framed, finished }

    let host: HostServices
    private let roles: CoderRoles
    private let encoder: any ImageEncoder
    private var state = State.opened
    private var format: PixelFormat?

    init(_ coder: Coder, session: EncoderSession) throws(CoderError) {
        guard let type = coder.encoder else { throw .unsupported("encoding") }
        host = session.host
        roles = coder.roles
        encoder = try type.init(session)
        super.init(maySuspend: false)
    }

    func accept(_ info: ImageInfo, _ index: Int) throws(CoderError) -> PixelFormat? {
        guard state == .opened else { throw outOfSequence("accept") }
        let formats = try encoder.acceptedFormats(for: info)
        return index < formats.count ? formats[index] : nil
    }

    func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        guard state == .opened else { throw outOfSequence("begin") }
        format = info.nativeFormat
        try encoder.begin(info, to: sink)
        state = .begun
    }

    /// Hands metadata on and answers whether the format can carry it.
    @unsafe
    func add(_ pointer: UnsafePointer<cpi_blob>) throws(CoderError) -> Bool {
        guard state == .begun else { throw outOfSequence("add_blob") }
        do throws(CoderError) {
            return unsafe try encoder.add(MetadataBlob(pointer))
        } catch {
            // To the host this status is no failure here, so it must not become one.
            if error.code == .unsupportedFeature { return false }
            throw error
        }
    }

    var takesThumbnail: Bool { encoder is any ThumbnailEncoder }

    /// Hands a thumbnail on and answers whether there will be one.
    func addThumbnail(_ surface: borrowing Surface) throws(CoderError) -> Bool {
        guard state == .begun else { throw outOfSequence("thumbnail add") }
        guard surface.format == .gray8 || surface.format == .rgb8 else {
            throw CoderError(.misuse, "a thumbnail is handed over as gray8 or rgb8")
        }
        guard let encoder = encoder as? any ThumbnailEncoder else { return false }
        do throws(CoderError) {
            try encoder.addThumbnail(pixels: surface)
            return true
        } catch {
            if error.code == .unsupportedFeature { return false }
            throw error
        }
    }

    func add(_ frame: FrameInfo, _ surface: borrowing Surface) throws(CoderError) {
        switch state {
        case .begun: break
        case .framed where roles.contains(.encodeAnimation): break
        default: throw outOfSequence("add_frame")
        }
        guard surface.format == format, surface.size == frame.rect.size else {
            throw CoderError(.misuse, "the surface has not the agreed format and the size of the frame")
        }
        try encoder.add(frame, pixels: surface)
        state = .framed
    }

    func finish() throws(CoderError) {
        guard state == .framed else { throw outOfSequence("finish") }
        try encoder.finish()
        state = .finished
    }
}
