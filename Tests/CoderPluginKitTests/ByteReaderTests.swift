import CoderPluginKit
import ImageModel
import Testing

@Suite struct `Byte reader` {
    @Test func `reads numbers in both orders`() throws {
        var reader = ByteReader(ByteSource([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]))

        #expect(try reader.u8() == 1)
        #expect(try reader.u16BE() == 0x0203)
        #expect(try reader.u32BE() == 0x0405_0607)
        #expect(try reader.u16LE() == 0x0908)
        #expect(try reader.u32LE() == 0x0D0C_0B0A)
        #expect(throws: CoderError.truncated()) { try reader.u8() }
    }

    @Test func `does not move when a number is truncated`() {
        var reader = ByteReader(ByteSource([1, 2, 3]))

        #expect(throws: CoderError.truncated()) { try reader.u32BE() }
        #expect(reader.offset == 0)
    }

    @Test func `rejects a signature at its first wrong byte`() throws {
        var short = ByteReader(ByteSource([1, 9]))
        #expect(try short.consume([1, 2, 3]) == false)
        #expect(short.offset == 0)

        var cut = ByteReader(ByteSource([1, 2]))
        #expect(throws: CoderError.truncated()) { try cut.consume([1, 2, 3]) }
    }

    @Test(arguments: [Int.max, Int.max - 1, 5]) func `survives a count that is too large`(count: Int) {
        var reader = ByteReader(ByteSource([1, 2, 3, 4]), at: 2)

        #expect(throws: CoderError.truncated()) { try reader.skip(count) }
        #expect(throws: CoderError.truncated()) { try reader.bytes(count) }
    }

    @Test func `reports a negative length as damage`() {
        let reader = ByteReader(ByteSource([1, 2, 3, 4]))

        #expect { try reader.require(-1) } throws: { ($0 as? CoderError)?.code == .corrupt }
    }
}
