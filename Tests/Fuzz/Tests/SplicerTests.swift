import TestSupport
import Testing

@testable import FuzzTargets

/// Splices of two valid files: containers stay correct.
@Suite(.timeLimit(.minutes(40))) struct `Splices of two valid files` {
    /// 300 splices of two fixtures.
    private func splices(_ mutator: any Mutator, _ first: String, _ second: String) -> [[UInt8]] {
        splices(mutator, [first, second].map { Seeds.bytes("Fixtures/\($0)") })
    }

    private func splices(_ mutator: any Mutator, _ files: [[UInt8]]) -> [[UInt8]] {
        (0..<300).map { number in
            var dice = Dice(run: 14, number: number)
            var bytes = files[number % 2]
            mutator.mutate(&bytes, &dice, other: files[1 - number % 2])
            return bytes
        }
    }

    private static func big(_ bytes: [UInt8], _ at: Int, _ count: Int = 4) -> Int {
        bytes[at..<at + count].reduce(0) { $0 << 8 | Int($1) }
    }

    /// CRC-32, bit by bit.
    private static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(~0) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum >> 1 ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
    }

    @Test func `of PNG have correct checksums, one header, one end and ascending frame numbers`() {
        let all = splices(Splicer(PNGMutator()), "apng/three-frames.png", "images/icc-wide.png")
        for bytes in all {
            var (at, names, numbers, frames, stated) = (8, [String](), [Int](), 0, 0)
            while at < bytes.count {
                let count = Self.big(bytes, at)
                let name = String(decoding: bytes[at + 4..<at + 8], as: UTF8.self)
                #expect(Self.checksum(bytes[at + 4..<at + 8 + count]) == UInt32(Self.big(bytes, at + 8 + count)))
                if name == "fcTL" { frames += 1 }
                if name == "acTL" { stated = Self.big(bytes, at + 8) }
                if name == "fcTL" || name == "fdAT" { numbers.append(Self.big(bytes, at + 8)) }
                names.append(name)
                at += 12 + count
            }
            #expect(at == bytes.count)
            #expect(names.first == "IHDR" && names.count { $0 == "IHDR" } == 1)
            #expect(names.last == "IEND" && names.count { $0 == "IEND" } == 1)
            #expect(numbers == Array(numbers.indices))
            #expect(stated == (names.contains("acTL") ? frames : 0))
        }
        #expect(Set(all).count > 100)
    }

    @Test func `of JPEG consist of whole segments, tables before the first scan`() {
        let all = splices(Splicer(JPEGMutator()), "images/f.jpg", "jpeg/progressive-422.jpg")
        for bytes in all {
            var (at, markers) = (2, [UInt8]())
            while at + 2 < bytes.count {
                #expect(bytes[at] == 0xFF)
                markers.append(bytes[at + 1])
                at += 2 + Self.big(bytes, at + 2, 2)
                if markers.last == 0xDA {
                    while bytes[at] != 0xFF || bytes[at + 1] == 0 || bytes[at + 1] & 0xF8 == 0xD0 { at += 1 }
                }
            }
            #expect(bytes.suffix(2) == [0xFF, 0xD9] && at == bytes.count - 2)
            let scan = markers.firstIndex(of: 0xDA) ?? markers.count
            #expect(!markers[scan...].contains(0xDB))
        }
        #expect(Set(all).count > 100)
    }

    @Test func `of WebP have the right size and flags`() {
        let all = splices(Splicer(RIFFMutator()), "images/three-frames.webp", "webp/metadata.webp")
        for bytes in all {
            let size = bytes[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) }
            #expect(size == bytes.count - 8)
            var (at, names) = (12, [String]())
            while at < bytes.count {
                names.append(String(decoding: bytes[at..<at + 4], as: UTF8.self))
                let count = bytes[at + 4..<at + 8].reversed().reduce(0) { $0 << 8 | Int($1) }
                at += 8 + count + count % 2
            }
            #expect(at == bytes.count)
            guard names.first == "VP8X" else { continue }
            for (name, flag) in [("ANMF", 2), ("XMP ", 4), ("EXIF", 8), ("ICCP", 32)] as [(String, UInt8)] {
                #expect((bytes[20] & flag != 0) == names.contains(name), "\(names)")
            }
        }
        #expect(Set(all).count > 100)
    }

    @Test func `of farbfeld and PAM have as many rows as their header declares`() {
        let small = Array("farbfeld".utf8) + .big(1, 4) + .big(2, 4) + [UInt8](repeating: 7, count: 16)
        let all = splices(Splicer(RowsMutator()), [Seeds.bytes("Fixtures/images/rgba.ff"), small])
        for bytes in all { #expect(bytes.count == 16 + 8 * Self.big(bytes, 8) * Self.big(bytes, 12)) }
        #expect(Set(all.map { $0[8..<16] }).count > 2)
        let file = Array("P7\nWIDTH 2\nHEIGHT 3\nDEPTH 1\nMAXVAL 255\nTUPLTYPE GRAYSCALE\nENDHDR\n".utf8)
        var heights = Set<Int>()
        for number in 0..<50 {
            var bytes = file + [1, 2, 3, 4, 5, 6]
            var dice = Dice(run: 14, number: number)
            Splicer(RowsMutator()).mutate(&bytes, &dice, other: file + [9, 9])
            let lines = bytes.split(separator: 0x0A)
            let height = Int(String(decoding: lines[2].dropFirst(7), as: UTF8.self)) ?? 0
            #expect(bytes.count == file.count + 2 * height && lines[0] == Array("P7".utf8)[...])
            heights.insert(height)
        }
        #expect(heights.count > 1)
    }

    /// One item of four bytes in `mdat`.
    private static func file(padding: Int) -> [UInt8] {
        func box(_ name: String, _ data: [UInt8]) -> [UInt8] { .big(data.count + 8, 4) + Array(name.utf8) + data }
        let start = box("ftyp", Array("avifmif1".utf8)) + box("free", [UInt8](repeating: 0, count: padding))
        func meta(_ place: Int) -> [UInt8] {
            // Version 1, offsets and lengths of four bytes, one item with one extent.
            let items: [UInt8] = [1, 0, 0, 0, 0x44, 0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 1] + .big(place, 4) + .big(4, 4)
            return box("meta", [0, 0, 0, 0] + box("iloc", items))
        }
        return start + meta(start.count + meta(0).count + 8) + box("mdat", Array("DATA".utf8))
    }

    @Test func `of boxes keep every item at the position in the file`() throws {
        let mutator = BoxSplicer()
        var moved = 0
        for number in 0..<200 {
            var bytes = Self.file(padding: 3)
            let before = bytes
            var dice = Dice(run: 14, number: number)
            mutator.mutate(&bytes, &dice, other: Self.file(padding: 20))
            #expect(BoxMutator.joined(BoxMutator.list(bytes)) == bytes)
            let boxes = BoxMutator.list(bytes).map { String(decoding: $0.kind, as: UTF8.self) }
            // A second table, or a second data position, would be ambiguous.
            guard boxes.count(where: { $0 == "meta" }) == 1, boxes.count(where: { $0 == "mdat" }) == 1 else { continue }
            let meta = try #require(BoxMutator.list(bytes).first { $0.kind == Array("meta".utf8) }).data
            let tables = BoxMutator.list(Array(meta.dropFirst(4)))
            guard tables.count == 1 else { continue }
            let place = Self.big(tables[0].data, 16)
            #expect(bytes.dropFirst(place).prefix(4) == Array("DATA".utf8)[...])
            if bytes.count != before.count { moved += 1 }
        }
        #expect(moved > 10)
    }
}
