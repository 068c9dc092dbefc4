import ImageModel
import Testing

/// Exif blobs that are changed in place, built here field by field.
@Suite struct `A changed Exif blob` {
    /// A TIFF structure: IFD0 with these SHORT fields and a link to an Exif directory with a width (LONG) and a height.
    private static func blob(_ fields: [Int], isBigEndian: Bool) -> [UInt8] {
        func bytes(_ value: Int, _ count: Int) -> [UInt8] {
            let little = (0..<count).map { UInt8(value >> (8 * $0) & 255) }
            return isBigEndian ? little.reversed() : little
        }
        func short(_ tag: Int, _ value: Int) -> [UInt8] {
            bytes(tag, 2) + bytes(3, 2) + bytes(1, 4) + bytes(value, 2) + [0, 0]
        }
        let exif = 8 + 2 + (fields.count + 1) * 12 + 4
        var blob = Array((isBigEndian ? "MM" : "II").utf8) + bytes(42, 2) + bytes(8, 4)
        blob += bytes(fields.count + 1, 2)
        for field in fields { blob += short(field, 7) }
        blob += bytes(0x8769, 2) + bytes(4, 2) + bytes(1, 4) + bytes(exif, 4) + bytes(0, 4)
        blob += bytes(2, 2) + bytes(0xA002, 2) + bytes(4, 2) + bytes(1, 4) + bytes(640, 4)
        return blob + short(0xA003, 480) + bytes(0, 4) + [9]
    }

    /// The tags and first value bytes of IFD0, read by code independent of the code under test.
    private static func directory(_ blob: [UInt8], isBigEndian: Bool) -> [[Int]] {
        func number(_ at: Int, _ count: Int) -> Int {
            let bytes = blob[at..<at + count]
            return (isBigEndian ? Array(bytes) : bytes.reversed()).reduce(0) { $0 << 8 | Int($1) }
        }
        let start = number(4, 4)
        return (0..<number(start, 2)).map { index in
            let entry = start + 2 + index * 12
            let isShort = number(entry + 2, 2) == 3
            return [number(entry, 2), number(entry + 8, isShort ? 2 : 4)]
        }
    }

    @Test(arguments: [[], [0x0100], [0x011A, 0x0131]], [false, true])
    func `gains an orientation in the order of the tags, and keeps the rest`(fields: [Int], isBigEndian: Bool) {
        let blob = Self.blob(fields, isBigEndian: isBigEndian)

        let stored = ExifOrientation.storing(.left, in: blob)

        let before = Self.directory(blob, isBigEndian: isBigEndian)
        let after = Self.directory(stored, isBigEndian: isBigEndian)
        #expect(ExifOrientation.read(stored) == .left)
        #expect(after == (before + [[0x0112, 8]]).sorted { $0[0] < $1[0] })
        #expect(Array(stored[8..<blob.count]) == Array(blob[8...]), "no byte moves")
        // TIFF 6.0, section 2: a directory begins on a word boundary; the length of the blob is odd.
        #expect(blob.count % 2 == 1)
        #expect(stored[isBigEndian ? 7 : 4] % 2 == 0)
    }

    @Test func `that has an orientation keeps its length`() {
        let blob = Self.blob([0x0112], isBigEndian: false)

        let stored = ExifOrientation.storing(.down, in: blob)

        #expect(stored.count == blob.count)
        #expect(ExifOrientation.read(stored) == .down)
    }

    @Test(arguments: [0, 1, 9, 10, 21, 33])
    func `that is truncated stays unchanged`(count: Int) {
        let blob = Array(Self.blob([0x0100], isBigEndian: true).prefix(count))

        #expect(ExifOrientation.storing(.left, in: blob) == blob)
        #expect(ExifPixelSize.replacing(blob, with: PixelSize(3, 4)) == blob)
    }

    @Test(arguments: [false, true]) func `states the size that it is given`(isBigEndian: Bool) {
        let blob = Self.blob([], isBigEndian: isBigEndian)

        let changed = ExifPixelSize.replacing(blob, with: PixelSize(70_000, 513))
        let tooLarge = ExifPixelSize.replacing(blob, with: PixelSize(5, 70_000))

        let width: [UInt8] = isBigEndian ? [0, 1, 0x11, 0x70] : [0x70, 0x11, 1, 0]
        let height: [UInt8] = isBigEndian ? [2, 1] : [1, 2]
        // IFD0 ends at 26. The Exif directory's first value is 10 bytes after its start, the second 12 bytes later.
        #expect(Array(changed[36..<40]) == width)
        #expect(Array(changed[48..<50]) == height)
        #expect(changed.count == blob.count)
        #expect(Array(tooLarge[48..<50]) == Array(blob[48..<50]), "the side does not fit in a SHORT")
    }
}
