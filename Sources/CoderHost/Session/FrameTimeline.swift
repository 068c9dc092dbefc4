import ImageModel

/// The frames found so far, and the frame from which each can be rebuilt.
///
/// A frame starts on an empty canvas if it replaces the whole canvas, or if the canvas was cleared. Such a frame is a
/// key frame, unless its samples depend on another frame. Every other frame is replayed from the nearest key frame.
struct FrameTimeline {
    private struct Entry {
        var frame: FrameInfo
        /// The first frame to draw on an empty canvas for this one.
        var start: Int
        /// The same for the canvas below it; nil if that is empty.
        var base: Int?
    }

    private var entries: [Entry] = []
    private let canvas: PixelRect

    init(canvas: PixelSize) { self.canvas = PixelRect(canvas) }

    var count: Int { entries.count }
    subscript(index: Int) -> FrameInfo { entries[index].frame }

    /// Appends the next frame.
    mutating func append(_ frame: FrameInfo) {
        let base = entries.last.flatMap(canvasAfter)
        let hidesAll = covers(frame) && frame.blend == .source
        entries.append(Entry(frame: frame, start: hidesAll ? frame.index : base ?? frame.index, base: base))
    }

    /// Returns the start of the canvas that a frame leaves; nil if it leaves nothing.
    private func canvasAfter(_ entry: Entry) -> Int? {
        switch entry.frame.disposal {
        case .keep: entry.start
        // Outside its rectangle, the canvas is unchanged.
        case .background: covers(entry.frame) ? nil : entry.base
        case .previous: entry.base
        }
    }

    private func covers(_ frame: FrameInfo) -> Bool { frame.rect.contains(canvas) }

    /// Returns the first frame to draw on an empty canvas for frame `index`.
    func start(of index: Int) -> Int { entries[index].start }

    /// Whether the frame depends on no earlier frame, neither for the pixels below it nor for its samples in the coder.
    func isKeyFrame(_ index: Int) -> Bool {
        entries[index].start == index && (index == 0 || entries[index].frame.isIndependent)
    }

    /// Whether the canvas is valid for the next frame after a replay of `index`.
    ///
    /// It is not if the frame hides an area that was not rebuilt and that its disposal uncovers.
    func goesOn(after index: Int) -> Bool {
        let entry = entries[index]
        return entry.frame.disposal != .previous || entry.base == nil || entry.start != index
    }
}
