import ImageModel

/// A row of one component at the full width of the image.
struct SampleRow {
    let samples: [UInt16]
    let start: Int
}

/// Rows of samples at the full width of the image.
///
/// Halved sides are interpolated like in libjpeg-turbo 3, to the bit: weights of 3/4 and 1/4, in both directions at
/// once if both sides are halved. Everything else is repeated, as are the samples of lossless images.
struct Upsampling {
    enum Kind {
        /// Repeats each sample by these factors; 1 and 1 for a component of the full size.
        case repeated(across: Int, down: Int)
        case halvedWidth
        case halvedHeight
        case halved
    }

    let kind: Kind

    /// Whether a row depends on the rows of the MCUs above and below.
    var needsNeighbors: Bool {
        switch kind {
        case .halvedHeight, .halved: true
        case .repeated, .halvedWidth: false
        }
    }

    init(_ component: ExtendedFrame.Component, of frame: ExtendedFrame) {
        let (across, down) = (frame.mostAcross / component.across, frame.mostDown / component.down)
        // The library interpolates no side of less than three samples.
        let isWide = component.size.width > 2
        kind =
            switch (across, down) {
            case _ where frame.process == .lossless: .repeated(across: across, down: down)
            case (2, 1) where isWide: .halvedWidth
            case (1, 2): .halvedHeight
            case (2, 2) where isWide: .halved
            default: .repeated(across: across, down: down)
            }
    }

    /// The position of row `y` of the image, if the component has the width of the image.
    func place(_ y: Int, in plane: SamplePlane) -> Int? {
        if case .repeated(1, let down) = kind { return plane.offset(y / down) }
        return nil
    }

    /// Fills `row` with row `y` of the image.
    func fill(_ row: inout [UInt16], _ y: Int, from plane: SamplePlane, _ component: ExtendedFrame.Component) {
        let width = component.size.width
        let last = component.size.height - 1
        let source = plane.samples.span
        var target = row.mutableSpan
        switch kind {
        case .repeated(let across, let down):
            let at = plane.offset(y / down)
            var x = 0
            for index in 0..<width {
                let sample = source[at + index]
                for _ in 0..<across where x < target.count {
                    target[x] = sample
                    x += 1
                }
            }
        case .halvedWidth:
            let at = plane.offset(y)
            Self.widen(&target, width, shift: 2, biases: (1, 2)) { Int32(source[at + $0]) }
        case .halvedHeight:
            let (near, far) = (plane.offset(y / 2), plane.offset(Self.neighbor(of: y, last)))
            let bias: Int32 = y % 2 == 0 ? 1 : 2
            for x in 0..<min(width, target.count) {
                target[x] = UInt16(
                    truncatingIfNeeded: (3 * Int32(source[near + x]) + Int32(source[far + x]) + bias) >> 2)
            }
        case .halved:
            let (near, far) = (plane.offset(y / 2), plane.offset(Self.neighbor(of: y, last)))
            Self.widen(&target, width, shift: 4, biases: (8, 7)) {
                3 * Int32(source[near + $0]) + Int32(source[far + $0])
            }
        }
    }

    /// The second nearest row of a component of half the height; at the edges, the nearest.
    private static func neighbor(of y: Int, _ last: Int) -> Int {
        y % 2 == 0 ? max(0, y / 2 - 1) : min(last, y / 2 + 1)
    }

    /// Writes two samples for each value.
    @inline(__always)
    private static func widen(
        _ target: inout MutableSpan<UInt16>, _ width: Int, shift: Int32, biases: (Int32, Int32),
        _ value: (Int) -> Int32
    ) {
        var (before, current) = (value(0), value(0))
        for index in 0..<width {
            let after = index + 1 < width ? value(index + 1) : current
            let left = (3 * current + before + biases.0) >> shift
            let right = (3 * current + after + biases.1) >> shift
            target[2 * index] = UInt16(truncatingIfNeeded: left)
            if 2 * index + 1 < target.count { target[2 * index + 1] = UInt16(truncatingIfNeeded: right) }
            (before, current) = (current, after)
        }
    }
}
