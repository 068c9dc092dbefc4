public import ImageModel
import PluginCatalogue
import PluginRuntime

extension CodersManager {
    /// Returns the output format for images whose caller names none; nil if no installed coder writes such images.
    ///
    /// The configuration's formats for stills precede those of the coders. The coders' manifests declare how well their
    /// formats suit as a default; a coder without a declaration comes after them, and the host's own formats last.
    /// - Parameters:
    ///   - animated: whether the image is an animation.
    ///   - alpha: whether the still has alpha; ignored for animations.
    public func defaultFormat(animated: Bool, alpha: Bool) -> ImageFormat? {
        let kind: PluginManifest.ImageKind = animated ? .animation : alpha ? .alpha : .opaque
        switch kind {
        case .alpha: if let format = configuration.defaultAlphaFormat { return format }
        case .opaque: if let format = configuration.defaultOpaqueFormat { return format }
        case .animation: break
        }
        let role: CoderRoles = animated ? .encodeAnimation : .encode
        let able = ranked(registry.snapshot) { descriptor in
            guard descriptor.roles.contains(role) else { return nil }
            return descriptor.formats.first.map { ($0.id, nil) }
        }
        // Of equal keys, `min` returns the first, which is the best coder.
        return able.min { $0.descriptor.order(asDefaultFor: kind) < $1.descriptor.order(asDefaultFor: kind) }?.format
    }

    /// Returns the output format for a still: the named one, or else the default.
    ///
    /// - Throws: `.noCoder` if no installed coder writes stills.
    package func stillFormat(_ named: ImageFormat?, alpha: Bool) throws(CoderError) -> ImageFormat {
        guard let format = named ?? defaultFormat(animated: false, alpha: alpha) else {
            throw CoderError(.noCoder, "no usable coder writes images", hint: "run coderhost list --formats")
        }
        return format
    }
}

extension CoderDescriptor {
    /// Returns the key by which coders are ordered to select a default format; the smallest one is selected.
    ///
    /// A plugin never replaces the declared format of a more trusted one.
    fileprivate func order(asDefaultFor kind: PluginManifest.ImageKind) -> (group: Int, tier: Int, rank: Int) {
        if let rank = output.defaultRanks[kind] { return (0, -tier.rawValue, -rank) }
        return (tier == .builtIn ? 2 : 1, -tier.rawValue, 0)
    }
}
