import CoderHost
import ImageModel

/// The formats of outputs.
extension ConvertJob {
    /// The format of `--format`, if there is exactly one.
    private var format: ImageFormat? { renditions.formats.count == 1 ? renditions.formats[0] : nil }

    /// Returns the format from `--format` or the output's file extension; nil if neither is given.
    func format(of output: OutputTarget.Name) -> ImageFormat? {
        if let format { return format }
        // A device such as /dev/null has no file extension.
        guard !output.hasFormatPlaceholder, output.path != "-", let suffix = output.suffix else { return nil }
        // An unknown file extension is an error; it does not select the default format.
        return host.manager.format(ofExtension: suffix) ?? ImageFormat(suffix)
    }

    /// Whether a coder that the options allow writes a format.
    func writes(_ format: ImageFormat) -> Bool {
        encode.encoder == nil
            ? host.manager.writes(format)
            : !encode.stillEncoders(format, host).isEmpty || !encode.animationEncoders(format, host).isEmpty
    }

    /// Returns the default output format.
    func usualFormat(_ session: DecodeSession, isAnimation: Bool) throws(CoderError) -> ImageFormat {
        let manager = host.manager
        let keeps =
            isAnimation
            ? !manager.animationEncoders(for: session.format).isEmpty
            : style.keepsFormat && manager.canEncode(to: session.format)
        return try manager.stillFormat(keeps ? session.format : nil, alpha: session.info.hasAlpha)
    }

    /// Warns that an output is an animation, if its format is better known for stills: the animation then has another
    /// name, and many viewers show only its first frame.
    func noteAnimation(_ session: DecodeSession, _ encoder: CoderDescriptor, _ format: ImageFormat) {
        guard session.coder.id != encoder.id, let own = encoder.formats.first?.id, own != format else { return }
        session.context.warn(
            "the output is an animation (\(own)); --first-frame or --frame N writes a still image, "
                + "coderhost frames extract writes all frames, -f \(own) omits this warning")
    }

    /// Whether a coder has this file extension.
    func isKnown(_ suffix: String) -> Bool {
        host.manager.coders.contains { $0.descriptor.formats.contains { $0.extensions.contains(suffix) } }
    }
}
