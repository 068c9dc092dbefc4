internal import CoderPluginKit
internal import ImageModel
internal import Palettes

/// Draws each frame of an animation as the part that changes, so that every shown frame keeps its pixels.
///
/// Keeps the number of frames and their delays. A frame may get another rectangle, disposal, palette and order of rows.
final class GIFDifference {
    /// The frames of the new file.
    struct Result {
        /// By position: the new bytes of images and graphic controls.
        var replaced: [Int: [UInt8]] = [:]
        /// The number of black entries behind the global palette: none, or as many as it has.
        var addedColors = 0
    }

    private let session: RewriteSession
    /// The global palette of the new file; nil if there is none.
    private var global: [UInt32]?
    private let packer = LZWPacker()
    private let repacker: GIFFramePacker
    private var canvas: FrameCanvas
    /// The canvas of a viewer of the original file.
    private var original: [UInt32]
    private var result = Result()
    /// The bytes of frames in the original and in the new file.
    private var counts = (old: 0, new: 0)

    /// The canvases of both viewers, the original one before a frame, a trial, and the indices of a frame.
    private static let bytesPerPixel = FrameCanvas.bytesPerPixel.animation + 16

    /// A form of a frame.
    private struct Form {
        let bytes: [UInt8]
        let rect: ChangedRect
    }

    private init(_ session: RewriteSession, _ screen: GIFScanner.Screen) {
        self.session = session
        global = screen.globalPalette.map { GIFStoredFrameReader.colors($0, of: session.source) }
        repacker = GIFFramePacker(session, globalPalette: screen.globalPalette)
        canvas = FrameCanvas(width: screen.canvas.width, height: screen.canvas.height, mayHaveHoles: true)
        original = canvas.source
    }

    /// Returns the new frames; nil if they are not smaller.
    ///
    /// - Parameter start: the position of the first block.
    /// - Throws: `.limitExceeded`, `.corrupt`, `.truncated`.
    static func replacements(
        _ session: RewriteSession, _ screen: GIFScanner.Screen, from start: Int
    ) throws(CoderError) -> Result? {
        guard try isServed(session, screen, from: start) else { return nil }
        let (source, limits) = (session.source, session.limits)
        let area = screen.canvas.width * screen.canvas.height
        if limits.maxPixels > 0, area > limits.maxPixels { return nil }
        var reader = GIFStoredFrameReader(
            session, canvas: screen.canvas,
            global: screen.globalPalette.map { GIFStoredFrameReader.colors($0, of: source) })
        // The new frames are not larger than the file.
        let reserved = area * bytesPerPixel + source.available
        var difference: GIFDifference?
        defer { if difference != nil { try? session.host.reserve(bytes: -reserved) } }
        var pending: GIFStoredFrame?
        var walk = GIFBlockWalk(source, from: start, host: session.host)
        while let block = try walk.next() {
            session.host.progress(block.range.upperBound, of: 2 * source.available)
            if block.kind == .control, !reader.note(block) { return nil }
            guard case .image(let flags, let dataOffset) = block.kind else { continue }
            guard let frame = try reader.read(block, flags: flags, dataOffset: dataOffset) else { return nil }
            if difference == nil {
                // Without enough memory, the frames are packed one by one.
                do throws(CoderError) { try session.host.reserve(bytes: reserved) } catch { return nil }
                difference = GIFDifference(session, screen)
            }
            guard try difference?.add(frame, behind: pending) == true else { return nil }
            pending = frame
        }
        guard let pending, let difference, try difference.encode(pending, hasNext: false) else { return nil }
        return difference.counts.new < difference.counts.old ? difference.result : nil
    }

    /// Whether a file is an animation of known blocks whose canvas has the declared size.
    private static func isServed(
        _ session: RewriteSession, _ screen: GIFScanner.Screen, from start: Int
    ) throws(CoderError) -> Bool {
        guard session.source.bytes(6..<10) == GIFWriter.u16(screen.canvas.width) + GIFWriter.u16(screen.canvas.height)
        else { return false }
        var count = 0
        var walk = GIFBlockWalk(session.source, from: start, host: session.host)
        while let block = try walk.next() {
            switch block.kind {
            case .image: count += 1
            // It uses up a graphic control, and some viewers draw it.
            case .plainText: return false
            default: break
            }
        }
        return count > 1
    }

    // MARK: Frames

    /// Draws the next frame, and encodes the frame before it.
    private func add(_ frame: GIFStoredFrame, behind pending: GIFStoredFrame?) throws(CoderError) -> Bool {
        let before = frame.disposal == .previous ? original : []
        frame.draw(on: &original, width: canvas.width)
        canvas.next = original
        switch frame.disposal {
        case .keep: break
        case .background: Self.clear(frame.rect, of: &original, width: canvas.width)
        case .previous: original = before
        }
        _ = canvas.examine()
        if let pending, try !encode(pending, hasNext: true) { return false }
        canvas.promote(isKept: false)
        return true
    }

