public import ImageModel
import ImageProcessing
import Synchronization

/// A picture that is shown while its bytes arrive.
///
///     let picture = try ProgressiveImage(manager: manager)
///     for await chunk in download {
///         try picture.append(chunk)
///         try picture.update { part in show(part.pixels, part.changed) }
///     }
///     picture.finish()
///
/// All updates together cost about as much as decoding the whole once. Of an animation the first frame is drawn while it
/// arrives, and ``image`` has every frame that is complete.
///
/// - Concurrency: any thread; appending and finishing from one.
public final class ProgressiveImage: Sendable {
    private let source: ImageSource
    private let manager: CodersManager
    private let options: CoderOptions
    private let limits: DecodeLimits?
    private let opened = Mutex<AnimatedImage?>(nil)
    private let isWhole = Mutex(false)

    /// - Parameter capacity: bytes that may arrive at most; nil takes the limit on input.
    /// - Throws: `.outOfMemory`.
    public init(
        manager: CodersManager, capacity: Int? = nil, name: String = "bytes", options: CoderOptions = CoderOptions(),
        limits: DecodeLimits? = nil
    ) throws(CoderError) {
        let allowed = (limits ?? manager.limits).maxInputBytes
        source = try ImageSource(growingTo: capacity ?? (allowed > 0 ? allowed : 1 << 32), name: name)
        self.manager = manager
        self.options = options
        self.limits = limits
    }

    /// Takes the next bytes.
    ///
    /// - Throws: `.limitExceeded` above the capacity, `.misuse` after ``finish()``.
    public func append(_ bytes: [UInt8]) throws(CoderError) { try source.append(bytes) }

    /// Says that no further byte will come.
    public func finish() { source.finish() }

    /// Bytes that have arrived.
    public var byteCount: Int { source.count }

    /// The picture, once its header has arrived; its frames become more with every update.
    public var image: AnimatedImage? { opened.withLock { $0 } }

    /// Whether the whole picture, or the first frame of an animation, has been drawn.
    public var isPictureComplete: Bool { isWhole.withLock { $0 } }

    /// Decodes what has arrived since the last time.
    ///
    /// - Parameter body: called when something new can be seen. The pixels are drawn on by the next update: copy what is
    ///   to be kept.
    /// - Returns: what `body` answers; nil when there is nothing new.
    /// - Throws: what is wrong with the data; at a cut end only when nothing could be decoded.
    @discardableResult
    public func update<R: Sendable>(_ body: (AvailablePicture) -> R) throws(CoderError) -> R? {
        guard let image = try open() else { return nil }
        image.update()
        if isPictureComplete { return nil }
        return try image.withAvailable { part in
            if part.isComplete { isWhole.withLock { $0 = true } }
            return body(part)
        }
    }

    private func open() throws(CoderError) -> AnimatedImage? {
        try opened.withLock { image throws(CoderError) -> AnimatedImage? in
            if let image { return image }
            do throws(CoderError) {
                image = try AnimatedImage(source, manager: manager, options: options, limits: limits)
            } catch {
                guard error.code == .needsInput else { throw error }
            }
            return image
        }
    }
}
