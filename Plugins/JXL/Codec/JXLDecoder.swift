public import CoderPluginKit
public import ImageModel

/// Decodes JPEG XL: stills and animations.
///
/// Every frame is a whole canvas: the format has five ways to blend layers, and the library applies them. The decoder
/// reports the orientation and does not apply it; the orientation in Exif has no meaning in this format.
///
/// - Source: ISO/IEC 18181-1 (codestream) and 18181-2 (file).
public final class JXLDecoder: AnimationDecoder {
    private let session: DecoderSession
    private var opening: JXLStream?
    private var header: JXLHeader?
    private var info: ImageInfo?
    private var walk: FrameWalk?
    private var painter: FramePainter?
    /// The index of the frame that `nextFrame` returns next.
    private var next = 0

    /// The first bytes of a file: a codestream, or the signature box.
    private static let signatures: [[UInt8]] = [
        [0xFF, 0x0A], [0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A],
    ]

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    // MARK: Facts

    public func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        let header = try open()
        var info = header.info
        if info.isAnimated, session.source.isComplete { info.frameCount = try frameCount(header) }
        self.info = info
        return info
    }

    public var pixelFormats: [PixelFormat] { header?.formats ?? [] }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        let header = try open()
        let profile = header.profile.map { [MetadataBlob(.icc, $0)] } ?? []
        return header.hasContainer ? profile + (try BoxReader(session).blobs()) : profile
    }

    private func open() throws(CoderError) -> JXLHeader {
        if let header { return header }
        let stream: JXLStream
        if let opening {
            stream = opening
        } else {
            try checkSignature()
            stream = try JXLStream(session.source, session.host, .header)
            opening = stream
        }
        while true {
            switch try stream.next() {
            case .facts: continue
            case .color:
                let made = try JXLHeader(stream, session)
                header = made
                opening = nil
                return made
            default: throw .corrupt("the header is damaged")
            }
        }
    }

    private func checkSignature() throws(CoderError) {
        let available = session.source.available
        let start = session.source.bytes(0..<min(available, 12))
        if Self.signatures.contains(where: { start.starts(with: $0) }) { return }
        if Self.signatures.contains(where: { $0.starts(with: start) }) {
            if session.source.isComplete { throw .truncated() }
            throw .needsInput
        }
        throw .notMine()
    }

    /// Counts the frames; nil if the file is damaged before its end.
    private func frameCount(_ header: JXLHeader) throws(CoderError) -> Int? {
        do throws(CoderError) {
            let walk = try walked(header)
            let limit = session.limits.maxFrames
            while limit == 0 || walk.count <= limit, try walk.advance() {}
            return walk.count
        } catch {
            guard error.code == .corrupt || error.code == .truncated else { throw error }
            walk = nil
            return nil
        }
    }

    private func walked(_ header: JXLHeader) throws(CoderError) -> FrameWalk {
        if let walk { return walk }
        let made = try FrameWalk(session, header)
        walk = made
        return made
    }

    // MARK: Frames

    public func nextFrame() throws(CoderError) -> FrameInfo? {
        let header = try open()
        var duration = FrameDuration.unknown
        if header.info.isAnimated {
            let walk = try walked(header)
            while walk.count <= next { if try !walk.advance() { return nil } }
            duration = walk.duration(of: next)
        } else if next > 0 {
            return nil
        }
        defer { next += 1 }
        return FrameInfo(
            index: next, rect: PixelRect(header.info.size), duration: duration, hasAlpha: header.info.hasAlpha,
            isIndependent: next == 0)
    }

    public func seek(toFrame index: Int) throws(CoderError) -> Int {
        let header = try open()
        if !header.info.isAnimated, index != 0 { throw .invalidArgument("the image has one frame") }
        if header.info.isAnimated {
            let walk = try walked(header)
            while walk.count <= index {
                if try !walk.advance() { throw .invalidArgument("there is no frame \(index)") }
            }
        }
        next = index
        return index
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let header = try open()
        guard request.region == nil else { throw .refused("JPEG XL is decoded as a whole") }
        guard surface.size == header.info.size, header.formats.contains(surface.format) else {
            throw CoderError(.misuse, "the surface does not have the size or format of the image")
        }
        let frame = max(0, next - 1)
        let target = PixelMemory(surface)
        let painter: FramePainter
        if let begun = self.painter, begun.canDraw(frame, into: target) {
            painter = begun
        } else {
            self.painter = nil
            painter = try FramePainter(session, header)
            self.painter = painter
        }
        do throws(CoderError) {
            let outcome = try painter.draw(frame, into: target, wantsPartial: request.wantsPartial)
            // The last frame needs no memory for frames behind it.
            if outcome == .complete, !header.info.isAnimated { self.painter = nil }
            return outcome
        } catch {
            if error.code != .needsInput { self.painter = nil }
            throw error
        }
    }
}
