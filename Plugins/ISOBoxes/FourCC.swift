/// Four letters that name a box, an item type or a brand.
package struct FourCC: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    package let value: UInt32

    package init(_ value: UInt32) { self.value = value }

    package init(stringLiteral text: String) {
        precondition(text.utf8.count == 4)
        value = text.utf8.reduce(0) { $0 << 8 | UInt32($1) }
    }

    package var description: String {
        let letters = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
        return String(decoding: letters.map { (0x20...0x7E).contains($0) ? $0 : 0x3F }, as: UTF8.self)
    }
}
