public import ImageModel

/// A transform from one image to another.
///
/// Transformers are values without state: one transformer serves all frames of an animation.
/// - Throws: ``transform(_:)`` throws `.invalidArgument` for invalid parameters, including every number that is not
///   finite; `.unsupportedFeature` for pixel formats; `.outOfMemory`.
public protocol ImageTransformer: Sendable {
    /// The identity of the transform: the same input and the same key give the same output.
    ///
    /// The key includes every parameter that changes pixels. Cache keys and file names use it, see
    /// ``transformedKey(_:_:)``.
    var key: String { get }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    func outputSize(for size: PixelSize) -> PixelSize

    /// Returns the transformed image; may return `buffer` itself if nothing changes.
    func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer
}

/// A transformer that applies several transformers in order.
public struct Pipeline: ImageTransformer {
    /// The transformers in their order.
    package var transformers: [any ImageTransformer]

    /// Creates a pipeline from an array of transformers.
    public init(_ transformers: [any ImageTransformer]) { self.transformers = transformers }

    /// Creates a pipeline from transformers.
    public init(_ transformers: any ImageTransformer...) { self.transformers = transformers }

    /// The keys of all transformers, joined by "-".
    public var key: String {
        var joined = ""
        for (index, transformer) in transformers.enumerated() { joined += (index == 0 ? "" : "-") + transformer.key }
        return joined
    }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize {
        var size = size
        for transformer in transformers { size = size.isEmpty ? .zero : transformer.outputSize(for: size) }
        return size
    }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        var buffer = buffer
        for transformer in transformers { buffer = try transformer.transform(buffer) }
        return buffer
    }
}
