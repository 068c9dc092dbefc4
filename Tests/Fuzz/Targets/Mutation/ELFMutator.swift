/// Makes small shared objects and damages their headers, notes and dynamic section.
///
/// - Source: System V ABI, chapter 5.
public struct ELFMutator: Mutator {
    public init() {}

    #if arch(x86_64)
        private static let machine = 62
    #else
        private static let machine = 183
    #endif

    static let owner = Array("CoderHost\0".utf8)

    /// A file with one loaded segment, one note and a dynamic section that names a library and a path.
    static func sharedObject(note text: [UInt8]) -> [UInt8] {
        func padded(_ bytes: [UInt8]) -> [UInt8] { bytes + [UInt8](repeating: 0, count: -bytes.count & 3) }
        var note: [UInt8] = .little(owner.count, 4) + .little(text.count, 4) + .little(0x4350_4931, 4)
        note += padded(owner) + padded(text)
        let strings = Array("\0libc.so.6\0$ORIGIN/lib\0cpi_plugin_entry\0".utf8)
        let start = 64 + 3 * 56
        let stringsAt = start + note.count
        let dynamicAt = (stringsAt + strings.count + 7) & ~7
        var dynamic: [UInt8] = []
        for (tag, value) in [(1, 1), (29, 11), (5, stringsAt), (10, strings.count), (0, 0)] {
            dynamic += .little(tag, 8) + .little(value, 8)
        }
        let size = dynamicAt + dynamic.count
        var file: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
        file += .little(3, 2) + .little(machine, 2) + .little(1, 4) + .little(0, 8) + .little(64, 8) + .little(0, 8)
        file += .little(0, 4) + .little(64, 2) + .little(56, 2) + .little(3, 2) + .little(0, 6)
        for (type, offset, count, alignment) in [
            (1, 0, size, 4096), (4, start, note.count, 4), (2, dynamicAt, dynamic.count, 8),
        ] {
            file += .little(type, 4) + .little(4, 4) + .little(offset, 8) + .little(offset, 8) + .little(offset, 8)
            file += .little(count, 8) + .little(count, 8) + .little(alignment, 8)
        }
        file += note + strings
        file += [UInt8](repeating: 0, count: dynamicAt - file.count) + dynamic
        return file
    }

    public func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        for _ in 0...dice.below(3) {
            guard bytes.count >= 64 else { return BytesMutator().mutate(&bytes, &dice, other: other) }
            // Fields of the program headers, the note and the dynamic section, each at its position.
            let count = max(1, min(8, bytes.little(56, 2)))
            let header = 64 + 56 * dice.below(count)
            let segment = bytes.little(header + 8, 4)
            let field =
                switch dice.below(4) {
                case 0: header + 8 * dice.below(7)
                case 1: segment + 4 * dice.below(3)
                case 2: segment + 8 * dice.below(10)
                default: dice.pick([16, 18, 32, 54, 56])
                }
            let number = dice.once(in: 3) ? UInt32(dice.below(bytes.count + 16)) : dice.awkwardNumber()
            BytesMutator().write(number, field, &bytes, isBig: false, count: dice.pick([2, 4, 4, 8]))
        }
    }
}
