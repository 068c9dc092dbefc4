internal import Palettes

/// The alternative indices of a pixel, and their errors.
struct PixelChoices {
    /// If more pixels than this stay, runs of omitted pixels are longer than runs of a color. Measured.
    private static let longestGap = 60

    let source: [UInt32]
    /// The frame that `shown` was drawn for: an equal pixel stays exactly as shown.
    let prior: [UInt32]
    let shown: [UInt32]
    let keys: Keys
    let table: ColorTable
    /// Nil if every pixel has its own color.
    let nearest: NearestColors?
    /// The squared error allowed for a longer string.
    let tolerance: Int32
    /// Indices are below this.
    let indexLimit: Int
    let rect: ChangedRect
    let canvasWidth: Int

    /// The colors as the metric compares them.
    struct Keys {
        /// By position: the key of `source`.
        let source: [UInt32]
        /// By position: the key of `shown`.
        let shown: [UInt32]
    }

    /// Allows no pixel another index.
    static func none() -> PixelChoices {
        PixelChoices(
            source: [], prior: [], shown: [], keys: Keys(source: [], shown: []), table: ColorTable([]), nearest: nil,
            tolerance: 0,
            indexLimit: 0, rect: .pixel, canvasWidth: 1)
    }

    var exist: Bool { indexLimit > 0 }

    /// Gives unchanged pixels the index of their shown color, if the palette has it.
    ///
    /// - Returns: whether this may save bytes; if nearly all pixels stay, omitting them is best.
    func redraw(_ indices: inout [UInt8]) -> Bool {
        guard let skip = table.transparentIndex else { return false }
        let skipped = indices.count { $0 == skip }
        if skipped == 0 || skipped > indices.count / 8 * 7 { return false }
        var isChanged = false
        var number = 0
        var last: (color: UInt32, index: UInt8) = (ColorTable.transparent, skip)
        for y in rect.rows {
            for place in y * canvasWidth + rect.left...y * canvasWidth + rect.right {
                if indices[number] == skip, shown[place] != ColorTable.transparent {
                    if shown[place] != last.color { last = (shown[place], table.index(of: shown[place]) ?? skip) }
                    if Int(last.index) < indexLimit { indices[number] = last.index }
                    isChanged = true
                }
                number += 1
            }
        }
        return isChanged
    }

    /// Draws unchanged pixels between changed ones if they form only one or two runs: omitting them would break two
    /// strings.
    func closeGaps(_ indices: inout [UInt8]) {
        guard let skip = table.transparentIndex else { return }
        var end = -1
        for number in indices.indices where indices[number] != skip {
            defer { end = number }
            let gap = end + 1..<number
            if end < 0 || gap.isEmpty || gap.count > Self.longestGap { continue }
            var (last, changes) = (indices[end], 0)
            for place in gap where changes < 2 {
                guard let own = own(place) else {
                    changes = 2
                    break
                }
                if own != last { changes += 1 }
                last = own
            }
            if changes + (last == indices[number] ? 0 : 1) > 1 { continue }
            for place in gap { indices[place] = own(place) ?? skip }
        }
    }

    /// Returns the index of the shown color of a pixel.
    private func own(_ number: Int) -> UInt8? {
        let (row, column) = number.quotientAndRemainder(dividingBy: rect.width)
        let own = table.index(of: shown[(rect.top + row) * canvasWidth + rect.left + column])
        return own.map { Int($0) < indexLimit ? $0 : nil } ?? nil
    }

    /// - Parameter number: the pixel, counted from the start of the rectangle.
    @inline(__always)
    func each(at number: Int, instead taken: UInt8, _ body: (UInt8, Int32) -> Void) {
        let (row, column) = number.quotientAndRemainder(dividingBy: rect.width)
        let place = (rect.top + row) * canvasWidth + rect.left + column
        let color = source[place]
        let skip = table.transparentIndex
        if color == prior[place] {
            guard let skip else { return }
            if taken != skip {
                body(skip, 0)
            } else if let own = table.index(of: shown[place]), Int(own) < indexLimit {
                body(own, 0)
            }
        } else if let nearest {
            let wanted = keys.source[place]
            let limit = nearest.nearest(wanted).distance &+ tolerance
            if let skip, taken != skip, keys.shown[place] != ColorTable.transparent {
                let distance = NearestColors.distance(keys.shown[place], wanted)
                if distance <= limit { body(skip, distance) }
            }
            nearest.candidates(for: wanted, limit: limit) { index, distance in
                if index != taken, Int(index) < indexLimit { body(index, distance) }
            }
        }
    }
}
