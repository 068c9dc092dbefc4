/// Colors and their indices: a hash table of at most 256 entries with open addressing.
///
/// A color has red, green, blue and 255 from its lowest byte up, like RGBA8 in memory; 0 is transparent.
struct ColorTable {
    static let transparent: UInt32 = 0

    private static let slots = 1024
    private var keys = [UInt32](repeating: 0, count: slots)
    /// The index plus 1; 0 if the slot is free.
    private var values = [UInt16](repeating: 0, count: slots)
    /// The colors by index.
    private(set) var colors: [UInt32] = []
    private(set) var transparentIndex: UInt8?
    let limit: Int

    init(limit: Int = 256) { self.limit = limit }

    /// Makes a table of these colors; a repeated color gets its first index.
    init(_ colors: [UInt32]) {
        limit = 256
        for color in colors {
            let slot = self.slot(of: color)
            self.colors.append(color)
            if values[slot] == 0 { set(slot, color) }
        }
    }

    @inline(__always)
    func index(of color: UInt32) -> UInt8? {
        let value = values[slot(of: color)]
        return value == 0 ? nil : UInt8(truncatingIfNeeded: value - 1)
    }

    /// Returns the index of a color, adding the color if necessary; nil if the table is full.
    @inline(__always)
    mutating func index(adding color: UInt32) -> UInt8? {
        let slot = self.slot(of: color)
        if values[slot] == 0 {
            if colors.count == limit { return nil }
            colors.append(color)
            set(slot, color)
        }
        return UInt8(truncatingIfNeeded: values[slot] - 1)
    }

    private mutating func set(_ slot: Int, _ color: UInt32) {
        keys[slot] = color
        values[slot] = UInt16(colors.count)
        if color == Self.transparent { transparentIndex = UInt8(truncatingIfNeeded: colors.count - 1) }
    }

    @inline(__always)
    private func slot(of color: UInt32) -> Int {
        // Fibonacci hashing: the upper bits of a product with 2³² divided by the golden ratio.
        var slot = Int((color &* 0x9E37_79B9) >> 22)
        while values[slot] != 0, keys[slot] != color { slot = (slot + 1) % Self.slots }
        return slot
    }
}
