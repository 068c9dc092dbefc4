internal import CoderPluginKit
internal import ImageModel

/// The colours of a picture that has at most 256 of them.
struct PNGPalette {
    /// RGBA, four bytes an entry; those that are not opaque come first, so that tRNS stays short.
    let entries: [UInt8]
    let transparentCount: Int
    private let channels: Int
    private let table: ColorTable

    /// Looks at every pixel; nil as soon as there is a 257th colour.
    init?(of surface: borrowing Surface, host: HostServices) throws(CoderError) {
        let channels = surface.format.channels.count
        let isOpaque = !surface.format.hasTransparency
        var table = ColorTable()
        for y in 0..<surface.size.height {
            if y % 64 == 0 { try host.checkCancellation() }
            let fits = surface.withRow(y) { row in
                var last: UInt32?
                for offset in stride(from: 0, to: row.byteCount, by: channels) {
                    let color = Self.color(row, offset, channels, isOpaque)
                    if color == last { continue }
                    last = color
                    if !table.insert(color) { return false }
                }
                return true
            }
            if !fits { return nil }
        }
        let sorted = table.colors.sorted { ($0 & 0xFF == 0xFF ? 1 : 0, $0) < ($1 & 0xFF == 0xFF ? 1 : 0, $1) }
        for (index, color) in sorted.enumerated() { table.setIndex(UInt8(index), of: color) }
        self.table = table
        self.channels = channels
        transparentCount = sorted.count { $0 & 0xFF != 0xFF }
        entries = sorted.flatMap { color in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: color >> $0) } }
    }

    /// Bits of an index, by the number of entries (PNG 3rd edition, table 8).
    var depth: Int {
        switch entries.count / 4 {
        case ...2: 1
        case ...4: 2
        case ...16: 4
        default: 8
        }
    }

    /// Translates row `y`.
    func indices(ofRow y: Int, of surface: borrowing Surface, into indices: inout [UInt8]) {
        let isOpaque = !surface.format.hasTransparency
        surface.withRow(y) { row in
            var last: UInt32?
            var index: UInt8 = 0
            for x in 0..<indices.count {
                let color = Self.color(row, x * channels, channels, isOpaque)
                if color != last {
                    index = table.index(of: color)
                    last = color
                }
                indices[x] = index
            }
        }
    }

    /// One pixel as 0xRRGGBBAA.
    private static func color(_ row: RawSpan, _ offset: Int, _ channels: Int, _ isOpaque: Bool) -> UInt32 {
        let rgb =
            UInt32(row.byte(at: offset)) << 24 | UInt32(row.byte(at: offset + 1)) << 16
            | UInt32(row.byte(at: offset + 2)) << 8
        return rgb | (channels == 4 && !isOpaque ? UInt32(row.byte(at: offset + 3)) : 0xFF)
    }
}

/// A hash table of at most 256 colours with open addressing.
private struct ColorTable {
    private static let slots = 1024
    private var keys = [UInt32](repeating: 0, count: slots)
    /// The index plus 1; 0 where the slot is free.
    private var values = [UInt16](repeating: 0, count: slots)
    private(set) var colors: [UInt32] = []

    /// Adds a colour; false when it would be the 257th.
    mutating func insert(_ color: UInt32) -> Bool {
        let slot = self.slot(of: color)
        if values[slot] != 0 { return true }
        if colors.count == 256 { return false }
        colors.append(color)
        keys[slot] = color
        values[slot] = UInt16(colors.count)
        return true
    }

    mutating func setIndex(_ index: UInt8, of color: UInt32) { values[slot(of: color)] = UInt16(index) + 1 }

    func index(of color: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: values[slot(of: color)] &- 1) }

    private func slot(of color: UInt32) -> Int {
        // Fibonacci hashing: the upper bits of a product with 2³² divided by the golden ratio.
        var slot = Int((color &* 0x9E37_79B9) >> 22)
        while values[slot] != 0, keys[slot] != color { slot = (slot + 1) % Self.slots }
        return slot
    }
}
