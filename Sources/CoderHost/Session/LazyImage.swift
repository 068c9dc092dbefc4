public import ImageModel
import ImageProcessing
import Synchronization

/// A picture whose header was read, and whose pixels are decoded when they are first asked for.
///
/// - Concurrency: any thread; whoever comes while it is being decoded waits for it.
public final class LazyImage: Sendable {
    /// The facts of the file, before anything is reduced or turned.
    public let info: ImageInfo
    public let format: ImageFormat
    /// The coder at work.
    public let coder: String
    public let options: DecodeOptions
    private let state: Mutex<State>

    private enum State {
        case waiting(DecodeSession)
        case decoded(Result<DecodedImage, CoderError>)
    }

    /// Reads the header.
    ///
    /// - Throws: as `CodersManager.withSession`.
    public init(
        _ source: ImageSource, manager: CodersManager, _ options: DecodeOptions = DecodeOptions(),
        limits: DecodeLimits? = nil
    ) throws(CoderError) {
        let session = try manager.openSession(source, options: options.coder, limits: limits)
        info = session.info
        format = session.format
        coder = session.coder.id
        self.options = options
        state = Mutex(.waiting(session))
    }

    public var isDecoded: Bool {
        state.withLock { if case .decoded(.success) = $0 { true } else { false } }
    }

    /// The picture; the first call decodes it.
    public func decoded() throws(CoderError) -> DecodedImage {
        try state.withLock { state -> Result<DecodedImage, CoderError> in
            if case .decoded(let result) = state { return result }
            guard case .waiting(let session) = state else { return .failure(.invalidArgument("there is no picture")) }
            session.context.restartClock()
            let result = Result { () throws(CoderError) in try session.decodeImage(options) }
            // The session goes, and with it the file's bytes.
            state = .decoded(result)
            return result
        }.get()
    }
}
