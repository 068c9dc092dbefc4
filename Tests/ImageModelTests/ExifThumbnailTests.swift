import ImageModel
import Testing

@Suite struct `Exif thumbnail` {
    /// An orientation, then a thumbnail of five bytes.
    private func blob(bigEndian: Bool) -> (bytes: [UInt8], link: Int, thumbnail: Range<Int>) {
        func short(_ value: Int) -> [UInt8] {
            let pair = [UInt8(value >> 8), UInt8(value & 255)]
            return bigEndian ? pair : pair.reversed()
        }
        func long(_ value: Int) -> [UInt8] {
            bigEndian ? short(value >> 16) + short(value & 65_535) : short(value & 65_535) + short(value >> 16)
        }
        let first = short(1) + short(0x0112) + short(3) + long(1) + short(6) + short(0)
        let link = 8 + first.count
        let second = link + 4
        let start = second + 2 + 24 + 4
        let directory =
            short(2) + short(0x0201) + short(4) + long(1) + long(start) + short(0x0202) + short(4) + long(1) + long(5)
        let bytes =
            (bigEndian ? [0x4D, 0x4D] : [0x49, 0x49]) + short(42) + long(8) + first + long(second) + directory + long(0)
            + [1, 2, 3, 4, 5]
        return (bytes, link, start..<start + 5)
    }

    @Test(arguments: [false, true])
    func `is cut off at the end, zeroed elsewhere and unlinked, and the rest stays`(bigEndian: Bool) {
        var (bytes, link, thumbnail) = blob(bigEndian: bigEndian)
        #expect(ExifThumbnail.removing(bytes).count == thumbnail.lowerBound)
        #expect(ExifThumbnail.removing(bytes + [0, 0]).count == thumbnail.lowerBound)
        bytes += [7]

        let without = ExifThumbnail.removing(bytes)

        #expect(without.count == bytes.count && without.last == 7)
        #expect(Array(without[link..<link + 4]) == [0, 0, 0, 0])
        #expect(Array(without[thumbnail]) == [0, 0, 0, 0, 0])
        #expect(Array(without[..<link]) == Array(bytes[..<link]))
        #expect(ExifOrientation.read(without) == .right)
        #expect(ExifThumbnail.removing(without) == without)
    }

    @Test func `of a truncated or empty blob is never read outside of it`() {
        let (bytes, link, _) = blob(bigEndian: false)
        // Blobs that end with IFD0.
        let thumbnailless = link + 4

        for count in 0..<bytes.count { #expect(ExifThumbnail.removing(Array(bytes[..<count])).count == count) }
        for place in 0..<bytes.count {
            for value: UInt8 in [0, 1, 0x7F, 0xFF] {
                var damaged = bytes
                damaged[place] = value
                #expect((thumbnailless...bytes.count).contains(ExifThumbnail.removing(damaged).count))
            }
        }
        #expect(ExifThumbnail.removing(ExifOrientation.blob(.left)) == ExifOrientation.blob(.left))
    }

    @Test func `never erases bytes before it, even with forged offsets`() {
        let (bytes, link, _) = blob(bigEndian: false)
        var lying = bytes
        // IFD1: its first field holds the start, its second the length.
        let first = link + 4 + 2 + 8
        lying.replaceSubrange(first..<first + 4, with: [8, 0, 0, 0])
        lying.replaceSubrange(first + 12..<first + 16, with: [UInt8(bytes.count - 8), 0, 0, 0])

        let without = ExifThumbnail.removing(lying)

        #expect(ExifOrientation.read(without) == .right)
        #expect(Array(without[..<link]) == Array(bytes[..<link]))
    }
}
