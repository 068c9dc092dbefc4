/// How long a frame is shown: an exact fraction of seconds, kept as stored.
public struct FrameDuration: Sendable, Hashable, CustomStringConvertible {
    public var numerator: UInt32
    public var denominator: UInt32

    public init(_ numerator: UInt32, over denominator: UInt32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    /// Not stored in the file.
    public static let unknown = FrameDuration(0, over: 0)

    public static func milliseconds(_ count: UInt32) -> FrameDuration { FrameDuration(count, over: 1000) }

    /// Milliseconds, for showing; 0 when unknown.
    public var milliseconds: Double {
        denominator == 0 ? 0 : Double(numerator) * 1000 / Double(denominator)
    }

    public var description: String { "\(numerator)/\(denominator) s" }
}

/// How often an animation is played.
public enum LoopCount: Sendable, Hashable {
    /// The file does not say.
    case unknown
    /// Played this many times, 1 being once.
    case plays(Int)
    case infinite

    /// Plays, with 0 for "for ever"; what is unknown plays once.
    public var plays: Int {
        switch self {
        case .unknown: 1
        case .plays(let count): count
        case .infinite: 0
        }
    }
}

/// What happens to a frame's rectangle before the next frame is drawn.
public enum Disposal: UInt32, Sendable, Hashable {
    case keep = 0
    case background = 1
    case previous = 2
}

/// How a frame meets what is on the canvas.
public enum Blend: UInt32, Sendable, Hashable {
    /// Replaces its rectangle.
    case source = 0
    /// Is drawn over it with its alpha.
    case over = 1
}

/// One picture in time, without its pixels.
public struct FrameInfo: Sendable, Hashable {
    /// From 0.
    public var index: Int
    /// On the canvas, in pixels.
    public var rect: PixelRect
    public var duration: FrameDuration
    public var blend: Blend
    public var disposal: Disposal
    public var hasAlpha: Bool
    /// Whether its samples can be decoded without those of any other frame.
    public var isIndependent: Bool

    public init(
        index: Int, rect: PixelRect, duration: FrameDuration = .unknown, blend: Blend = .source,
        disposal: Disposal = .keep, hasAlpha: Bool = false, isIndependent: Bool = true
    ) {
        self.index = index
        self.rect = rect
        self.duration = duration
        self.blend = blend
        self.disposal = disposal
        self.hasAlpha = hasAlpha
        self.isIndependent = isIndependent
    }
}
