import CoderHost
import ImageModel
import TestSupport
import Testing

/// A coder that was written only with the public header, in an otherwise empty folder.
@Suite(.timeLimit(.minutes(40))) struct `A third-party coder` {
    typealias Edition = PluginBuilder.Edition

    /// A host with only this coder, and its folder.
    private func host(_ edition: Edition) throws -> (CoderHost, TemporaryDirectory) {
        let folder = TemporaryDirectory()
        try PluginBuilder.buildQOI(edition, into: folder.path)
        return (testHost(folder.path), folder)
    }

    @Test(arguments: Edition.allCases) func `is listed without running it`(edition: Edition) throws {
        let (host, folder) = try host(edition)

        let plugin = try #require(host.plugins.first)

        #expect(host.plugins.count == 1)
        #expect(plugin.status == PluginStatus(.ready))
        #expect(plugin.path == folder.file("libcoder-qoi.so"))
        #expect(plugin.id == "org.example.qoi-plugin")
        #expect(plugin.manifest?.abi.minorNeeded == 0)
        #expect(plugin.manifest?.coders.map(\.roles) == [[.decode, .encode, .incremental]])
        #expect(host.manager.format(ofExtension: "qoi") == "qoi")
    }

    @Test(arguments: Edition.allCases, [3, 4]) func `decodes what others wrote`(edition: Edition, channels: Int) throws
    {
        let (host, folder) = try host(edition)
        defer { withExtendedLifetime(folder) {} }
        let size = PixelSize(61, 47)
        let rows = samples(size, channels)

        let image = try host.manager.decode(ImageSource(QOI.encode(rows, size, channels)))

        #expect(image.coder == "org.example.qoi")
        #expect(image.format == "qoi")
        #expect(image.info.size == size)
        #expect(image.pixels.format == (channels == 3 ? .rgb8 : .rgba8))
        #expect(image.pixels.packed == rows)
        #expect(host.plugins.map(\.status.state) == [.loaded])
    }

    @Test(arguments: Edition.allCases, [3, 4]) func `writes what others read`(edition: Edition, channels: Int) throws {
        let (host, folder) = try host(edition)
        defer { withExtendedLifetime(folder) {} }
        let size = PixelSize(61, 47)
        let rows = samples(size, channels)
        let format: PixelFormat = channels == 3 ? .rgb8 : .rgba8
        let image = DecodedImage(
            info: ImageInfo(size: size, nativeFormat: format), pixels: try .of(size, format, rows), format: "x",
            coder: "x")

        let bytes = try host.manager.encode(image, to: "qoi")

        let decoded = try #require(QOI.decode(bytes))
        #expect(decoded.size == size)
        #expect(decoded.channels == channels)
        #expect(decoded.rows == rows)
        #expect(try host.manager.decode(ImageSource(bytes)).pixels.packed == rows)
    }

    @Test(arguments: Edition.allCases) func `shows rows of a growing source`(edition: Edition) throws {
        let (host, folder) = try host(edition)
        defer { withExtendedLifetime(folder) {} }
        let size = PixelSize(8, 64)
        let bytes = QOI.encode(samples(size, 4), size, 4)
        let source = try ImageSource(growingTo: bytes.count, name: "x.qoi")
        try source.append(Array(bytes[..<200]))

        let early = #expect(throws: CoderError.self) { try host.manager.decode(source) }
        try source.append(Array(bytes[200...]))
        source.finish()

        #expect(early?.code == .needsInput)
        #expect(try host.manager.decode(source).pixels.packed == samples(size, 4))
    }

    @Test(arguments: Edition.allCases) func `receives its options and checks its schema`(edition: Edition) throws {
        let (host, folder) = try host(edition)
        defer { withExtendedLifetime(folder) {} }
        let image = try host.manager.decode(ImageSource(Array("P6 1 1 255 ".utf8) + [1, 2, 3]))

        #expect(try host.manager.encode(image, to: "qoi", options: ["qoi.colorspace": .string("linear")])[13] == 1)
        #expect(try host.manager.encode(image, to: "qoi", options: ["qoi.colorspace": .string("srgb")])[13] == 0)
        let error = #expect(throws: CoderError.self) {
            try host.manager.encode(image, to: "qoi", options: ["qoi.colourspace": .string("srgb")])
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.hint == "did you mean qoi.colorspace?")
    }

    @Test(arguments: Edition.allCases) func `reports damage with its offset`(edition: Edition) throws {
        let (host, folder) = try host(edition)
        defer { withExtendedLifetime(folder) {} }
        var bytes = QOI.encode(samples(PixelSize(5, 5), 4), PixelSize(5, 5), 4)
        let cut = #expect(throws: CoderError.self) { try host.manager.decode(ImageSource(Array(bytes.dropLast(20)))) }
        bytes[12] = 5
        let channels = #expect(throws: CoderError.self) { try host.manager.decode(ImageSource(bytes)) }

        #expect(cut?.code == .truncated)
        #expect(channels?.code == .corrupt)
        #expect(channels?.inputOffset == 12)
        #expect(channels?.coder == "org.example.qoi")
    }

    @Test func `works with the project's own plugins`() throws {
        let folder = TemporaryDirectory()
        try PluginBuilder.buildQOI(into: folder.path)
        let host = testHost(folder.path, Repository.products)
        let photo = try host.manager.decode(ImageSource(Fixture.named("images/f.png").bytes))

        let again = try host.manager.decode(ImageSource(try host.manager.encode(photo, to: "qoi")))

        #expect(PixelDigest.of(again.pixels) == Fixture.named("images/f.png").expect?.pixelSHA256)
    }

    /// Flat areas, gradients and noise, so that every operation of the format occurs.
    private func samples(_ size: PixelSize, _ channels: Int) -> [UInt8] {
        var random = SeededRandom(7)
        var rows: [UInt8] = []
        for y in 0..<size.height {
            for x in 0..<size.width {
                switch (x / 8 + y / 8) % 4 {
                case 0: rows += [200, 10, 30, 255].prefix(channels)
                case 1: rows += [UInt8(x), UInt8(x + y), UInt8(y), 255].prefix(channels)
                case 2: rows += [UInt8(x * 3 & 255), UInt8(x * 3 & 255), UInt8(x * 3 & 255), UInt8(y)].prefix(channels)
                default: rows += (0..<channels).map { _ in UInt8.random(in: 0...255, using: &random) }
                }
            }
        }
        return rows
    }
}

