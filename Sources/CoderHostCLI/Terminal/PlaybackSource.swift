import CoderHost
import ImageModel

/// What a player plays: frames with durations, each as it is to be seen.
protocol PlaybackSource: AnyObject {
    /// Of every frame.
    var size: PixelSize { get }
    var frameCount: Int { get }
    var loopCount: LoopCount { get }
    func duration(at index: Int) -> FrameDuration
    /// - Returns: any pixel format.
    func frame(at index: Int) throws(CoderError) -> PixelBuffer
}

/// Frames straight from a coder: stepping forwards costs one frame, every other step a replay.
final class SessionPlayback: PlaybackSource {
    private let session: DecodeSession
    private let frames: [FrameInfo]
    private let orientation: Orientation
    let size: PixelSize
    let loopCount: LoopCount

    init(_ session: DecodeSession) throws(CoderError) {
        self.session = session
        orientation = session.pendingOrientation
        size = orientation.applied(to: session.info.size)
        loopCount = session.info.loopCount
        frames = try session.frames()
        if frames.isEmpty { throw CoderError(.corrupt, "there is no frame in it", coder: session.coder.id) }
    }

    var frameCount: Int { frames.count }

    func duration(at index: Int) -> FrameDuration { frames[index].duration }

    func frame(at index: Int) throws(CoderError) -> PixelBuffer {
        try session.decodeFrame(index).pixels.display(orientation)
    }
}
