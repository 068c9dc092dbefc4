import Glibc
public import ImageModel

/// Rotates an image around its center.
///
/// Quarter turns move pixels of every format unchanged. If the canvas keeps its size, they are rounded to whole pixels,
/// half a pixel left or up. Other angles are sampled bilinearly on premultiplied values; the corners become
/// transparent, so the format gets an alpha channel, and CMYK becomes RGB.
public struct Rotation: ImageTransformer, Hashable {
    /// The angle, counterclockwise.
    ///
    /// - Units: radians
    package var angle: Double
    /// Whether the canvas grows to hold the whole image; otherwise it keeps its size.
    package var fitsSize: Bool

    /// Creates a rotation by an angle in radians, counterclockwise.
    public init(radians angle: Double, fitsSize: Bool = true) {
        self.angle = angle
        self.fitsSize = fitsSize
    }

    /// The key, for example `Rotation(0.5,fit)` or `Rotation(0.5,keep)`.
    public var key: String { "Rotation(\(keyText(angle)),\(fitsSize ? "fit" : "keep"))" }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize {
        guard isValid, !size.isEmpty else { return .zero }
        if !fitsSize { return size }
        if let quarterTurns { return Self.turns[quarterTurns].applied(to: size) }
        let (width, height) = (Double(size.width), Double(size.height))
        let (across, upwards) = (abs(cos(angle)), abs(sin(angle)))
        // Less than a thousandth of a pixel does not justify another row.
        func rounded(_ length: Double) -> Int { max(1, Int(min(length - 0.001, 1e12).rounded(.up))) }
        return PixelSize(rounded(width * across + height * upwards), rounded(width * upwards + height * across))
    }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        try check(angle, "an angle", in: -Self.largest...Self.largest)
        let canvas = outputSize(for: buffer.size)
        guard let quarterTurns else { return try sampled(buffer, canvas) }
        let turned = try PixelConverter.upright(buffer, Self.turns[quarterTurns])
        return try turned.placed(
            x: (canvas.width - turned.size.width) >> 1, y: (canvas.height - turned.size.height) >> 1, on: canvas)
    }

    /// The largest angle: beyond it floating point is too coarse for a direction.
    private static let largest = 1e6
    private static let turns: [Orientation] = [.up, .left, .down, .right]

    private var isValid: Bool { angle.magnitude <= Self.largest }

    /// The number of quarter turns, if whole; the tolerance covers the rounding of π.
    private var quarterTurns: Int? {
        let turns = angle / (.pi / 2)
        guard isValid, abs(turns - turns.rounded()) < 1e-9 else { return nil }
        return Int(turns.rounded()) & 3
    }

    private func sampled(_ buffer: PixelBuffer, _ canvas: PixelSize) throws(CoderError) -> PixelBuffer {
        let image = try buffer.workable("the rotation")
        let source = try image.mapRows(to: .work) { _ in }
        let result = try PixelBufferPool.shared.take(canvas, image.format.withAlpha, clean: false)
        var work = [UInt16](repeating: 0, count: Self.block.width * 4)
        let (cosine, sine) = (cos(angle), sin(angle))
        let pixel = result.format.bytesPerPixel
        for (columns, rows) in Self.blocks(of: canvas) {
            for y in rows {
                let x = 0.5 - Double(canvas.width) / 2
                let y0 = Double(y) + 0.5 - Double(canvas.height) / 2
                // y grows downwards, so this is the inverse of a counterclockwise rotation.
                let start = (
                    x: x * cosine - y0 * sine + Double(buffer.size.width) / 2,
                    y: x * sine + y0 * cosine + Double(buffer.size.height) / 2
                )
                WorkRow.sample(source, from: start, step: (cosine, sine), columns, into: &work)
                result.withMutableRow(y) { row in
                    var part = row._mutatingExtracting(columns.lowerBound * pixel..<columns.upperBound * pixel)
                    WorkRow.store(work, result.format, into: &part)
                }
            }
        }
        return result
    }

    /// Blocks keep the source rows under a line of samples in the caches, which whole rows of large images exceed.
    private static let block = PixelSize(256, 64)

    private static func blocks(of size: PixelSize) -> [(columns: Range<Int>, rows: Range<Int>)] {
        stride(from: 0, to: size.height, by: block.height).flatMap { y in
            stride(from: 0, to: size.width, by: block.width).map { x in
                (x..<min(x + block.width, size.width), y..<min(y + block.height, size.height))
            }
        }
    }
}
