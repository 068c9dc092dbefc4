internal import Palettes

/// A rectangle by its sides, all inclusive.
struct ChangedRect: Equatable {
    var left, top, right, bottom: Int

    /// The first pixel of the canvas.
    static let pixel = ChangedRect(left: 0, top: 0, right: 0, bottom: 0)

    var rows: ClosedRange<Int> { top...bottom }
    var width: Int { right - left + 1 }
    var height: Int { bottom - top + 1 }

    static func union(_ a: ChangedRect?, _ b: ChangedRect?) -> ChangedRect? {
        guard let a, let b else { return a ?? b }
        return ChangedRect(
            left: min(a.left, b.left), top: min(a.top, b.top), right: max(a.right, b.right),
            bottom: max(a.bottom, b.bottom))
    }
}

/// The pixels an encoder works on: the frames to encode, and the canvas of a viewer.
struct FrameCanvas {
    /// The memory of all images together; equal images share their memory.
    static let bytesPerPixel = (still: 10, animation: 19, keys: 8)

    let width: Int
    let height: Int
    /// The frame to encode.
    var source: [UInt32]
    /// The frame that `shown` was drawn for; 0 in cleared areas.
    var prior: [UInt32]
    /// The canvas of a viewer before the frame is drawn.
    var shown: [UInt32]
    /// The frame after `source`.
    var next: [UInt32]
    /// By position: the index into the palette of the frame.
    var indices: [UInt8]
    private(set) var transparency: Transparency
    /// Where `next` differs from `source`; computed on demand.
    var nextChange: ChangedRect?
    /// Where `source` differs from `prior`, if known.
    var knownChange: ChangedRect?

    /// Where pixels are transparent.
    struct Transparency {
        /// Whether frames have an alpha channel.
        let isPossible: Bool
        /// Whether a pixel of `source` is.
        var isInSource = false
        /// Whether a pixel of `next` is.
        var isInNext = false
    }

    init(width: Int, height: Int, mayHaveHoles: Bool) {
        self.width = width
        self.height = height
        transparency = Transparency(isPossible: mayHaveHoles)
        let count = width * height
        let empty = [UInt32](repeating: ColorTable.transparent, count: count)
        (source, prior, shown, next) = (empty, empty, empty, empty)
        indices = [UInt8](repeating: 0, count: count)
    }

    @inline(__always)
    func place(_ x: Int, _ y: Int) -> Int { y * width + x }

    var whole: ChangedRect { ChangedRect(left: 0, top: 0, right: width - 1, bottom: height - 1) }

    /// Returns where two of the images differ.
    func difference(_ a: [UInt32], _ b: [UInt32]) -> ChangedRect? {
        var result: ChangedRect?
        for y in 0..<height {
            guard let range = PixelRows.difference(a, b, in: place(0, y)..<place(width, y)) else { continue }
            let (left, right) = (range.lowerBound - y * width, range.upperBound - y * width)
            result = ChangedRect.union(result, ChangedRect(left: left, top: y, right: right, bottom: y))
        }
        return result
    }

    /// Returns where a pixel is visible in `a` but not in `b`.
    func holes(from a: [UInt32], to b: [UInt32]) -> ChangedRect? {
        var result: ChangedRect?
        for y in 0..<height {
            guard let range = PixelRows.holes(from: a, to: b, in: place(0, y)..<place(width, y)) else { continue }
            let (left, right) = (range.lowerBound - y * width, range.upperBound - y * width)
            result = ChangedRect.union(result, ChangedRect(left: left, top: y, right: right, bottom: y))
        }
        return result
    }

    /// Compares a frame that was just read into `next` with the frame before it; returns whether they differ.
    mutating func examine() -> Bool {
        nextChange = difference(next, source)
        transparency.isInNext = transparency.isPossible && PixelRows.opaque(next, in: 0..<next.count) < next.count
        return nextChange != nil
    }

    /// Makes the next frame the one to encode.
    ///
    /// - Parameter isKept: whether `prior` is the frame encoded before it.
    mutating func promote(isKept: Bool) {
        swap(&source, &next)
        transparency.isInSource = transparency.isInNext
        knownChange = isKept ? nextChange : nil
    }

    /// Updates the viewer's canvas, drawn by the indices of a rectangle.
    mutating func settle(_ rect: ChangedRect, _ symbols: [UInt8], _ table: ColorTable) {
        var colors = table.colors
        colors += [UInt32](repeating: ColorTable.transparent, count: 256 - colors.count)
        var number = 0
        for y in rect.rows {
            for place in place(rect.left, y)..<place(rect.right + 1, y) {
                let color = colors[Int(symbols[number])]
                if color != ColorTable.transparent { shown[place] = color }
                number += 1
            }
        }
        swap(&prior, &source)
    }

    /// Whether a frame has at most this many colors.
    func hasFewColors(limit: Int) -> Bool {
        var table = ColorTable(limit: limit + 1)
        _ = table.index(adding: ColorTable.transparent)
        var last = ColorTable.transparent
        for color in source where color != last {
            if table.index(adding: color) == nil { return false }
            last = color
        }
        return true
    }

    /// Clears a rectangle, as a viewer does.
    mutating func clear(_ rect: ChangedRect) {
        for y in rect.rows {
            for place in place(rect.left, y)..<place(rect.right + 1, y) {
                shown[place] = ColorTable.transparent
                prior[place] = ColorTable.transparent
            }
        }
    }
}