/// An independent implementation of the format.
///
/// - Source: "The Quite OK Image Format", specification 1.0.
private enum QOI {
    struct Pixel: Hashable {
        var r: UInt8 = 0, g: UInt8 = 0, b: UInt8 = 0, a: UInt8 = 255
        var place: Int { (Int(r) * 3 + Int(g) * 5 + Int(b) * 7 + Int(a) * 11) % 64 }
    }

    static func decode(_ bytes: [UInt8]) -> (size: PixelSize, channels: Int, rows: [UInt8])? {
        guard bytes.count >= 22, bytes.starts(with: "qoif".utf8), bytes.suffix(8) == [0, 0, 0, 0, 0, 0, 0, 1] else {
            return nil
        }
        func u32(_ at: Int) -> Int { bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
        let size = PixelSize(u32(4), u32(8))
        let channels = Int(bytes[12])
        var rows: [UInt8] = []
        var seen = [Pixel](repeating: Pixel(r: 0, g: 0, b: 0, a: 0), count: 64)
        var pixel = Pixel()
        var at = 14
        while at < bytes.count - 8 {
            let tag = bytes[at]
            at += 1
            var count = 1
            switch tag {
            case 0xFE, 0xFF:
                (pixel.r, pixel.g, pixel.b) = (bytes[at], bytes[at + 1], bytes[at + 2])
                if tag == 0xFF { pixel.a = bytes[at + 3] }
                at += tag == 0xFF ? 4 : 3
            case 0..<0x40: pixel = seen[Int(tag)]
            case 0x40..<0x80:
                pixel.r &+= (tag >> 4 & 3) &- 2
                pixel.g &+= (tag >> 2 & 3) &- 2
                pixel.b &+= (tag & 3) &- 2
            case 0x80..<0xC0:
                let green = (tag & 63) &- 32
                pixel.r &+= green &- 8 &+ (bytes[at] >> 4)
                pixel.g &+= green
                pixel.b &+= green &- 8 &+ (bytes[at] & 15)
                at += 1
            default: count = Int(tag & 63) + 1
            }
            seen[pixel.place] = pixel
            for _ in 0..<count { rows += [pixel.r, pixel.g, pixel.b, pixel.a].prefix(channels) }
        }
        return rows.count == size.width * size.height * channels ? (size, channels, rows) : nil
    }

    /// Uses only runs and whole pixels: valid, and unlikely to share a bug with a decoder.
    static func encode(_ rows: [UInt8], _ size: PixelSize, _ channels: Int) -> [UInt8] {
        func u32(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(value >> $0 & 255) } }
        var bytes = Array("qoif".utf8) + u32(size.width) + u32(size.height) + [UInt8(channels), 0]
        var seen: [Int: Pixel] = [:]
        var last = Pixel()
        var isRun = false
        for at in stride(from: 0, to: rows.count, by: channels) {
            let pixel = Pixel(r: rows[at], g: rows[at + 1], b: rows[at + 2], a: channels == 4 ? rows[at + 3] : 255)
            if pixel == last {
                if isRun, bytes[bytes.count - 1] < 0xFD { bytes[bytes.count - 1] += 1 } else { bytes.append(0xC0) }
                isRun = true
                continue
            }
            isRun = false
            if seen[pixel.place] == pixel {
                bytes.append(UInt8(pixel.place))
            } else {
                bytes +=
                    pixel.a == last.a ? [0xFE, pixel.r, pixel.g, pixel.b] : [0xFF, pixel.r, pixel.g, pixel.b, pixel.a]
            }
            seen[pixel.place] = pixel
            last = pixel
        }
        return bytes + [0, 0, 0, 0, 0, 0, 0, 1]
    }
}
