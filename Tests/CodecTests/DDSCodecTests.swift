import ClassicsCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

/// The pixels of whole files are those of the fixtures, which every bundled coder must decode.
@Suite(.timeLimit(.minutes(40))) struct `DDS codec` {
    private static func little(_ values: [Int]) -> [UInt8] {
        values.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    }

    /// A file with the header of Direct3D 10.
    private static func file(_ width: Int, _ height: Int, dxgi: Int, alphaMode: Int = 0, _ body: [UInt8]) -> [UInt8] {
        var fields = [Int](repeating: 0, count: 31)
        (fields[0], fields[1], fields[2], fields[3]) = (124, 0x1007, height, width)
        (fields[18], fields[19], fields[26]) = (32, 4, 0x1000)
        var bytes = Array("DDS ".utf8) + little(fields)
        bytes.replaceSubrange(84..<88, with: Array("DX10".utf8))
        return bytes + little([dxgi, 3, 0, 1, alphaMode]) + body
    }

    private func digits(_ text: String) -> [UInt8] {
        let values = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }

    /// Blocks of random bits, one in each mode of BC6H, and their pixels from 0 to 1 in 8 bits, as Pillow 13 decodes them.
    static let halfBlocks = [
        (
            "e0b9d5e8e2d49731a82dc0831e0e6d93",
            "833d147d3c15793b156a4f147d3c157a3c157e3d146a4f14793b15833d147f3d147048157e3d147e3d147f3d146e4a15"
        ),
        (
            "dd761c5f2472c63fee7606215f1b05fa",
            "554f17101fff0a1eff101fff5d3916830f14031bff0a1eff662b16662b16701d150a1eff4c6b17701d15830f14940c14"
        ),
        (
            "02e47bade62c9d2796db7e8dfb18c6f4",
            "22173d21163d23173d22173d22163d22173d21163d22173d28193e22173d23173d22173d23183b27193d22163d21163d"
        ),
        (
            "266a85d3753403e0711b987799706995",
            "3a1b143b1c143e1c133c1c133a1b143b1c143a1b14391b143b1c143a1a14391b14391b143a1b143a1b14391b14391b14"
        ),
        (
            "6a6c6f632d55ad4b89a2e5d859b08b2b",
            "48110b4c100a48110b4c100a4c100a48110b4a110a48110b4b100a4c110b4c130b4c110a4c110b4c110b4c120b4b100a"
        ),
        (
            "ce5d74b971b45960046f8150034946a0",
            "b78956b78956c69756f6c356d6a556e5b356b78956f6c356f6c356f6c356f6c356c27635d6a556c76d31b5a640be7f38"
        ),
        (
            "120bb4db5eb0a1761e4cec4e6318a9f6",
            "14547a5d3d4653374b3f295711456c3f29574a3051351e61176395351e613a225c3a225c1a71b15d3d465d3d463f2957"
        ),
        (
            "76eb32e470e910d3db06163310314caf",
            "152c7d152c7d3040bd2138a33440711129761830882138a3343867345f893438671c3495344f7a34bbda347fb3344f7a"
        ),
        (
            "1a8d2fdae0e6bed4b14ab9ed714dfa09",
            "30142f2e11222e11222e1122250b0b32163b270c0e162874270c0e172685172685152a66152d581a1fdd1a1fdd1a1ef9"
        ),
        (
            "7e81cdabbd65ab4d44e58d378288e8f8",
            "c7541a00540bff5454ff542f03540e18541300540b185413ff542200540b03540e18541300ff73ff03ff00ff731c3aff"
        ),
        (
            "6332ebb02b6face22089f76824c7fcd9",
            "269ea6316f9b6b257d612c7f573383d80e6e612c7f4e3a883b5492316f9b573383981775981775d80e6e6b257dab1373"
        ),
        (
            "0751af872704b9cfd49c76ff3b5c9589",
            "083daf182a54162b5a0f316d0c367e0d34781c26471c2647142d5f093ca3162b5a0b388c0b388c0f316d0f316d0e3372"
        ),
        (
            "ebb95c6fa293d020bbc8e622ad7ffb7e",
            "18360a1e2a0b1b300a1f280b19340a22240c163c09163c0920260c1d2c0b24220c1a320a1e2a0b24220c22240c1a320a"
        ),
        (
            "0fb365513ad3b430ef1bd70ffd3ffd4d",
            "290f27290f27290f27290f27290f27290f27290f27290f27290f27290f27290f27290f27290f27290f27290f27290f27"
        ),
    ]

    @Test(arguments: halfBlocks) func `decodes a block of half-precision colors`(block: String, expected: String) throws
    {
        let (info, pixels) = try Classic.decode("dds", Self.file(4, 4, dxgi: 95, digits(block)))

        #expect(info.nativeFormat == .rgb16 && info.bitDepth == 16)
        #expect(info.color.codePoints?.transfer == 13)
        for (index, wanted) in digits(expected).enumerated() {
            let sample = Int(pixels[2 * index]) | Int(pixels[2 * index + 1]) << 8
            let value = Classic.linear(Float(sample) / 65_535)
            #expect(abs(value * 255 - Float(wanted)) < 1.05, "sample \(index)")
        }
    }

    @Test func `a reserved mode of half-precision colors is black`() throws {
        let block = [0x13] + [UInt8](repeating: 0xff, count: 15)
        #expect(try Classic.decode("dds", Self.file(4, 4, dxgi: 95, block)).pixels.allSatisfy { $0 == 0 })
    }

    @Test func `signed values begin at the middle`() throws {
        // 127 and -127 are the ends; index 0 everywhere, then index 1.
        let block: [UInt8] = [127, 0x81] + [UInt8](repeating: 0, count: 6)
        #expect(try Classic.decode("dds", Self.file(4, 4, dxgi: 81, block)).pixels.allSatisfy { $0 == 255 })
        let zero = [UInt8](repeating: 0, count: 16)
        #expect(try Classic.decode("dds", Self.file(4, 4, dxgi: 84, zero)).pixels.allSatisfy { $0 == 128 })
    }

    @Test(
        arguments: [(0, PixelFormat.Alpha.straight, 7), (2, .premultiplied, 7), (3, .opaque, 255)]
            as [(Int, PixelFormat.Alpha, UInt8)])
    func `the header states the meaning of alpha`(mode: Int, alpha: PixelFormat.Alpha, expected: UInt8) throws {
        let (info, pixels) = try Classic.decode("dds", Self.file(1, 1, dxgi: 28, alphaMode: mode, [1, 2, 3, 7]))

        #expect(info.nativeFormat.alpha == alpha)
        #expect(pixels == [1, 2, 3, expected])
    }

    /// The sRGB value of light 0.5 is 0.735357.
    @Test(arguments: [(16, [0, 0, 0x80, 0x3f, 0, 0, 0, 0x3f]), (34, [0, 0x3c, 0, 0x38])] as [(Int, [UInt8])])
    func `floats become sRGB of 16 bits, and missing colors are 0`(dxgi: Int, body: [UInt8]) throws {
        let (info, pixels) = try Classic.decode("dds", Self.file(1, 1, dxgi: dxgi, body))

        #expect(info.nativeFormat == .rgb16)
        #expect(info.color.codePoints?.transfer == 13)
        #expect(pixels == [0xff, 0xff, 0x40, 0xbc, 0, 0])
    }

    // MARK: Levels and items

    private func cube() throws -> any ItemDecoder {
        try #require(
            try Classic.decoder("dds", ByteSource(Fixture.named("classics/cube.dds").bytes)) as? any ItemDecoder)
    }

    private func pixels(_ decoder: any ItemDecoder, _ size: PixelSize) throws -> [UInt8] {
        let buffer = try PixelBuffer(size: size, format: .rgba8)
        let request = DecodeRequest(scaledSize: size)
        #expect(try decoder.decode(request, into: Surface(buffer)) == .complete)
        return buffer.packed
    }

    /// The recipe stores 255 − 40 · face, 40 · face, 60 · level.
    @Test func `smaller levels are reduced sizes, faces are items`() throws {
        let decoder = try cube()
        let info = try decoder.readHeader()
        #expect(info.hasItems && info.size == PixelSize(4, 4))
        #expect(try decoder.itemCount() == 6)
        #expect(decoder.scaledSize(atLeast: PixelSize(2, 1), of: info.size) == PixelSize(2, 2))
        #expect(decoder.scaledSize(atLeast: PixelSize(3, 3), of: info.size) == PixelSize(4, 4))
        for face in [0, 5, 2] {
            try decoder.select(item: face)
            for (level, side) in [(0, 4), (2, 1), (1, 2)] {
                let color = [UInt8(255 - 40 * face), UInt8(40 * face), UInt8(60 * level), 255]
                let expected = (0..<side * side).flatMap { _ in color }
                #expect(try pixels(decoder, PixelSize(side, side)) == expected, "face \(face), level \(level)")
            }
        }
        #expect(try (0..<6).map { try decoder.item(at: $0)?.name } == ["+x", "-x", "+y", "-y", "+z", "-z"])
        #expect(try decoder.item(at: 6) == nil)
        #expect(throws: CoderError.self) { try decoder.select(item: 6) }
    }
}
