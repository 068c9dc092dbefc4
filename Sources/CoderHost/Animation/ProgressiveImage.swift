import HostSystem
public import ImageModel
import ImageProcessing
import PluginRuntime

/// An image that is displayed while its bytes arrive.
///
///     let image = try ProgressiveImage(manager: manager)
///     for await chunk in download {
///         try image.append(chunk)
///         try image.update { part in show(part.pixels, part.changed) }
///     }
///     image.finish()
///
/// All updates together cost about as much as one decode of the complete image. For an animation, updates draw the
/// first frame while it arrives, and ``image`` contains every complete frame.
///
/// ``DecodeOptions`` that change pixels are applied to all pixels at every update, and `changed` is then the whole image.
///
/// - Concurrency: any thread; append and finish from one thread.
public final class ProgressiveImage: Sendable {
    private let source: ImageSource
    private let manager: CodersManager
    private let options: DecodeOptions
    private let coder: String?
    private let limits: DecodeLimits?
    private let opened = Mutex<AnimatedImage?>(nil)
    private let isWhole = Mutex(false)

    /// Creates an image without bytes.
    ///
    /// - Parameters:
    ///   - capacity: the maximum number of bytes; nil uses the input limit.
    ///   - options: the size, part, colors and orientation of all pixels, and options for the coder.
    ///   - id: the id of the only coder to use; nil selects the best one.
    /// - Throws: `.outOfMemory`.
    public init(
        manager: CodersManager, capacity: Int? = nil, name: String = "bytes",
        options: DecodeOptions = DecodeOptions(), limits: DecodeLimits? = nil, forcing id: String? = nil
    ) throws(CoderError) {
        let allowed = (limits ?? manager.limits).maxInputBytes
        source = try ImageSource(growingTo: capacity ?? (allowed > 0 ? allowed : 1 << 32), name: name)
        self.manager = manager
        self.options = options
        coder = id
        self.limits = limits
    }

    /// Appends bytes.
    ///
    /// - Throws: `.limitExceeded` above the capacity, `.misuse` after ``finish()``.
    public func append(_ bytes: [UInt8]) throws(CoderError) { try source.append(bytes) }

    /// Marks the data as complete.
    public func finish() { source.finish() }

    /// The number of received bytes.
    package var byteCount: Int { source.count }

    /// The image, after its header has arrived; updates add frames.
    public var image: AnimatedImage? { opened.withLock { $0 } }

    /// Whether the whole image, or the first frame of an animation, has been drawn.
    public var isImageComplete: Bool { isWhole.withLock { $0 } }

    /// Decodes the bytes that arrived since the last update.
    ///
    /// - Parameter body: called if there is something new to display. The next update modifies the pixels, so copy
    ///   them to keep them.
    /// - Returns: the result of `body`; nil if there is nothing new.
    /// - Throws: the error of the data; for truncated data only if nothing could be decoded.
    @discardableResult
    public func update<R: Sendable>(_ body: (AvailableImage) -> R) throws(CoderError) -> R? {
        guard let image = try open() else { return nil }
        image.update()
        if isImageComplete { return nil }
        return try image.withAvailable { part in
            if part.isComplete { isWhole.withLock { $0 = true } }
            return body(part)
        }
    }

    private func open() throws(CoderError) -> AnimatedImage? {
        try opened.withLock { image throws(CoderError) -> AnimatedImage? in
            if let image { return image }
            do throws(CoderError) {
                image = try AnimatedImage(source, manager: manager, options, limits: limits, forcing: coder)
            } catch {
                guard error.code == .needsInput else { throw error }
            }
            return image
        }
    }
}
