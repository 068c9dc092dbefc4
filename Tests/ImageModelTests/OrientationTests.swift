import ImageModel
import Testing

@Suite struct `Exif orientation` {
    @Test(arguments: Orientation.allCases)
    func `maps every pixel of the upright image to another stored pixel`(orientation: Orientation) {
        let size = PixelSize(3, 2)
        let upright = orientation.applied(to: size)

        var seen: Set<[Int]> = []
        for y in 0..<upright.height {
            for x in 0..<upright.width {
                let source = orientation.source(x: x, y: y, in: size)
                seen.insert([source.x, source.y])
            }
        }

        #expect(seen.count == 6)
        #expect(seen.allSatisfy { $0[0] >= 0 && $0[0] < 3 && $0[1] >= 0 && $0[1] < 2 })
    }

    @Test func `right means that the stored top edge is shown on the right`() {
        let source = Orientation.right.source(x: 1, y: 0, in: PixelSize(3, 2))
        #expect(source.x == 0 && source.y == 0)
    }

    /// BYTE, SHORT, LONG, SBYTE, SSHORT, SLONG (TIFF 6.0, section 2).
    @Test(arguments: [1, 3, 4, 6, 8, 9], [false, true])
    func `is read and replaced as any integer type`(type: Int, isBigEndian: Bool) {
        let blob = Self.blob(type, 6, isBigEndian: isBigEndian)

        #expect(ExifOrientation.read(blob) == .right)
        #expect(ExifOrientation.replacing(blob, with: .down) == Self.blob(type, 3, isBigEndian: isBigEndian))
        #expect(ExifOrientation.storing(.down, in: blob) == Self.blob(type, 3, isBigEndian: isBigEndian))
    }

    /// ASCII, RATIONAL, UNDEFINED, FLOAT, and a type of no standard.
    @Test(arguments: [2, 5, 7, 11, 99]) func `of another type is no orientation`(type: Int) {
        #expect(ExifOrientation.read(Self.blob(type, 6, isBigEndian: false)) == nil)
    }

    @Test(arguments: [6, 8, 9], [false, true]) func `that is negative is no orientation`(type: Int, isBigEndian: Bool) {
        #expect(ExifOrientation.read(Self.blob(type, -6, isBigEndian: isBigEndian)) == nil)
    }

    @Test(arguments: [1, 3, 4, 6, 8, 9]) func `in a blob that ends within the field is not read`(type: Int) {
        let blob = Self.blob(type, 6, isBigEndian: false)
        for count in 0..<22 { #expect(ExifOrientation.read(Array(blob.prefix(count))) == nil) }
    }

    /// A TIFF structure whose only field is an orientation of this type.
    private static func blob(_ type: Int, _ value: Int, isBigEndian: Bool) -> [UInt8] {
        func bytes(_ value: Int, _ count: Int) -> [UInt8] {
            let little = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return isBigEndian ? little.reversed() : little
        }
        let width = [1: 1, 6: 1, 3: 2, 8: 2][type] ?? 4
        return Array((isBigEndian ? "MM" : "II").utf8) + bytes(42, 2) + bytes(8, 4) + bytes(1, 2) + bytes(0x0112, 2)
            + bytes(type, 2) + bytes(1, 4) + bytes(value, width) + bytes(0, 4 - width) + bytes(0, 4)
    }
}
