/// Colors and their indices: a hash table of at most 256 entries with open addressing.
///
/// A color has red, green, blue and alpha from its lowest byte up, like RGBA8 in memory; 0 is transparent.
package struct ColorTable {
    @inlinable package static var transparent: UInt32 { 0 }

    @inlinable static var slots: Int { 1024 }
    @usableFromInline var keys = [UInt32](repeating: 0, count: slots)
    /// The index plus 1; 0 if the slot is free.
    @usableFromInline var values = [UInt16](repeating: 0, count: slots)
    /// The colors by index.
    package private(set) var colors: [UInt32] = []
    package private(set) var transparentIndex: UInt8?
    package let limit: Int

    package init(limit: Int = 256) { self.limit = limit }

    /// Makes a table of these colors; a repeated color gets its first index.
    package init(_ colors: [UInt32]) {
        limit = 256
        for color in colors {
            let slot = self.slot(of: color)
            self.colors.append(color)
            if values[slot] == 0 { set(slot, color) }
        }
    }

    @inlinable @inline(__always)
    package func index(of color: UInt32) -> UInt8? {
        let value = values[slot(of: color)]
        return value == 0 ? nil : UInt8(truncatingIfNeeded: value - 1)
    }

    /// Returns the index of a color, adding the color if necessary; nil if the table is full.
    @inlinable @inline(__always)
    package mutating func index(adding color: UInt32) -> UInt8? {
        let slot = self.slot(of: color)
        if values[slot] == 0 {
            if colors.count == limit { return nil }
            append(color, slot)
        }
        return UInt8(truncatingIfNeeded: values[slot] - 1)
    }

    @usableFromInline
    mutating func append(_ color: UInt32, _ slot: Int) {
        colors.append(color)
        set(slot, color)
    }

    private mutating func set(_ slot: Int, _ color: UInt32) {
        keys[slot] = color
        values[slot] = UInt16(colors.count)
        if color == Self.transparent { transparentIndex = UInt8(truncatingIfNeeded: colors.count - 1) }
    }

    @inlinable @inline(__always)
    func slot(of color: UInt32) -> Int {
        // Fibonacci hashing: the upper bits of a product with 2³² divided by the golden ratio.
        var slot = Int((color &* 0x9E37_79B9) >> 22)
        while values[slot] != 0, keys[slot] != color { slot = (slot + 1) % Self.slots }
        return slot
    }
}