    private static func clear(_ rect: ChangedRect, of image: inout [UInt32], width: Int) {
        for y in rect.rows {
            for place in y * width + rect.left...y * width + rect.right { image[place] = ColorTable.transparent }
        }
    }

    /// Encodes `canvas.source`, the canvas with this frame.
    ///
    /// - Returns: false if there is no form of the frame with these pixels.
    private func encode(_ frame: GIFStoredFrame, hasNext: Bool) throws(CoderError) -> Bool {
        try session.host.checkCancellation()
        let changed = canvas.difference(canvas.source, canvas.prior)
        let chosen =
            hasNext ? canvas.chooseDisposal(changed, mayRestore: true) : FrameDisposal(disposal: frame.disposal)
        let rect = ChangedRect.union(changed, chosen.cleared) ?? .pixel
        var best = try drawn(rect, frame, chosen.disposal)
        let old = frame.block.range.count
        // A part of a frame of nearly the same size seldom is the larger form.
        if best.map({ 2 * $0.bytes.count > old }) ?? true, ChangedRect.union(frame.rect, rect) == frame.rect,
            let form = try stored(frame, chosen.disposal), form.bytes.count < best?.bytes.count ?? .max
        {
            best = form
        }
        guard let best else { return false }
        for place in frame.controls { result.replaced[place] = [] }
        result.replaced[frame.block.range.lowerBound] = best.bytes
        counts.old += old + 8 * frame.controls.count
        counts.new += best.bytes.count
        if chosen.disposal == .previous { return true }
        (canvas.prior, canvas.shown) = (canvas.source, canvas.source)
        if chosen.disposal == .background { canvas.clear(best.rect) }
        return true
    }

    /// Returns a graphic control with another disposal and transparent index; empty if the frame needs none.
    private func control(_ frame: GIFStoredFrame, _ disposal: Disposal, transparent: UInt8?) -> [UInt8] {
        guard frame.control != nil || disposal != .keep || transparent != nil else { return [] }
        var bytes = GIFWriter.control(delay: frame.delay, disposal: disposal, transparent: transparent)
        // The other flags, such as the wish for input.
        if let old = frame.control { bytes[3] |= old[3] & 0xE2 }
        return bytes
    }

    // MARK: Forms

    /// Returns the frame as stored, in fewer bytes if possible; nil if it does not show the same pixels now.
    private func stored(_ frame: GIFStoredFrame, _ disposal: Disposal) throws(CoderError) -> Form? {
        var trial = canvas.prior
        frame.draw(on: &trial, width: canvas.width)
        guard trial == canvas.source else { return nil }
        let transparent = frame.control.flatMap { $0[3] & 1 != 0 ? $0[6] : nil }
        if let place = frame.controls.last {
            _ = try repacker.packed(GIFBlock(kind: .control, range: place..<place + 8))
        }
        let image = try repacker.packed(frame.block) ?? session.source.bytes(frame.block.range)
        return Form(bytes: control(frame, disposal, transparent: transparent) + image, rect: frame.rect)
    }

    /// Returns the changed pixels of a rectangle; nil if they have too many colors.
    private func drawn(
        _ rect: ChangedRect, _ frame: GIFStoredFrame, _ disposal: Disposal
    ) throws(CoderError) -> Form? {
        guard let exact = GIFExactPalette(canvas, in: rect) else { return nil }
        if let colors = global, colors.count < 256, exact.lacksRoom(in: colors) {
            // Once for the file, and cheaper than a palette for each frame.
            global = colors + [UInt32](repeating: 0xFF00_0000, count: colors.count)
            result.addedColors += colors.count
            counts.new += 3 * colors.count
        }
        var best: Form?
        for palette in exact.choices(global) {
            FrameIndexer.exact(&canvas, in: rect, palette.table)
            var symbols: [UInt8] = []
            symbols.reserveCapacity(rect.width * rect.height)
            for y in rect.rows {
                symbols += canvas.indices[canvas.place(rect.left, y)..<canvas.place(rect.right + 1, y)]
            }
            let bits = max(2, FramePalette.bits(Int(symbols.max() ?? 0) + 1))
            let choices = PixelChoices(
                source: canvas.source, prior: canvas.prior, shown: canvas.shown,
                keys: PixelChoices.Keys(source: canvas.source, shown: canvas.shown), table: palette.table,
                nearest: nil, tolerance: 0, indexLimit: 1 << bits, rect: rect, canvasWidth: canvas.width)
            choices.closeGaps(&symbols)
            let packing = FramePacking(
                packer: packer, choices: choices, bits: bits, host: session.host, reportsProgress: false)
            let data = try packing.smallest(&symbols)
            let bytes =
                control(frame, disposal, transparent: palette.table.transparentIndex)
                + GIFWriter.descriptor(rect, colors: palette.isGlobal ? nil : palette.table.colors) + data
            if bytes.count < best?.bytes.count ?? .max { best = Form(bytes: bytes, rect: rect) }
        }
        return best
    }
}
