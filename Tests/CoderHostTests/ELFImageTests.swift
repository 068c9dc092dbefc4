import CoderHost
@testable import PluginCatalogue
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Reading a shared object` {
    @Test func `finds notes, libraries and symbols`() throws {
        let folder = TemporaryDirectory()
        let path = try BuiltPlugin.put("claims-formats", into: folder)

        let image = try open(path)

        #expect(image.needed == ["libc.so.6"])
        #expect(image.notes.filter { $0.owner == Array("CoderHost\0".utf8) }.count == 1)
        #expect(image.mayExport("cpi_entry_1"))
        #expect(!image.mayExport("cpi_entry_2"))
        #expect(!image.mayExport("cpi_entry"))
        #expect(!image.mayExport("entry_1"))
    }

    /// Flips bits in the numbers that refer to other places: header, program headers, dynamic section, notes.
    @Test(arguments: 0..<8) func `survives flipped bits`(seed: Int) throws {
        let folder = TemporaryDirectory()
        let whole = try BuiltPlugin.bytes("claims-formats")
        let places = try interesting(whole)
        var random = SeededRandom(UInt64(seed))
        var readable = 0
        for _ in 0..<400 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = places.randomElement(using: &random)!
                bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            if Bool.random(using: &random) { bytes[places.randomElement(using: &random)!] = 0xFF }
            if read(folder.write(bytes, to: "libcoder-x.so")) { readable += 1 }
        }
        #expect((1..<400).contains(readable))
    }

    /// Numbers that overflow in any addition.
    @Test func `survives the largest number in every field`() throws {
        let folder = TemporaryDirectory()
        let whole = try BuiltPlugin.bytes("claims-formats")
        var (readable, refused) = (0, 0)
        for place in try interesting(whole) where place % 8 == 0 && place + 8 <= whole.count {
            for value: [UInt8] in [
                [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0xF0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
            ] {
                var bytes = whole
                bytes.replaceSubrange(place..<place + 8, with: value)
                if read(folder.write(bytes, to: "libcoder-x.so")) { readable += 1 } else { refused += 1 }
            }
        }
        #expect(readable > 0 && refused > 0, "\(readable) readable, \(refused) refused")
    }

    /// Reads a file, which must return or throw; the loader is not involved.
    ///
    /// - Returns: whether it was read.
    private func read(_ path: String) -> Bool {
        guard let image = try? open(path) else { return false }
        _ = image.mayExport("cpi_entry_1")
        for note in image.notes { _ = try? PluginManifest(json: note.text) }
        return true
    }

    private func open(_ path: String) throws -> ELFImage {
        let file = try File(reading: path)
        return try ELFImage(file, size: try file.status().size)
    }

    /// Offsets of the parts that are read, except the text of notes and names.
    private func interesting(_ elf: [UInt8]) throws -> [Int] {
        func number(_ at: Int, _ count: Int) -> Int { (0..<count).reduce(0) { $0 | Int(elf[at + $1]) << (8 * $1) } }
        let first = number(32, 8)
        var result = Array(0..<64)
        for header in (0..<number(56, 2)).map({ first + $0 * 56 }) {
            result += header..<header + 56
            let offset = number(header + 8, 8)
            // 4 is PT_NOTE, whose first numbers matter; 2 is PT_DYNAMIC.
            if number(header, 4) == 4 { result += offset..<offset + 24 }
            if number(header, 4) == 2 { result += offset..<offset + min(number(header + 32, 8), 512) }
        }
        try #require(result.count > 500 && result.allSatisfy { $0 < elf.count })
        return result
    }
}
