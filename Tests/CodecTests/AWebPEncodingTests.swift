import AWebPCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

/// A canvas and its duration.
private struct Shown {
    var pixels: [UInt8]
    var duration = FrameDuration(40, over: 1000)
}

private func encode(
    _ images: [Shown], _ size: PixelSize, _ options: CoderOptions = ["lossless": .bool(true)],
    loops: LoopCount = .infinite, blobs: [MetadataBlob] = []
) throws -> [UInt8] {
    let encoder = try AWebPEncoder(EncoderSession(options: options))
    let sink = ByteSink()
    var info = ImageInfo(size: size, nativeFormat: .rgba8, frameCount: nil, loopCount: loops, isAnimated: true)
    info.orientation = .up
    try encoder.begin(info, to: sink)
    for blob in blobs { #expect(try encoder.add(blob)) }
    for (index, image) in images.enumerated() {
        let surface = Surface(try buffer(image.pixels, size))
        try encoder.add(
            FrameInfo(index: index, rect: PixelRect(size), duration: image.duration), pixels: surface)
    }
    try encoder.finish()
    return sink.written
}

private func buffer(_ pixels: [UInt8], _ size: PixelSize) throws -> PixelBuffer {
    let buffer = try PixelBuffer(size: size, format: .rgba8)
    for y in 0..<size.height {
        buffer.withMutableRow(y) { row in
            for offset in row.byteOffsets {
                row.storeBytes(of: pixels[y * size.width * 4 + offset], toByteOffset: offset, as: UInt8.self)
            }
        }
    }
    return buffer
}

private func decoder(_ file: [UInt8]) throws -> AWebPDecoder {
    let decoder = try AWebPDecoder(DecoderSession(source: ByteSource(file)))
    _ = try decoder.readHeader()
    return decoder
}

private func frames(_ file: [UInt8]) throws -> [FrameInfo] {
    let decoder = try decoder(file)
    var all: [FrameInfo] = []
    while let frame = try decoder.nextFrame() { all.append(frame) }
    return all
}

/// The canvases of the file, in order; blended frames must not depend on how a program blends.
private func play(_ file: [UInt8]) throws -> [[UInt8]] {
    let decoder = try decoder(file)
    let size = try decoder.readHeader().size
    var canvas = [UInt8](repeating: 0, count: size.width * size.height * 4)
    var cleared: PixelRect?
    var all: [[UInt8]] = []
    while let frame = try decoder.nextFrame() {
        let image = try PixelBuffer(size: frame.rect.size, format: .rgba8)
        let surface = Surface(image)
        #expect(try decoder.decode(DecodeRequest(), into: surface) == .complete)
        let samples = bytes(of: image)
        #expect(frame.rect.x % 2 == 0 && frame.rect.y % 2 == 0)
        func each(_ rect: PixelRect, _ body: (_ to: Int, _ from: Int) -> Void) {
            for y in 0..<rect.height {
                for x in 0..<rect.width { body(((rect.y + y) * size.width + rect.x + x) * 4, (y * rect.width + x) * 4) }
            }
        }
        if let cleared { each(cleared) { to, _ in canvas.replaceSubrange(to..<to + 4, with: [0, 0, 0, 0]) } }
        each(frame.rect) { to, from in
            let alpha = samples[from + 3]
            if frame.blend == .over {
                #expect(alpha == 0 || alpha == 255)
                if alpha == 0 { return }
            }
            canvas.replaceSubrange(to..<to + 4, with: alpha == 0 ? [0, 0, 0, 0] : samples[from..<from + 4])
        }
        cleared = frame.disposal == .background ? frame.rect : nil
        all.append(canvas)
    }
    return all
}

/// Images of one size whose pixels follow a rule.
private func images(
    _ count: Int, _ size: PixelSize, _ rule: (_ index: Int, _ x: Int, _ y: Int) -> [UInt8]
) -> [Shown] {
    (0..<count).map { index in
        Shown(pixels: (0..<size.height).flatMap { y in (0..<size.width).flatMap { x in rule(index, x, y) } })
    }
}

/// A square of 5 x 5 that moves; the rest is `ground`.
private func wandering(_ index: Int, _ x: Int, _ y: Int, square: [UInt8], ground: [UInt8]) -> [UInt8] {
    (index * 3..<index * 3 + 5).contains(x) && (index..<index + 5).contains(y) ? square : ground
}

@Suite struct `Animated WebP encoding` {
    private static let size = PixelSize(31, 17)
    private static let sequences: [(String, [Shown])] = [
        (
            "opaque",
            images(6, size) {
                wandering($0, $1, $2, square: [200, 10, 10, 255], ground: [UInt8($1 * 8), UInt8($2 * 15), 77, 255])
            }
        ),
        (
            "a square on transparency",
            images(6, size) { wandering($0, $1, $2, square: [9, 8, 7, 255], ground: [0, 0, 0, 0]) }
        ),
        (
            "translucent",
            images(6, size) { wandering($0, $1, $2, square: [250, 100, 50, 100], ground: [0, 0, 255, 60]) }
        ),
        (
            "a hole in an opaque area",
            images(6, size) { wandering($0, $1, $2, square: [0, 0, 0, 0], ground: [1, 2, 3, 255]) }
        ),
        (
            "every pixel",
            images(5, size) { [UInt8($0 * 50 + $1), UInt8($1 * $2 % 256), UInt8($2 * 9), UInt8(255 - $0)] }
        ),
        ("vanishing", images(3, size) { index, _, _ in index == 1 ? [0, 0, 0, 0] : [5, 5, 5, 255] }),
        (
            "one pixel at the corner",
            images(3, size) { $0 == 1 && $1 == 30 && $2 == 16 ? [255, 255, 255, 255] : [30, 60, 90, 255] }
        ),
    ]

    @Test(arguments: sequences.indices, [0, 1, 2])
    func `is lossless`(index: Int, keys: Int64) throws {
        let (name, images) = Self.sequences[index]
        let file = try encode(
            images, Self.size, ["lossless": .bool(true), "awebp.kmax": .integer(keys)])
        #expect(try play(file) == images.map(\.pixels), "\(name)")
        if keys > 0 {
            let whole = try frames(file).map { $0.rect == PixelRect(Self.size) && $0.blend == .source }
            #expect(stride(from: 0, to: whole.count, by: Int(keys)).allSatisfy { whole[$0] }, "\(name)")
        }
    }

    @Test(arguments: [PixelSize(1, 1), PixelSize(2, 1), PixelSize(1, 3), PixelSize(17, 16)])
    func `encodes any size`(size: PixelSize) throws {
        let shown = images(4, size) { [UInt8($0 * 60), UInt8($1), UInt8($2), 255] }
        #expect(try play(encode(shown, size)) == shown.map(\.pixels))
    }

    @Test func `codes only changed pixels`() throws {
        let all = try frames(encode(Self.sequences[0].1, Self.size))
        // From a square at (0, 0) to one at (3, 1), and so on; positions are even.
        #expect(all.map(\.rect)[1] == PixelRect(x: 0, y: 0, width: 8, height: 6))
        #expect(all.map(\.rect)[2] == PixelRect(x: 2, y: 0, width: 9, height: 7))
        #expect(all.map(\.blend) == [.source] + [Blend](repeating: .over, count: 5))
    }

    @Test func `clears the frame before if that is smaller`() throws {
        let all = try frames(encode(Self.sequences[1].1, Self.size))
        #expect(all.dropFirst().dropLast().allSatisfy { $0.disposal == .background })
        #expect(all.dropFirst(2).allSatisfy { $0.rect.width <= 6 && $0.rect.height <= 6 })
    }

    @Test func `merges equal images into one longer frame`() throws {
        let one = images(1, Self.size) { _, x, y in [UInt8(x), UInt8(y), 0, 255] }[0]
        let other = images(1, Self.size) { _, x, y in [UInt8(x), UInt8(y), 1, 255] }[0]
        let all = try frames(encode([one, one, one, other, other, one], Self.size))
        #expect(all.map(\.duration) == [120, 80, 40].map { FrameDuration($0, over: 1000) })
    }

    @Test func `does not merge durations that are rounded or too long`() throws {
        var one = images(1, Self.size) { _, _, _ in [1, 1, 1, 255] }[0]
        one.duration = FrameDuration(1, over: 30)
        #expect(try frames(encode([one, one, one], Self.size)).map(\.duration.numerator) == [33, 34, 33])
        one.duration = FrameDuration(16_777, over: 1)
        let file = try encode([one, one], Self.size)
        #expect(try frames(file).map(\.duration.numerator) == [16_777_000, 16_777_000])
        #expect(try play(file) == [one.pixels, one.pixels])
    }

    @Test(arguments: [FrameDuration(1, over: 30), FrameDuration(1001, over: 60_000), FrameDuration(7, over: 1 << 31)])
    func `rounds durations without drift`(duration: FrameDuration) throws {
        let size = PixelSize(2, 2)
        var shown = images(300, size) { index, _, _ in [UInt8(index % 256), UInt8(index / 256), 0, 255] }
        for index in shown.indices { shown[index].duration = duration }
        let sum = try frames(encode(shown, size)).reduce(0) { $0 + Int($1.duration.numerator) }
        let exact = 300 * 1000 * Double(duration.numerator) / Double(duration.denominator)
        #expect(abs(Double(sum) - exact) <= 1)
    }

    @Test func `cuts a duration that is too long`() throws {
        var shown = images(2, Self.size) { index, _, _ in [UInt8(index), 1, 1, 255] }
        shown[0].duration = FrameDuration(16_778, over: 1)
        #expect(try frames(encode(shown, Self.size)).map(\.duration.numerator) == [0xFF_FFFF, 40])
    }

    @Test(
        arguments: [
            (.infinite, .infinite), (.plays(1), .plays(1)), (.plays(7), .plays(7)), (.unknown, .plays(1)),
            (.plays(70_000), .plays(65_535)),
        ] as [(LoopCount, LoopCount)])
    func `stores the loop count`(given: LoopCount, stored: LoopCount) throws {
        let shown = images(2, Self.size) { index, _, _ in [UInt8(index), 0, 0, 255] }
        #expect(try decoder(encode(shown, Self.size, loops: given)).readHeader().loopCount == stored)
    }

    @Test func `carries metadata`() throws {
        let blobs = [
            MetadataBlob(.exif, ExifOrientation.blob(.right)), MetadataBlob(.xmp, [1, 2, 3]),
            MetadataBlob(.icc, [4, 5, 6]),
        ]
        let decoder = try decoder(encode(Self.sequences[0].1, Self.size, blobs: blobs))
        // The caller has rotated the pixels already.
        #expect(try decoder.readHeader().orientation == .up)
        #expect(
            try decoder.metadata() == [
                MetadataBlob(.exif, ExifOrientation.blob(.up)), MetadataBlob(.xmp, [1, 2, 3]),
                MetadataBlob(.icc, [4, 5, 6]),
            ])
    }

    @Test func `writes a still for a single image`() throws {
        let source = try #require(readFile(Repository.fixture("webp/gradient.pam"))).suffix(40 * 24 * 4)
        let file = try encode(
            [Shown(pixels: Array(source))], PixelSize(40, 24), ["lossless": .bool(true), "webp.exact": .bool(true)])
        // cwebp wrote this one.
        #expect(file == readFile(Repository.fixture("webp/lossless-alpha.webp")))
    }

    @Test func `passes non-animations to the still encoder`() throws {
        let encoder = try AWebPEncoder(EncoderSession(options: ["quality": .real(90)]))
        let source = try #require(readFile(Repository.fixture("webp/gradient.pam"))).suffix(40 * 24 * 4)
        let sink = ByteSink()
        try encoder.begin(ImageInfo(size: PixelSize(40, 24), nativeFormat: .rgba8), to: sink)
        let surface = Surface(try buffer(Array(source), PixelSize(40, 24)))
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(PixelSize(40, 24))), pixels: surface)
        try encoder.finish()
        #expect(sink.written == readFile(Repository.fixture("webp/lossy-alpha.webp")))
    }

    @Test func `stays close to the source if lossy`() throws {
        let size = PixelSize(64, 48)
        let shown = images(8, size) {
            wandering($0, $1 / 2, $2 / 2, square: [200, 40, 40, 255], ground: [UInt8($1 * 3), UInt8($2 * 4), 90, 255])
        }
        let lossy = try encode(shown, size, ["quality": .real(95)])
        let mixed = try encode(shown, size, ["quality": .real(95), "awebp.mixed": .string("yes")])
        #expect(try decoder(lossy).readHeader().isLossy && mixed.count <= lossy.count)
        for (seen, image) in zip(try play(lossy), shown) {
            let off = zip(seen, image.pixels).map { abs(Int($0) - Int($1)) }
            #expect(off.reduce(0, +) < 3 * off.count)
        }
    }

    @Test func `codes frames of few colors without loss if that is smaller`() throws {
        let size = PixelSize(64, 48)
        let few = images(4, size) {
            wandering(
                $0, $1, $2, square: [250, 20, 20, 255],
                ground: $1 / 8 % 2 == $2 / 8 % 2 ? [0, 0, 90, 255] : [255, 255, 255, 255])
        }
        let many = images(4, size) {
            wandering(
                $0, $1, $2, square: [250, 20, 20, 255], ground: [UInt8($1 * 4), UInt8($2 * 5), UInt8($1 + $2), 255])
        }
        let lossy: CoderOptions = ["awebp.mixed": .string("no")]
        let mixed: CoderOptions = ["awebp.mixed": .string("yes")]

        #expect(try encode(few, size, [:]) == encode(few, size, mixed))
        #expect(try encode(few, size, [:]).count < encode(few, size, lossy).count)
        #expect(try play(encode(few, size, [:])) == few.map(\.pixels))
        // The first frame has 3072 colors, the changes few.
        #expect(try encode(Array(many.prefix(1)), size, [:]) == encode(Array(many.prefix(1)), size, lossy))
    }

    @Test(arguments: [PixelSize(16_384, 1), PixelSize(1, 16_384)])
    func `refuses sides that are too long`(size: PixelSize) throws {
        #expect(throws: CoderError.self) {
            try encode([Shown(pixels: [UInt8](repeating: 0, count: size.width * size.height * 4))], size)
        }
    }

    @Test(arguments: [["awebp.kmax": -1], ["awebp.kmin": 9, "awebp.kmax": 3]] as [[String: Int64]])
    func `refuses invalid key frame distances`(values: [String: Int64]) {
        let options = CoderOptions(values.mapValues(OptionValue.integer))
        #expect(throws: CoderError.self) { try AWebPEncoder(EncoderSession(options: options)) }
    }

    @Test func `encodes ten thousand frames`() throws {
        let size = PixelSize(3, 3)
        let shown = images(10_000, size) {
            $1 == 1 && $2 == 1 ? [UInt8($0 % 256), UInt8($0 / 256), 0, 255] : [9, 9, 9, 255]
        }
        let all = try frames(encode(shown, size, ["lossless": .bool(true), "effort": .integer(0)]))
        #expect(all.count == 10_000 && all.allSatisfy { $0.index == 0 || $0.rect.width <= 2 })
    }

    /// libwebp's own programs, if they are installed.
    @Test(
        .enabled(if: (try? run(["webpmux", "-version"]).status) == 0 && (try? run(["dwebp", "-version"]).status) == 0))
    func `decodes the same in libwebp's programs`() throws {
        let place = TemporaryDirectory()
        for (name, shown) in Self.sequences {
            let file = try encode(shown, Self.size)
            place.write(file, to: "a.webp")
            let decoder = try decoder(file)
            while let frame = try decoder.nextFrame() {
                let number = "\(frame.index + 1)"
                #expect(
                    try run(["webpmux", "-get", "frame", number, place.file("a.webp"), "-o", place.file("f.webp")])
                        .status == 0)
                #expect(
                    try run(["dwebp", "-quiet", "-pam", place.file("f.webp"), "-o", place.file("f.pam")]).status == 0)
                let buffer = try PixelBuffer(size: frame.rect.size, format: .rgba8)
                let surface = Surface(buffer)
                _ = try decoder.decode(DecodeRequest(), into: surface)
                let pixels = bytes(of: buffer)
                #expect(try #require(readFile(place.file("f.pam"))).suffix(pixels.count) == pixels[...], "\(name)")
            }
        }
    }
}
