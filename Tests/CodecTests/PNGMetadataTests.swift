import ImageModel
import Testing

@Suite struct `PNG metadata` {
    @Test func `is reported verbatim`() throws {
        let exif = ExifOrientation.blob(.right)
        let latin: [UInt8] = Array("Title".utf8) + [0, 0xE9]
        let international = Array("Author".utf8) + [0, 0, 0, 0, 0] + Array("Žofie".utf8)
        let packed = Array("Note".utf8) + [0, 0] + storedZlib(Array("deflated".utf8))
        let xmp = Array("XML:com.adobe.xmp".utf8) + [0, 0, 0, 0, 0] + Array("<x/>".utf8)
        let decoded = try decodePNG(
            onePixelPNG(
                before: [
                    pngChunk("iCCP", Array("p".utf8) + [0, 0] + storedZlib(iccProfile())),
                    pngChunk("gAMA", be32(45455)),
                    pngChunk("tEXt", latin), pngChunk("zTXt", packed), pngChunk("pHYs", be32(2835) + be32(5669) + [1]),
                ], after: [pngChunk("iTXt", international), pngChunk("iTXt", xmp), pngChunk("eXIf", exif)]
            ).bytes)
        #expect(decoded.samples == [10, 20, 30])
        #expect(decoded.info.color == ColorDescription(hasProfile: true, gamma: 45_455))
        #expect(decoded.info.density == .perMeter(x: 2835, y: 5669))
        #expect(decoded.info.orientation == .right)
        #expect(decoded.blob(.icc) == iccProfile())
        #expect(decoded.blob(.exif) == exif)
        #expect(decoded.blob(.xmp) == Array("<x/>".utf8))
        #expect(decoded.blob(.text, "Title") == Array("é".utf8))
        #expect(decoded.blob(.text, "Author") == Array("Žofie".utf8))
        #expect(decoded.blob(.text, "Note") == Array("deflated".utf8))
        #expect(decoded.blobs.count == 6)
    }

    /// A profile in ImageMagick's form.
    private func rawProfile(_ type: String, _ bytes: [UInt8], length: Int? = nil) -> [UInt8] {
        let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let text = "\n\(type)\n      \(length ?? bytes.count)\n\(digits)\n"
        return pngChunk("tEXt", Array("Raw profile type \(type)".utf8) + [0] + Array(text.utf8))
    }

    @Test func `is found in raw profiles, without their orientation`() throws {
        let head = Array("Exif".utf8) + [0, 0]
        let exif = ExifOrientation.blob(.right)
        let packet = Array("http://ns.adobe.com/xap/1.0/".utf8) + [0] + Array("<x/>".utf8)
        for chunk in [rawProfile("exif", head + exif), rawProfile("exif", exif), rawProfile("APP1", head + exif)] {
            let decoded = try decodePNG(onePixelPNG(before: [chunk]).bytes)
            #expect(decoded.blobs.map(\.kind) == [.exif])
            #expect(decoded.blob(.exif) == ExifOrientation.replacing(exif, with: .up))
            #expect(decoded.info.orientation == nil)
        }
        for chunk in [rawProfile("xmp", Array("<x/>".utf8)), rawProfile("xmp", packet)] {
            #expect(try decodePNG(onePixelPNG(after: [chunk]).bytes).blobs == [MetadataBlob(.xmp, Array("<x/>".utf8))])
        }
    }

    @Test func `stays text if a raw profile is damaged, of unknown kind, or repeats Exif`() throws {
        let exif = ExifOrientation.blob(.right)
        let chunks = [
            rawProfile("exif", exif, length: exif.count + 1), rawProfile("exif", Array("none".utf8)),
            rawProfile("iptc", exif), rawProfile("exif", []), rawProfile("exif", exif, length: -1),
            rawProfile("APP1", Array("http://ns.adobe.com/xap/1.0/".utf8) + [0] + Array("<x/>".utf8)),
        ]
        for chunk in chunks {
            #expect(try decodePNG(onePixelPNG(before: [chunk]).bytes).blobs.map(\.kind) == [.text])
        }
        let twice = try decodePNG(
            onePixelPNG(before: [rawProfile("exif", exif)], after: [pngChunk("eXIf", exif)]).bytes)
        #expect(twice.blobs.map(\.kind) == [.text, .exif] && twice.blob(.exif) == exif)
    }

