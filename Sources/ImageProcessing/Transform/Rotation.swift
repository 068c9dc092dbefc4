import Glibc
public import ImageModel

/// Turns a picture around its middle.
///
/// Quarter turns move pixels of every format and change none; on a canvas that keeps its size they are placed on whole
/// pixels, half a pixel to the left or upwards where the middle falls between. Other angles are sampled bilinearly on
/// premultiplied values; the corners are clear, so the format gets an alpha channel, and ink becomes RGB.
public struct Rotation: ImageTransformer, Hashable {
    /// Counterclockwise.
    ///
    /// - Units: radians
    public var angle: Double
    /// Whether the canvas grows so that nothing is cut off; without it the size stays.
    public var fitsSize: Bool

    public init(radians angle: Double, fitsSize: Bool = true) {
        self.angle = angle
        self.fitsSize = fitsSize
    }

    /// For example `Rotation(0.5,fit)` or `Rotation(0.5,keep)`.
    public var key: String { "Rotation(\(keyText(angle)),\(fitsSize ? "fit" : "keep"))" }

    public func outputSize(for size: PixelSize) -> PixelSize {
        guard isValid, !size.isEmpty else { return .zero }
        if !fitsSize { return size }
        if let quarterTurns { return Self.turns[quarterTurns].applied(to: size) }
        let (width, height) = (Double(size.width), Double(size.height))
        let (across, upwards) = (abs(cos(angle)), abs(sin(angle)))
        // A thousandth of a pixel more is not worth a row.
        func rounded(_ length: Double) -> Int { max(1, Int(min(length - 0.001, 1e12).rounded(.up))) }
        return PixelSize(rounded(width * across + height * upwards), rounded(width * upwards + height * across))
    }

    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        try check(angle, "an angle", in: -Self.largest...Self.largest)
        let canvas = outputSize(for: buffer.size)
        guard let quarterTurns else { return try sampled(buffer, canvas) }
        let turned = try PixelConverter.upright(buffer, Self.turns[quarterTurns])
        return try turned.placed(
            x: (canvas.width - turned.size.width) >> 1, y: (canvas.height - turned.size.height) >> 1, on: canvas)
    }

    /// Beyond it an angle in floating point says nothing about a direction any more.
    private static let largest = 1e6
    private static let turns: [Orientation] = [.up, .left, .down, .right]

    private var isValid: Bool { angle.magnitude <= Self.largest }

    /// How often a quarter, if it is whole; π in floating point is not quite π.
    private var quarterTurns: Int? {
        let turns = angle / (.pi / 2)
        guard isValid, abs(turns - turns.rounded()) < 1e-9 else { return nil }
        return Int(turns.rounded()) & 3
    }

    private func sampled(_ buffer: PixelBuffer, _ canvas: PixelSize) throws(CoderError) -> PixelBuffer {
        let picture = try buffer.workable("the rotation")
        let source = try picture.mapRows(to: .work) { _ in }
        let result = try PixelBufferPool.shared.take(canvas, picture.format.withAlpha, clean: false)
        var work = [UInt16](repeating: 0, count: canvas.width * 4)
        let (cosine, sine) = (cos(angle), sin(angle))
        for y in 0..<canvas.height {
            let x = 0.5 - Double(canvas.width) / 2
            let y0 = Double(y) + 0.5 - Double(canvas.height) / 2
            // y grows downwards: this is the inverse of a turn against the clock.
            let start = (
                x: x * cosine - y0 * sine + Double(buffer.size.width) / 2,
                y: x * sine + y0 * cosine + Double(buffer.size.height) / 2
            )
            WorkRow.sample(source, from: start, step: (cosine, sine), into: &work)
            result.storeWork(y, from: work)
        }
        return result
    }
}
