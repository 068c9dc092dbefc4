internal import Palettes

/// Chooses the palette of a rectangle whose changed pixels keep their colors.
struct GIFExactPalette {
    /// The colors of the changed pixels.
    private let used: [UInt32]
    /// Whether a pixel of the rectangle stays, so that an index must draw nothing.
    private let needsSkip: Bool

    /// - Returns: nil if the pixels have more colors than a palette, or if one must become transparent.
    init?(_ canvas: FrameCanvas, in rect: ChangedRect) {
        var table = ColorTable()
        var needsSkip = false
        let (source, prior) = (canvas.source, canvas.prior)
        for y in rect.rows {
            var last = ColorTable.transparent
            for place in canvas.place(rect.left, y)..<canvas.place(rect.right + 1, y) {
                let color = source[place]
                if color == prior[place] {
                    needsSkip = true
                } else if color != last {
                    if color == ColorTable.transparent || table.index(adding: color) == nil { return nil }
                    last = color
                }
            }
        }
        (used, self.needsSkip) = (table.colors, needsSkip)
    }

    /// Whether a global palette has all colors of the changed pixels, but no free entry for an index that draws nothing.
    func lacksRoom(in global: [UInt32]) -> Bool {
        if !needsSkip { return false }
        let table = ColorTable(global)
        let indices = Set(used.map { table.index(of: $0) })
        return !indices.contains(nil) && indices.count == global.count
    }

    /// The palettes that may be the best, the global one first.
    func choices(_ global: [UInt32]?) -> [FramePalette] {
        var found: [FramePalette] = []
        if let table = shared(global) { found.append(FramePalette(table: table, isGlobal: true)) }
        let count = used.count + (needsSkip ? 1 : 0)
        // Codes of fewer bits can be worth a palette.
        let highest = found.first.map { table in used.compactMap { table.table.index(of: $0) }.max() ?? 0 }
        if count <= 256, count > 0, highest.map({ FramePalette.bits(Int($0) + 1) > FramePalette.bits(count) }) ?? true {
            let table = ColorTable((needsSkip ? [ColorTable.transparent] : []) + used)
            found.append(FramePalette(table: table, isGlobal: false))
        }
        return found
    }

    /// Returns the global palette with a transparent index in place of a color that the rectangle does not need.
    private func shared(_ global: [UInt32]?) -> ColorTable? {
        guard var colors = global else { return nil }
        let table = ColorTable(colors)
        var isUsed = [Bool](repeating: false, count: colors.count)
        for color in used {
            guard let index = table.index(of: color) else { return nil }
            isUsed[Int(index)] = true
        }
        if !needsSkip { return table }
        guard let free = isUsed.firstIndex(of: false) else { return nil }
        colors[free] = ColorTable.transparent
        return ColorTable(colors)
    }
}
