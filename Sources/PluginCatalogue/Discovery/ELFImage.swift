package import HostSystem

/// The headers, notes and dynamic section of a shared object, read without loading it.
///
/// Only program headers are used, never section headers, because the loader uses the same. The file is untrusted, so
/// every number is checked before use.
///
///     header 64 │ program headers, 56 each: type 4 flags 4 offset 8 vaddr 8 paddr 8 filesz 8 memsz 8 align 8
///     note: owner size 4 │ text size 4 │ type 4 │ owner, padded to 4 │ text, padded to 4
///
/// - Source: System V ABI, chapter 5; Linux `elf(5)`.
package struct ELFImage {
    /// Why a file is not a shared object for this machine.
    package enum Failure: Error, Hashable {
        case notELF
        case wrongArchitecture(found: String, wanted: String)
        case damaged(String)
    }

    package struct Note: Hashable {
        package var owner: [UInt8]
        package var type: UInt32
        package var text: [UInt8]
    }

    package private(set) var notes: [Note] = []
    /// The libraries that the loader must find.
    package private(set) var needed: [String] = []
    private(set) var runPath: [String] = []
    /// The dynamic section; of several entries with one tag, the last one counts.
    private(set) var dynamic = Dynamic()
    /// Returns whether the dynamic string table contains a name, as it must for an exported symbol.
    package func mayExport(_ symbol: String) -> Bool {
        guard let strings = try? bytes(stringOffset, stringCount) else { return false }
        let wanted = [0] + Array(symbol.utf8) + [0]
        guard let first = strings.firstIndex(of: 0), strings.count >= wanted.count else { return false }
        return strings.indices[first...].dropLast(wanted.count - 1).contains { start in
            strings[start + 1] == wanted[1] && strings[start...].starts(with: wanted)
        }
    }

    private let file: File
    package let size: Int
    private(set) var segments: [Segment] = []
    private var stringOffset = 0
    private var stringCount = 0

    struct Dynamic {
        fileprivate(set) var entries: [(tag: UInt64, value: Int)] = []
        package subscript(tag: UInt64) -> Int? { entries.last { $0.tag == tag }?.value }
    }

    struct Segment {
        package var type: UInt32
        package var flags: UInt32
        package var offset: Int
        package var address: Int
        package var count: Int
        package var alignment: Int
    }

    #if arch(x86_64)
        package static let machine: (number: Int, name: String) = (62, "x86-64")
    #elseif arch(arm64)
        package static let machine: (number: Int, name: String) = (183, "aarch64")
    #else
        #error("name this machine's ELF number")
    #endif

    /// A manifest has at most 64 KiB; the rest is for build ids and similar notes.
    private static let maxNoteBytes = 80 << 10
    private static let maxStringBytes = 16 << 20

    /// Reads the notes and, if requested, the dynamic section.
    package init(_ file: File, size: Int, withDynamic: Bool = true) throws(Failure) {
        self.file = file
        self.size = size
        let header = try bytes(0, 64)
        guard header.starts(with: [0x7F, 0x45, 0x4C, 0x46]) else { throw .notELF }
        guard header[4] == 2, header[5] == 1 else {
            throw .wrongArchitecture(
                found: header[4] == 1 ? "a 32-bit machine" : "the other byte order", wanted: Self.machine.name)
        }
        let machine = Int(u16(header, 18))
        guard machine == Self.machine.number else {
            throw .wrongArchitecture(found: Self.machineName(machine), wanted: Self.machine.name)
        }
        guard u16(header, 16) == 3 else { throw .damaged("it is not a shared object") }
        try readSegments(header)
        for segment in segments where segment.type == 4 { try readNotes(segment) }
        if withDynamic { try readDynamic() }
    }

    private static func machineName(_ number: Int) -> String {
        switch number {
        case 3: "x86"
        case 8: "MIPS"
        case 20, 21: "PowerPC"
        case 22: "s390"
        case 40: "arm"
        case 62: "x86-64"
        case 183: "aarch64"
        case 243: "RISC-V"
        case 258: "LoongArch"
        default: "machine \(number)"
        }
    }

    // MARK: Bytes

    package func bytes(_ offset: Int, _ count: Int) throws(Failure) -> [UInt8] {
        guard offset >= 0, count >= 0, offset <= size, count <= size - offset else {
            throw offset == 0 ? .notELF : .damaged("a part of it is beyond the end of the file")
        }
        let result: [UInt8]
        do { result = try file.bytes(at: offset, count: count) } catch { throw .damaged("\(error)") }
        guard result.count == count else { throw .damaged("the file became shorter") }
        return result
    }

    func u16(_ data: [UInt8], _ at: Int) -> UInt16 { UInt16(data[at + 1]) << 8 | UInt16(data[at]) }
    package func u32(_ data: [UInt8], _ at: Int) -> UInt32 {
        UInt32(u16(data, at + 2)) << 16 | UInt32(u16(data, at))
    }
    func u64(_ data: [UInt8], _ at: Int) -> UInt64 {
        UInt64(u32(data, at + 4)) << 32 | UInt64(u32(data, at))
    }
    func int(_ data: [UInt8], _ at: Int) -> Int { Int(clamping: u64(data, at)) }

    // MARK: Parts

    private mutating func readSegments(_ header: [UInt8]) throws(Failure) {
        let entry = Int(u16(header, 54))
        let count = Int(u16(header, 56))
        guard entry == 56, count > 0, count <= 256 else { throw .damaged("its program headers are not valid") }
        let table = try bytes(int(header, 32), entry * count)
        for at in stride(from: 0, to: table.count, by: entry) {
            let segment = Segment(
                type: u32(table, at), flags: u32(table, at + 4), offset: int(table, at + 8),
                address: int(table, at + 16), count: int(table, at + 32), alignment: int(table, at + 48))
            // An access to a mapped page beyond the end of the file would kill the process.
            if segment.type == 1, segment.offset > size || segment.count > size - segment.offset {
                throw .damaged("a part of it is beyond the end of the file")
            }
            segments.append(segment)
        }
    }

    private mutating func readNotes(_ segment: Segment) throws(Failure) {
        guard segment.count <= Self.maxNoteBytes else { throw .damaged("its notes are too large") }
        let data = try bytes(segment.offset, segment.count)
        // Only the GNU property note is aligned to 8.
        let mask = segment.alignment == 8 ? 7 : 3
        var at = 0
        while data.count - at >= 12 {
            let ownerSize = Int(u32(data, at))
            let textSize = Int(u32(data, at + 4))
            let type = u32(data, at + 8)
            let ownerEnd = at + 12 + ownerSize
            let text = (ownerEnd + mask) & ~mask
            guard ownerSize <= data.count, textSize <= data.count, ownerEnd <= data.count, text <= data.count,
                textSize <= data.count - text
            else { throw .damaged("a note is longer than its segment") }
            notes.append(
                Note(owner: Array(data[at + 12..<ownerEnd]), type: type, text: Array(data[text..<text + textSize])))
            at = (text + textSize + mask) & ~mask
        }
    }

    /// Returns the file offset of an address inside a loaded segment.
    func fileOffset(_ address: Int) -> Int? {
        for segment in segments where segment.type == 1 {
            if address >= segment.address, address - segment.address < segment.count {
                return segment.offset + (address - segment.address)
            }
        }
        return nil
    }

    private mutating func readDynamic() throws(Failure) {
        guard let dynamic = segments.first(where: { $0.type == 2 }) else { throw .damaged("it cannot be loaded") }
        // The loader uses the address, and the last of several dynamic segments.
        guard segments.count(where: { $0.type == 2 }) == 1, fileOffset(dynamic.address) == dynamic.offset else {
            throw .damaged("its dynamic section is not at the address that the loader uses")
        }
        guard dynamic.count <= 64 << 10 else { throw .damaged("its dynamic section is too large") }
        let table = try bytes(dynamic.offset, dynamic.count)
        var stringAddress: Int?
        var neededAt: [Int] = []
        var pathAt: Int?
        for at in stride(from: 0, to: table.count - 15, by: 16) {
            let value = int(table, at + 8)
            let tag = u64(table, at)
            if tag == 0 { break }  // DT_NULL: the loader stops here
            self.dynamic.entries.append((tag, value))
            switch tag {
            case 1: neededAt.append(value)  // DT_NEEDED
            case 5: stringAddress = value  // DT_STRTAB
            case 10: stringCount = value  // DT_STRSZ
            case 15: if pathAt == nil { pathAt = value }  // DT_RPATH
            case 29: pathAt = value  // DT_RUNPATH
            default: break
            }
        }
        guard let stringAddress, let offset = fileOffset(stringAddress), stringCount <= Self.maxStringBytes else {
            throw .damaged("it has no string table")
        }
        stringOffset = offset
        for at in neededAt {
            guard let name = string(at) else { throw .damaged("a library name is outside the string table") }
            needed.append(name)
        }
        guard let pathAt else { return }
        guard let path = string(pathAt) else { throw .damaged("its run path is outside the string table") }
        // An empty entry means the working directory.
        runPath = path.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    }

    /// Returns a name of the dynamic string table; file names have at most 255 bytes.
    package func string(_ at: Int) -> String? {
        guard at >= 0, at < stringCount,
            let text = try? bytes(stringOffset + at, min(4096, stringCount - at)), let end = text.firstIndex(of: 0)
        else { return nil }
        return String(decoding: text[..<end], as: UTF8.self)
    }
}
