/// How long a frame is shown: an exact fraction of seconds, kept as stored.
public struct FrameDuration: Sendable, Hashable, CustomStringConvertible {
    /// The number of units.
    public var numerator: UInt32
    /// The number of units per second; 0 when unknown.
    public var denominator: UInt32

    /// Creates a duration of `numerator`/`denominator` seconds.
    public init(_ numerator: UInt32, over denominator: UInt32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    /// The file does not store a duration.
    public static let unknown = FrameDuration(0, over: 0)

    /// Returns a duration in milliseconds.
    public static func milliseconds(_ count: UInt32) -> FrameDuration { FrameDuration(count, over: 1000) }

    /// The duration in milliseconds, for display; 0 when unknown.
    public var milliseconds: Double {
        denominator == 0 ? 0 : Double(numerator) * 1000 / Double(denominator)
    }

    /// The value as text.
    public var description: String { "\(numerator)/\(denominator) s" }
}

/// The number of times an animation is played.
public enum LoopCount: Sendable, Hashable {
    /// The file does not state a count.
    case unknown
    /// Played this many times; 1 plays it once.
    case plays(Int)
    /// Played without end.
    case infinite

    /// The number of plays, 0 for infinite; an unknown count plays once.
    package var plays: Int {
        switch self {
        case .unknown: 1
        case .plays(let count): count
        case .infinite: 0
        }
    }
}

/// What happens to a frame's rectangle before the next frame is drawn.
public enum Disposal: UInt32, Sendable, Hashable {
    /// The rectangle stays as it is.
    case keep = 0
    /// The rectangle becomes transparent.
    case background = 1
    /// The rectangle becomes as it was before the frame.
    case previous = 2
}

/// How a frame is combined with the canvas.
public enum Blend: UInt32, Sendable, Hashable {
    /// The frame replaces its rectangle.
    case source = 0
    /// The frame is drawn over its rectangle, using its alpha.
    case over = 1
}

/// One image in time, without its pixels.
public struct FrameInfo: Sendable, Hashable {
    /// The frame's position in the animation, from 0.
    public var index: Int
    /// The part of the canvas that the frame covers, in pixels.
    public var rect: PixelRect
    /// The time for which the frame is shown.
    public var duration: FrameDuration
    /// How the frame is combined with the canvas.
    package var blend: Blend
    /// What happens to the frame's rectangle afterwards.
    package var disposal: Disposal
    /// Whether the frame has an alpha channel.
    public var hasAlpha: Bool
    /// Whether the frame can be decoded without any other frame.
    package var isIndependent: Bool
    /// Whether ``Blend/over`` uses the fixed-point arithmetic of the contract (`CPI_FRAME_FIXED_POINT`).
    package var blendsInFixedPoint: Bool

    /// Creates the description of a frame.
    public init(
        index: Int, rect: PixelRect, duration: FrameDuration = .unknown, blend: Blend = .source,
        disposal: Disposal = .keep, hasAlpha: Bool = false, isIndependent: Bool = true,
        blendsInFixedPoint: Bool = false
    ) {
        self.index = index
        self.rect = rect
        self.duration = duration
        self.blend = blend
        self.disposal = disposal
        self.hasAlpha = hasAlpha
        self.isIndependent = isIndependent
        self.blendsInFixedPoint = blendsInFixedPoint
    }
}
