import TestSupport
import Testing

/// A third-party coder that uses only the header, run by a host that uses only the header.
@Suite(.timeLimit(.minutes(40))) struct `A coder from outside` {
    typealias Edition = PluginBuilder.Edition

    /// 9 x 2 pixels with every operation, encoded by hand from the description of the format.
    ///
    /// The hash of a pixel is (3 r + 5 g + 7 b + 11 a) % 64.
    static let image: [UInt8] =
        header(width: 9, height: 2, channels: 4) + [
            0xC1,  // RUN 2 of the first pixel 0,0,0,255
            0xFE, 10, 20, 30,  // RGB 10,20,30,255, hash (30 + 100 + 210 + 2805) % 64 = 9
            0x7F,  // DIFF +1 +1 +1: 11,21,31,255
            0x40,  // DIFF -2 -2 -2: 9,19,29,255
            0xBF, 0xF0,  // LUMA green +31, red 31 + 7, blue 31 - 8: 47,50,52,255
            0x80, 0x88,  // LUMA green -32, red and blue alike: 15,18,20,255
            0x09,  // INDEX 9: 10,20,30,255 again
            0xFF, 1, 2, 3, 4,  // RGBA 1,2,3,4
            // the second row
            0x75,  // DIFF +1 -1 -1: 2,1,2,4
            0x40,  // DIFF -2 -2 -2: 0,255,0,4, wrapping around
            0xC6,  // RUN 7 of it
            0, 0, 0, 0, 0, 0, 0, 1,
        ]
    static let pixels: [UInt8] = [
        0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 255, 11, 21, 31, 255, 9, 19, 29, 255, 47, 50, 52, 255, 15, 18, 20, 255,
        10, 20, 30, 255, 1, 2, 3, 4,
        2, 1, 2, 4, 0, 255, 0, 4, 0, 255, 0, 4, 0, 255, 0, 4, 0, 255, 0, 4, 0, 255, 0, 4, 0, 255, 0, 4, 0, 255, 0, 4,
        0, 255, 0, 4,
    ]

    static func header(width: UInt8, height: UInt8, channels: UInt8, linear: UInt8 = 0) -> [UInt8] {
        [0x71, 0x6F, 0x69, 0x66, 0, 0, 0, width, 0, 0, 0, height, channels, linear]
    }

    @Test(arguments: Edition.allCases, Edition.allCases)
    func `gives the same pixels if either side is older`(plugin: Edition, host: Edition) throws {
        let folder = TemporaryDirectory()
        let command = [
            try PluginBuilder.buildHost(host, into: folder.path), try PluginBuilder.buildQOI(plugin, into: folder.path),
        ]

        let decoded = try run(command + ["decode", "memory"], input: Self.image)
        let encoded = try run(command + ["encode", "9", "2", "4"], input: Self.pixels)

        #expect(decoded.output == Self.pixels, "\(decoded.stderr)")
        #expect(encoded.output == Self.image, "\(encoded.stderr)")
    }

    @Test(arguments: [["memory"], ["reader"], ["growing", "1"], ["growing", "5"], ["partial", "1"]])
    func `decodes from every kind of source`(source: [String]) throws {
        let result = try Tool.shared.decode(Self.image, source)

        #expect(result.output == Self.pixels, "\(result.stderr)")
    }

    @Test func `delivers rows as they arrive`() throws {
        let result = try Tool.shared.decode(Self.image, ["partial", "6"])

        // Of 42 bytes in steps of 6 the header takes three; after 18, 24, 30 and 36 there are new rows.
        #expect(result.output == Self.pixels)
        #expect(result.stderr.contains("parts 4"))
    }

    @Test(arguments: 1..<image.count, ["memory", "reader"])
    func `reports truncation at every length`(count: Int, source: String) throws {
        let result = try Tool.shared.decode(Array(Self.image[..<count]), [source])

        #expect(result.status == 112)
    }

    @Test(
        arguments: [
            ("another magic number", 0, 0x51, 101), ("no columns", 7, 0, 103), ("no rows", 11, 0, 103),
            ("5 channels", 12, 5, 103), ("color space 2", 13, 2, 103), ("no end marker", image.count - 1, 2, 103),
            ("a run past the end", image.count - 9, 0xFD, 103), ("more pixels than the limits allow", 4, 1, 104),
        ] as [(String, Int, UInt8, Int32)])
    func `refuses`(_ what: String, offset: Int, byte: UInt8, status: Int32) throws {
        var bytes = Self.image
        bytes[offset] = byte

        #expect(try Tool.shared.decode(bytes, ["memory"]).status == status)
    }

    @Test(
        arguments: [
            ("qoi.strict=true", 103), ("qoi.strict=false", 0), ("qoi.colorspace=linear", 103), ("qoi.strict=word", 105),
            ("qoi.colorspace=green", 105), ("qoi.unknown=1", 105),
        ] as [(String, Int32)])
    func `accepts its options and rejects others`(option: String, status: Int32) throws {
        var bytes = Self.image
        bytes[bytes.count - 1] = 2

        let result = try Tool.shared.decode(bytes, ["memory", option])

        #expect(result.status == status, "\(result.stderr)")
        #expect(status != 0 || result.stderr.contains("log 2: the end marker is missing"))
    }

    @Test(arguments: [("srgb", 0), ("linear", 1), ("image", 0)] as [(String, UInt8)])
    func `writes the requested color space`(word: String, byte: UInt8) throws {
        let result = try Tool.shared.encode(
            [1, 2, 3], width: 1, height: 1, channels: 3, "qoi.colorspace=\(word)")

        // From 0,0,0: DIFF reaches +1, LUMA green 2 takes red -1 and blue +1.
        #expect(
            result.output
                == Self.header(width: 1, height: 1, channels: 3, linear: byte) + [0xA2, 0x79, 0, 0, 0, 0, 0, 0, 0, 1])
    }

    @Test func `restores pixels from every operation`() throws {
        // Steps of every length in every channel, runs over 62, alpha that changes: a linear congruential generator.
        var state: UInt32 = 1
        var pixel: [UInt8] = [0, 0, 0, 255]
        var rows: [UInt8] = []
        for _ in 0..<(97 * 150) {
            state = state &* 1_664_525 &+ 1_013_904_223
            let step = UInt8(truncatingIfNeeded: state >> 24)
            switch state >> 20 & 7 {
            case 0, 1: break
            case 2: pixel[0] &+= step & 3
            case 3: for i in 0..<3 { pixel[i] &+= step & 31 }
            case 4: for i in 0..<3 { pixel[i] &-= step & 15 }
            case 5: pixel = [step, 0, step, 255]
            case 6: pixel[3] = step
            default: pixel[1] = step
            }
            rows += pixel
        }

        let encoded = try Tool.shared.encode(rows, width: 97, height: 150, channels: 4)
        let decoded = try Tool.shared.decode(encoded.output, ["reader"])

        #expect(decoded.output == rows)
    }

    @Test func `exports its entry point and needs only the C library`() throws {
        let file = Tool.shared.plugin

        #expect(try exportedSymbols(file) == ["cpi_entry_1"])
        #expect(try neededLibraries(file) == ["libc.so.6"])
        #expect(Elf(file)?.manifests.count == 1)
    }

    @Test func `is built by the command in its README`() throws {
        let folder = TemporaryDirectory()
        let template = try #require(readFile("\(Repository.root)/Sources/CCoderPlugin/coderhost-plugin.pc.in"))
        let settings = String(decoding: template, as: UTF8.self).replacing("@VERSION@", with: "0.1.0")
        folder.folder("lib")
        folder.folder("lib/pkgconfig")
        folder.write(Array(settings.utf8), to: "lib/pkgconfig/coderhost-plugin.pc")
        try #require(try run(["cp", "-r", PluginBuilder.headers, folder.file("include")]).status == 0)
        let source = "\(Repository.root)/Tests/ThirdParty/qoi/qoi.c"

        let result = try run(
            ["sh", "-c", "cc -shared -fPIC $(pkg-config --cflags coderhost-plugin) \(source) -o libcoder-qoi.so"],
            directory: folder.path, environment: ["PKG_CONFIG_PATH": folder.file("lib/pkgconfig")])

        #expect(result.status == 0, "\(result.stderr)")
        #expect(try exportedSymbols(folder.file("libcoder-qoi.so")) == ["cpi_entry_1"])
    }
}

/// A host and a plugin shared by many tests.
private struct Tool: Sendable {
    let host: String
    let plugin: String

    static let shared: Tool = {
        do { return try Tool() } catch { fatalError("\(error)") }
    }()

    private init() throws {
        let folder = try PluginBuilder.keptFolder("third-party")
        host = try PluginBuilder.buildHost(into: folder)
        plugin = try PluginBuilder.buildQOI(into: folder)
    }

    func decode(_ image: [UInt8], _ words: [String]) throws -> CommandResult {
        try run([host, plugin, "decode"] + words, input: image)
    }

    func encode(
        _ rows: [UInt8], width: Int, height: Int, channels: Int, _ option: String? = nil
    ) throws -> CommandResult {
        try run(
            [host, plugin, "encode", "\(width)", "\(height)", "\(channels)"] + (option.map { [$0] } ?? []), input: rows)
    }
}
