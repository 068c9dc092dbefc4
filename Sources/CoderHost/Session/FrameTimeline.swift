import ImageModel

/// The frames met so far, and from which one each can be rebuilt.
///
/// A frame begins on an empty canvas when nothing below it is seen (it replaces the whole canvas) or nothing is below it
/// (what came before was cleared away). Such frames are the key frames, unless their samples build on those of another;
/// every other frame is replayed from the nearest.
struct FrameTimeline {
    private struct Entry {
        var frame: FrameInfo
        /// The first frame that has to be drawn, on an empty canvas, to see this one.
        var start: Int
        /// The same for the canvas below it; nil: that is empty.
        var base: Int?
    }

    private var entries: [Entry] = []
    private let canvas: PixelRect

    init(canvas: PixelSize) { self.canvas = PixelRect(canvas) }

    var count: Int { entries.count }
    subscript(index: Int) -> FrameInfo { entries[index].frame }

    /// Notes the next frame.
    mutating func append(_ frame: FrameInfo) {
        let base = entries.last.flatMap(canvasAfter)
        let hidesAll = covers(frame) && frame.blend == .source
        entries.append(Entry(frame: frame, start: hidesAll ? frame.index : base ?? frame.index, base: base))
    }

    /// Where the canvas begins that a frame leaves to the next one; nil: it leaves nothing.
    private func canvasAfter(_ entry: Entry) -> Int? {
        switch entry.frame.disposal {
        case .keep: entry.start
        // Outside of its rectangle the canvas is what it was before.
        case .background: covers(entry.frame) ? nil : entry.base
        case .previous: entry.base
        }
    }

    private func covers(_ frame: FrameInfo) -> Bool { frame.rect.contains(canvas) }

    /// The first frame to draw on an empty canvas so that frame `index` comes out right.
    func start(of index: Int) -> Int { entries[index].start }

    /// Whether the frame needs none of the frames before it: neither their pixels below it, nor their samples within
    /// the coder.
    func isKeyFrame(_ index: Int) -> Bool {
        entries[index].start == index && (index == 0 || entries[index].frame.isIndependent)
    }

    /// Whether the canvas is right for the next frame after `index` was replayed from its start.
    ///
    /// Not where it hides a canvas that was not rebuilt, and uncovers it again.
    func goesOn(after index: Int) -> Bool {
        let entry = entries[index]
        return entry.frame.disposal != .previous || entry.base == nil || entry.start != index
    }
}
