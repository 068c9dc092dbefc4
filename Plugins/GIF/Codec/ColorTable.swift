/// Colours and their indices: a hash table of at most 256 entries with open addressing.
struct ColorTable {
    /// A pixel that is not shown has this in place of 0xRRGGBB.
    static let transparent: UInt32 = 0xFF00_0000

    private static let slots = 1024
    private var keys = [UInt32](repeating: 0, count: slots)
    /// The index plus 1; 0 where the slot is free.
    private var values = [UInt16](repeating: 0, count: slots)
    /// By index: 0xRRGGBB or ``transparent``.
    private(set) var colors: [UInt32] = []

    init() {}

    /// A table of different colours.
    init(_ colors: [UInt32]) {
        for color in colors { _ = index(adding: color) }
    }

    var transparentIndex: UInt8? { index(of: Self.transparent) }

    func index(of color: UInt32) -> UInt8? {
        let value = values[slot(of: color)]
        return value == 0 ? nil : UInt8(truncatingIfNeeded: value - 1)
    }

    /// The index of a colour that is added if need be; nil when it would be the 257th.
    mutating func index(adding color: UInt32) -> UInt8? {
        let slot = self.slot(of: color)
        if values[slot] == 0 {
            if colors.count == 256 { return nil }
            colors.append(color)
            keys[slot] = color
            values[slot] = UInt16(colors.count)
        }
        return UInt8(truncatingIfNeeded: values[slot] - 1)
    }

    private func slot(of color: UInt32) -> Int {
        // Fibonacci hashing: the upper bits of a product with 2³² divided by the golden ratio.
        var slot = Int((color &* 0x9E37_79B9) >> 22)
        while values[slot] != 0, keys[slot] != color { slot = (slot + 1) % Self.slots }
        return slot
    }
}