    @Test func `describes the colors`() throws {
        let cicp = pngChunk("cICP", [9, 16, 0, 1])
        let points = CodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true)
        #expect(try decodePNG(onePixelPNG().bytes).info.color == ColorDescription())
        #expect(
            try decodePNG(onePixelPNG(before: [pngChunk("sRGB", [0])]).bytes).info.color
                == ColorDescription(codePoints: .sRGB))
        let preferred = ColorDescription(codePoints: points, prefersCodePoints: true)
        #expect(try decodePNG(onePixelPNG(before: [cicp]).bytes).info.color == preferred)
        #expect(try decodePNG(onePixelPNG(before: [cicp, pngChunk("sRGB", [0])]).bytes).info.color == preferred)
        #expect(try decodePNG(onePixelPNG(before: [pngChunk("sRGB", [0]), cicp]).bytes).info.color == preferred)
    }

    @Test func `omits a damaged profile`() throws {
        var wrong = iccProfile()
        wrong[36] = 0x41
        let files = [
            pngChunk("iCCP", Array("p".utf8) + [0, 0] + storedZlib(wrong)),
            pngChunk("iCCP", Array("p".utf8) + [0, 0, 0x78, 0x01, 0xFF]),
            pngChunk("iCCP", Array("p".utf8) + [0, 0] + storedZlib(iccProfile()), damaged: true),
        ]
        for broken in files {
            let decoded = try decodePNG(onePixelPNG(before: [broken]).bytes)
            #expect(decoded.samples == [10, 20, 30])
            #expect(!decoded.info.color.hasProfile && decoded.blob(.icc) == nil)
        }
    }

    @Test func `is limited, packed and unpacked`() throws {
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 1000
        // zlib of 20 000 times "a", from Python's zlib.compress(b"a" * 20000, 9).
        let bomb = bombOfLetters
        let file = onePixelPNG(
            before: [
                pngChunk("zTXt", Array("Bomb".utf8) + [0, 0] + bomb),
                pngChunk("tEXt", Array("Long".utf8) + [0] + [UInt8](repeating: 0x61, count: 2000)),
                pngChunk("tEXt", Array("Short".utf8) + [0, 0x61]),
            ])
        #expect(try decodePNG(file.bytes).blob(.text, "Bomb")?.count == 20000)
        let bounded = try decodePNG(file.bytes, limits: limits)
        #expect(bounded.blobs.allSatisfy { $0.bytes.count <= 1000 })
        #expect(bounded.blob(.text, "Short") == [0x61])
        // Several texts that each fit the limit exceed it together.
        let many = onePixelPNG(
            before: (0..<20).map { pngChunk("tEXt", Array("T\($0)".utf8) + [0] + [UInt8](repeating: 0x61, count: 200)) }
        )
        #expect(try decodePNG(many.bytes, limits: limits).blobs.count == 5)
    }

    @Test func `uses the first of several Exif chunks`() throws {
        let first: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0]
        let second: [UInt8] = [0x4D, 0x4D, 0, 42, 0, 0, 0, 8]
        let file = onePixelPNG(before: [pngChunk("eXIf", first), pngChunk("eXIf", second), pngChunk("eXIf", second)])

        #expect(try decodePNG(file.bytes).blobs == [MetadataBlob(.exif, first)])
    }

    @Test func `of an animation leaves the default image a still`() throws {
        let file = onePixelPNG(before: [
            pngChunk("acTL", be32(2) + be32(0)), pngChunk("fcTL", [UInt8](repeating: 0, count: 26)),
        ])
        let info = try decodePNG(file.bytes).info
        #expect(info.isAnimated && info.frameCount == 1)
    }
}

private let bombOfLetters: [UInt8] = [
    0x78, 0xDA, 0xED, 0xC1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xC2, 0xA0, 0xAC, 0xEB, 0x5F, 0xC2, 0x1A,
    0x1E, 0x40, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0xF0, 0x60, 0x62, 0xF9, 0x9B, 0xD4,
]
