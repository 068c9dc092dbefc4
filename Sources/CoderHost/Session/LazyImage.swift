import HostSystem
public import ImageModel
import ImageProcessing
public import PluginRuntime

/// An image whose header is read at once, and whose pixels are decoded on first access.
///
/// - Concurrency: any thread; concurrent callers wait for one decode.
public final class LazyImage: Sendable {
    /// The properties of the file, before size or orientation changes.
    public let info: ImageInfo
    /// The format of the file.
    package let format: ImageFormat
    /// The id of the coder in use.
    package let coder: String
    /// The decoding options.
    package let options: DecodeOptions
    private let state: Mutex<State>

    private enum State {
        case waiting(DecodeSession)
        case decoded(Result<DecodedImage, CoderError>)
    }

    /// Reads the header.
    ///
    /// - Throws: the errors of `CodersManager.withSession`.
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

    /// Whether the pixels are decoded.
    package var isDecoded: Bool {
        state.withLock { if case .decoded(.success) = $0 { true } else { false } }
    }

    /// Returns the image; the first call decodes it.
    public func decoded() throws(CoderError) -> DecodedImage {
        try state.withLock { state -> Result<DecodedImage, CoderError> in
            if case .decoded(let result) = state { return result }
            guard case .waiting(let session) = state else { return .failure(.invalidArgument("there is no image")) }
            session.context.restartClock()
            let result = Result { () throws(CoderError) in try session.decodeImage(options) }
            // Releases the session and the file's bytes.
            state = .decoded(result)
            return result
        }.get()
    }
}
