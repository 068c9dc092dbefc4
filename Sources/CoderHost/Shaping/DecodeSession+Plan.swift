package import ImageModel
package import ImageProcessing
package import PluginRuntime

extension DecodeSession {
    /// Plans the same steps for frames that share a byte limit.
    package func shape(_ shape: ImageShape, frameCount: Int) throws(CoderError) -> ImageShape {
        try self.shape(shape.options, shape.finish, frameCount: frameCount)
    }

    /// Returns the color space of the stored pixel values.
    package func colorProfile() throws(CoderError) -> ColorProfile {
        ColorProfile(of: info, metadata: try settledMetadata())
    }

    /// Whether a conversion to sRGB changes the stored pixel values.
    package func differsFromSRGB() throws(CoderError) -> Bool {
        let (profile, format) = (try colorProfile(), info.nativeFormat)
        if case .icc = profile {
            let target = format.channels == .cmyk ? PixelFormat(.rgb, bits: format.bits) : format
            let transform = try ColorTransformCache.shared.transform(from: profile, format, to: .sRGB, target)
            return transform.changesColors
        }
        return profile != .assumed && profile != .sRGB
    }

    /// Whether the pixels look different without the ICC profile.
    var needsProfile: Bool {
        guard let profile = try? colorProfile(), case .icc = profile else { return false }
        return (try? differsFromSRGB()) ?? false
    }

    /// Whether a coder stores the orientation with the pixels of this image as they are.
    ///
    /// - Parameter keepsExif: whether the Exif metadata is written.
    package func keepsOrientation(in coder: CoderDescriptor, keepsExif: Bool) throws(CoderError) -> Bool {
        let pending = pendingOrientation
        if pending == .up || !keepsExif { return pending == .up }
        return coder.storesOrientation(pending, try settledMetadata())
    }

    /// Returns the rectangle of the upright image that is left when a border of one color is removed.
    ///
    /// - Parameters:
    ///   - frame: the pixels as stored.
    ///   - part: the part of the upright image to examine; nil for the whole image.
    /// - Returns: nil if the image has only one color.
    package func trimmed(
        _ frame: PixelBuffer, _ part: PixelRect?, tolerance: Double
    ) throws(CoderError) -> PixelRect? {
        let upright = try PixelConverter.upright(frame, pendingOrientation)
        guard let part else { return try Trim.content(of: upright, tolerance: tolerance) }
        let inside = part.intersection(PixelRect(upright.size))
        if inside.isEmpty { return nil }
        guard var rect = try Trim.content(of: try PixelConverter.cropped(upright, to: inside), tolerance: tolerance)
        else { return nil }
        rect.x += inside.x
        rect.y += inside.y
        return rect
    }
}

extension CoderDescriptor {
    /// Whether an encoder stores an orientation, which needs Exif metadata that states it.
    package func storesOrientation(_ orientation: Orientation, _ metadata: [MetadataBlob]) -> Bool {
        output.carries.contains("orientation") && output.carries.contains("exif")
            && metadata.contains { $0.kind == .exif && ExifOrientation.read($0.bytes) == orientation }
    }
}
