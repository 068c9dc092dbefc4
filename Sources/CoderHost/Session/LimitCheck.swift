import ImageModel
import PluginRuntime

/// Checks the properties in a header against the limits before memory is allocated.
package enum LimitCheck {
    /// The size from which the compression ratio is checked; small files with a high ratio cost little.
    private static let ratioFrom = 64 << 20

    /// Checks a header.
    ///
    /// - Parameter roles: the coder's roles. If it can decode a part or a smaller size, the canvas may exceed the
    ///   limits; the decoded part is checked later.
    static func examine(
        _ info: ImageInfo, _ source: ImageSource, _ limits: DecodeLimits, roles: CoderRoles = []
    ) throws(CoderError) {
        guard !info.size.isEmpty, let area = info.size.area else {
            throw .corrupt("the image has an invalid size of \(info.size) pixels")
        }
        if limits.maxSourcePixels > 0, area > limits.maxSourcePixels {
            throw .limit("source-pixels", allowed: limits.maxSourcePixels, requested: area)
        }
        if costsByPart(info, roles) { return }
        try examineShape(info.size, limits)
        let bytes = try examineBytes(of: info.size, info.nativeFormat, limits)
        if let count = info.frameCount { try examine(frameCount: count, of: info.size, limits) }
        try examineRatio(of: bytes, source, limits)
    }

    private static func examineRatio(
        of bytes: Int, _ source: ImageSource, _ limits: DecodeLimits
    ) throws(CoderError) {
        guard limits.maxRatio > 0, source.isComplete, bytes > ratioFrom else { return }
        let ratio = bytes / max(1, source.count)
        if ratio > limits.maxRatio { throw .limit("ratio", allowed: limits.maxRatio, requested: ratio) }
    }

    /// Whether a coder reads only the decoded part or size, so the canvas size has no cost.
    static func costsByPart(_ info: ImageInfo, _ roles: CoderRoles) -> Bool {
        guard info.frameCount == 1 else { return false }
        return info.isScalable || info.regionCost == .tiles && !roles.isDisjoint(with: [.scale, .region])
    }

    private static func examineShape(_ size: PixelSize, _ limits: DecodeLimits) throws(CoderError) {
        let side = max(size.width, size.height)
        if limits.maxSide > 0, side > limits.maxSide {
            throw .limit("side", allowed: limits.maxSide, requested: side)
        }
        let area = size.area ?? .max
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
    }

    /// Checks the size of a new image against the limits before memory is allocated.
    package static func examine(made size: PixelSize, _ format: PixelFormat, _ limits: DecodeLimits) throws(CoderError)
    {
        guard !size.isEmpty else { throw .invalidArgument("an image of \(size) pixels cannot exist") }
        try examineShape(size, limits)
        try examineBytes(of: size, format, limits)
    }

    /// Checks the size that will be decoded: the canvas, a part, or a smaller size.
    static func examine(
        decoded size: PixelSize, _ format: PixelFormat, _ source: ImageSource, _ limits: DecodeLimits
    ) throws(CoderError) {
        try examineShape(size, limits)
        try examineRatio(of: examineBytes(of: size, format, limits), source, limits)
    }

    /// Returns the bytes of an image if they are within the limit.
    @discardableResult
    static func examineBytes(
        of size: PixelSize, _ format: PixelFormat, _ limits: DecodeLimits
    ) throws(CoderError) -> Int {
        let (_, bytes) = try PixelBuffer.layout(size: size, format: format)
        if limits.maxDecodedBytes > 0, bytes > limits.maxDecodedBytes {
            throw .limit("memory", allowed: limits.maxDecodedBytes, requested: bytes)
        }
        return bytes
    }

    static func examine(frameCount: Int, of size: PixelSize, _ limits: DecodeLimits) throws(CoderError) {
        if limits.maxFrames > 0, frameCount > limits.maxFrames {
            throw .limit("frames", allowed: limits.maxFrames, requested: frameCount)
        }
        let (total, overflow) = (size.area ?? .max).multipliedReportingOverflow(by: frameCount)
        if limits.maxTotalPixels > 0, overflow || total > limits.maxTotalPixels {
            throw .limit(
                "total", allowed: limits.maxTotalPixels, requested: overflow ? .max : total)
        }
    }
}
