import CoderHost
import CommandLineKit
import ImageModel
import ImageProcessing

/// One of the two compared files.
struct CompareInput {
    let file: String
    let session: DecodeSession
    let profile: [UInt8]
    /// Whether the file has a second frame.
    let isAnimation: Bool

    init(_ file: String, _ host: CoderHost, coder: String?) throws(CoderError) {
        self.file = file
        let source = try ImageSource(path: file, limits: host.manager.limits)
        session = try host.manager.openSession(source, forcing: coder)
        profile = try session.metadata().first { $0.kind == .icc }?.bytes ?? []
        isAnimation = try session.frameInfo(1) != nil
    }

    /// The upright size.
    var size: PixelSize { session.pendingOrientation.applied(to: session.info.size) }

    func frameCount() throws(CoderError) -> Int { isAnimation ? try session.frames().count : 1 }

    /// Decodes a composited frame, upright.
    func image(_ index: Int) throws(CoderError) -> PixelBuffer {
        let pixels = index == 0 && !isAnimation ? try session.decodeImage() : try session.decodeFrame(index).pixels
        return try PixelConverter.upright(pixels, session.pendingOrientation)
    }

    func json(_ frameCount: Int) -> JSONValue {
        .object([
            ("file", .string(file)), ("format", .string(session.format.id)), ("width", .integer(size.width)),
            ("height", .integer(size.height)), ("frame_count", .integer(frameCount)),
            ("isolation", IsolationRendering.json(session.isolation)),
        ])
    }

    /// Whether both images have the same color description.
    func describesColors(as other: CompareInput) -> Bool {
        profile == other.profile && codes == other.codes
    }

    /// The primaries and the transfer; nil if unspecified. The matrix does not matter because decoded pixels are RGB.
    private var codes: [UInt8]? {
        guard let points = session.info.color.codePoints, !points.isUnspecified else { return nil }
        return [points.primaries, points.transfer]
    }
}
