import HostSystem
public import ImageModel

/// Draws another image over an image, for example a watermark.
///
/// An overlay that is larger than the image within its margins is reduced. Pixels that the overlay does not touch stay
/// bit-identical. A gray image becomes RGB if the overlay has colors. The transformer does not convert colors: pass an
/// overlay in the color space of the image.
public struct Overlay: ImageTransformer {
    /// The overlay.
    private let image: PixelBuffer
    /// Format, size and digest of the overlay.
    private let identity: String
    /// The edge or corner at which the overlay is drawn.
    private let gravity: Gravity
    /// The weight of the overlay, 0 … 1.
    private let opacity: Double
    /// The distance from the edges, and between tiles.
    ///
    /// - Units: pixels
    private let margin: Int
    /// Whether the overlay is repeated over the whole image.
    private let isTiled: Bool

    /// Creates an overlay.
    ///
    /// - Parameters:
    ///   - opacity: 0 … 1.
    ///   - margin: the distance from the edges and between tiles in pixels, 0 … 65,535.
    ///   - isTiled: whether to repeat the overlay over the whole image, from the top left corner.
    public init(
        _ image: PixelBuffer, gravity: Gravity = .southeast, opacity: Double = 1, margin: Int = 0,
        isTiled: Bool = false
    ) {
        self.image = image
        self.gravity = gravity
        self.opacity = opacity
        self.margin = margin
        self.isTiled = isTiled
        var hash = SHA256()
        for y in 0..<image.size.height { image.withRow(y) { hash.update($0) } }
        identity = "\(image.size),\(image.format),\(SHA256.hex(hash.finalize()).prefix(32))"
    }

    /// The key, for example `Overlay(64x64,rgba8,8d5e…,southeast,0.6,16)`; a tiled overlay has `tile` at the end.
    public var key: String {
        "Overlay(\(identity),\(gravity.rawValue),\(keyText(opacity)),\(margin)\(isTiled ? ",tile" : ""))"
    }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize {
        (0...1).contains(opacity) && (0...65_535).contains(margin) && !image.size.isEmpty ? size : .zero
    }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        try check(opacity, "an opacity", in: 0...1)
        try check(Double(margin), "a margin", in: 0...65_535)
        guard !image.size.isEmpty else { throw .invalidArgument("the overlay has no pixels") }
        let base = try buffer.workable("the overlay")
        let drawn = try fitted(try image.workable("the overlay"), to: base.size)
        let hasColors = drawn.format.channels.count > 2
        let format = hasColors ? base.format.withColors : base.format
        let result = try PixelBufferPool.shared.take(base.size, format, clean: false)
        // The buffer belongs to the caller, who may use it for another result.
        let converted = try PixelConverter.convert(base, to: format)
        copyPixels(PixelRect(base.size), of: converted, into: result, x: 0, y: 0)
        guard isTiled else {
            try draw(drawn, at: place(of: drawn.size, in: base.size), on: result)
            return result
        }
        try drawTiles(drawn, on: result)
        return result
    }

    /// Returns the overlay, reduced to the image within its margins.
    private func fitted(_ overlay: PixelBuffer, to size: PixelSize) throws(CoderError) -> PixelBuffer {
        if isTiled { return overlay }
        let room = PixelSize(max(1, size.width - 2 * margin), max(1, size.height - 2 * margin))
        return try resized(overlay, crop: nil, to: overlay.size.scaled(to: room))
    }

    /// Returns the place of an overlay that is not repeated, moved into the image if the margin is too wide.
    private func place(of overlay: PixelSize, in size: PixelSize) -> PixelRect {
        var place = gravity.place(overlay, in: size, margin: margin)
        place.x = min(max(0, place.x), size.width - overlay.width)
        place.y = min(max(0, place.y), size.height - overlay.height)
        return place
    }

    /// Draws the overlay in every tile, row by row: the cost depends on the pixels, not on the number of tiles.
    private func drawTiles(_ overlay: PixelBuffer, on target: PixelBuffer) throws(CoderError) {
        let (size, width) = (target.size, overlay.size.width)
        let starts = Array(stride(from: margin, to: size.width, by: width + margin))
        guard let last = starts.last, margin < size.height else { return }
        let weights = [UInt16](repeating: UInt16((opacity * 65_535).rounded()), count: width)
        let strip = try PixelBufferPool.shared.take(PixelSize(size.width, 1), target.format, clean: false)
        var source = [UInt16](repeating: 0, count: width * 4)
        let clear = [UInt16](repeating: 0, count: margin * 4)
        var work = [UInt16](repeating: 0, count: size.width * 4)
        for y in margin..<size.height {
            let row = (y - margin) % (overlay.size.height + margin)
            if row >= overlay.size.height { continue }
            overlay.loadWork(row, into: &source)
            if opacity < 1 { WorkRow.cover(&source, weights) }
            let tile = source + clear
            var tiles = clear
            tiles.reserveCapacity((last + width + margin) * 4)
            for _ in starts { tiles += tile }
            target.loadWork(y, into: &work)
            WorkRow.blend(&work, Array(tiles.prefix(work.count)), .normal)
            strip.storeWork(0, from: work)
            // The pixels between the tiles keep their values exactly.
            if margin == 0 {
                copyPixels(PixelRect(strip.size), of: strip, into: target, x: 0, y: y)
                continue
            }
            for x in starts {
                let part = PixelRect(x: x, y: 0, width: min(width, size.width - x), height: 1)
                copyPixels(part, of: strip, into: target, x: x, y: y)
            }
        }
    }

    /// Draws the visible part of the overlay.
    private func draw(_ overlay: PixelBuffer, at place: PixelRect, on target: PixelBuffer) throws(CoderError) {
        let visible = place.intersection(PixelRect(target.size))
        if visible.isEmpty { return }
        let part = try PixelConverter.cropped(
            overlay, to: PixelRect(x: 0, y: 0, width: visible.width, height: visible.height))
        let below = try PixelConverter.cropped(target, to: visible)
        let strip = try PixelBufferPool.shared.take(visible.size, target.format, clean: false)
        let weights = [UInt16](repeating: UInt16((opacity * 65_535).rounded()), count: visible.width)
        var source = [UInt16](repeating: 0, count: visible.width * 4)
        var work = source
        for y in 0..<visible.height {
            part.loadWork(y, into: &source)
            if opacity < 1 { WorkRow.cover(&source, weights) }
            below.loadWork(y, into: &work)
            WorkRow.blend(&work, source, .normal)
            strip.storeWork(y, from: work)
        }
        copyPixels(PixelRect(visible.size), of: strip, into: target, x: visible.x, y: visible.y)
    }
}
