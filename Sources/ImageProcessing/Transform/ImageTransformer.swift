public import ImageModel

/// Makes one picture out of another.
///
/// Transformers are values without state: the same one serves all frames of an animation.
/// - Throws: from ``transform(_:)`` `.invalidArgument` for parameters that cannot be met, among them every number that
///   is not finite; `.unsupportedFeature` for pixel formats; `.outOfMemory`.
public protocol ImageTransformer: Sendable {
    /// Names what is done: the same input and the same key give the same output.
    ///
    /// Every parameter that changes pixels is in it. It goes into cache keys and file names, see ``transformedKey(_:_:)``.
    var key: String { get }

    /// The size of the result for a picture of `size`; zero where ``transform(_:)`` refuses.
    func outputSize(for size: PixelSize) -> PixelSize

    /// The transformed picture; may be `buffer` itself where there is nothing to do.
    func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer
}

/// Several transformers, one after the other.
public struct Pipeline: ImageTransformer, Hashable {
    public var transformers: [any ImageTransformer]

    public init(_ transformers: [any ImageTransformer]) { self.transformers = transformers }

    public init(_ transformers: any ImageTransformer...) { self.transformers = transformers }

    /// The keys of all, joined by "-".
    public var key: String {
        var joined = ""
        for (index, transformer) in transformers.enumerated() { joined += (index == 0 ? "" : "-") + transformer.key }
        return joined
    }

    public func outputSize(for size: PixelSize) -> PixelSize {
        var size = size
        for transformer in transformers { size = size.isEmpty ? .zero : transformer.outputSize(for: size) }
        return size
    }

    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        var buffer = buffer
        for transformer in transformers { buffer = try transformer.transform(buffer) }
        return buffer
    }

    // Equal keys mean equal pixels, which is all that can be asked of transformers of any type.
    public static func == (a: Pipeline, b: Pipeline) -> Bool { a.key == b.key }

    public func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
