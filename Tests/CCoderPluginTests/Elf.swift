import TestSupport

/// Reads ELF files for these tests; independent of the host's reader, so that a test can find differences.
///
/// - Source: System V ABI, "Object Files"; 64 bit, little-endian.
struct Elf {
    struct Note: Hashable {
        var owner: String
        var type: UInt32
        /// The text without trailing NUL bytes.
        var text: String
        /// The index of the PT_NOTE segment that contains the note.
        var segment: Int
    }

    var machine: UInt16
    var notes: [Note] = []

    /// The manifests among the notes.
    var manifests: [Note] { notes.filter { $0.owner == "CoderHost" && $0.type == 0x4350_4931 } }

    private let bytes: [UInt8]

    /// Reads a file; returns nil if it is not a complete ELF file.
    init?(_ path: String) {
        guard let bytes = readFile(path), bytes.count >= 64, bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else {
            return nil
        }
        self.bytes = bytes
        machine = 0
        machine = UInt16(number(18, 2))
        let (table, count) = (number(32, 8), number(56, 2))
        guard table + count * 56 <= bytes.count else { return nil }
        for segment in 0..<count where number(table + segment * 56, 4) == 4 {
            let header = table + segment * 56
            var at = number(header + 8, 8)
            let end = at + number(header + 32, 8)
            // Segments with an alignment of 8 pad their notes to 8; the manifest's segment has an alignment of 4.
            let padding = number(header + 48, 8) == 8 ? 8 : 4
            guard end <= bytes.count else { return nil }
            while at < end {
                guard at + 12 <= end else { return nil }
                let (owner, text) = (number(at, 4), number(at + 4, 4))
                let start = at + 12 + (owner + padding - 1) / padding * padding
                guard start + text <= end else { return nil }
                notes.append(
                    Note(
                        owner: String(decoding: bytes[(at + 12)..<(at + 12 + max(0, owner - 1))], as: UTF8.self),
                        type: UInt32(number(at + 8, 4)),
                        text: String(
                            decoding: bytes[start..<(start + text)].reversed().drop { $0 == 0 }.reversed(),
                            as: UTF8.self), segment: segment))
                at = start + (text + padding - 1) / padding * padding
            }
        }
    }

    private func number(_ offset: Int, _ count: Int) -> Int {
        bytes[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}

/// Returns the exported symbols of a file, without those that the linker adds.
func exportedSymbols(_ path: String) throws -> [String] {
    try run(["nm", "-D", "--defined-only", "--format=just-symbols", path]).stdout
        .split(separator: "\n").map(String.init)
        .filter { !["__bss_start", "_edata", "_end", "_init", "_fini"].contains($0) }
}

/// Returns the libraries that a file needs.
func neededLibraries(_ path: String) throws -> [String] {
    try run(["readelf", "-dW", path]).stdout.split(separator: "\n").filter { $0.contains("(NEEDED)") }
        .compactMap { $0.split { "[]".contains($0) }.dropFirst().first.map(String.init) }
}
