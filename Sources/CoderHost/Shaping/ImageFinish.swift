package import ImageModel
package import ImageProcessing

/// The steps after those of ``DecodeOptions``, in the order of the properties.
package struct ImageFinish: Sendable {
    /// The color under transparent pixels, and around an image that does not fill its box.
    package var background: RGBAColor?
    /// The target color profile, and whether to embed it; replaces the colors of the options.
    package var colors: (profile: ColorProfile, embeds: Bool)?
    /// The transformer of the pixels.
    package var transformer: (any ImageTransformer)?

    /// Creates no steps.
    package init() {}

    /// Whether all pixels stay unchanged.
    package var isEmpty: Bool { background == nil && colors == nil && transformer == nil }
}
