import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// Unusual metadata and warnings are the same from a plugin in this process and in a worker.
@Suite(.timeLimit(.minutes(40))) struct `Isolated metadata` {
    private let folder = TemporaryDirectory()

    /// Returns a host that loads `Tests/ThirdParty/isolation/extremes.c` in this process, and one that uses a worker.
    private func hosts(_ flags: [String] = []) throws -> (inProcess: CoderHost, isolated: CoderHost) {
        try PluginBuilder.build("isolation/extremes.c", flags: flags, into: folder.path)
        return (
            testHost(folder.path),
            testHost(folder.path, isolation: IsolationPolicy(.require, reuse: .reuse(20), needed: []))
        )
    }

    private static let limits: [String: DecodeLimits] = {
        var small = DecodeLimits.default
        small.maxMetadataBytes = 61_440
        return ["default": .default, "strict": .strict, "off": .off, "small": small]
    }()

    @Test(arguments: ["default", "strict", "off", "small"])
    func `has the same keys, lengths and warnings under every limit`(name: String) throws {
        let hosts = try hosts()
        let limits = try #require(Self.limits[name])

        let local = SessionAccount(badImage, hosts.inProcess, limits: limits)
        let remote = SessionAccount(badImage, hosts.isolated, limits: limits)

        #expect(remote.metadata.map(\.key) == local.metadata.map(\.key))
        #expect(remote.metadata.map(\.bytes.count) == local.metadata.map(\.bytes.count))
        #expect(remote.warnings == local.warnings)
        // Compared separately, because a failure would print megabytes.
        let isSame = remote == local
        #expect(isSame)
        #expect(local.metadata.contains(MetadataBlob(.raw, [1, 8, 15, 22], key: "gAMA")))
        #expect(local.metadata.contains { $0.key == "" })
        #expect(local.problems.isEmpty)
    }

    @Test(arguments: ["warn_of_everything", "warn_often"])
    func `does not change warnings that are long, many or not UTF-8`(function: String) throws {
        let hosts = try hosts(["-DWARN=\(function)"])

        let local = SessionAccount(badImage, hosts.inProcess)
        let remote = SessionAccount(badImage, hosts.isolated)

        #expect(remote.warnings == local.warnings)
        // Three pieces that are too long are one warning.
        #expect(local.warnings.count == (function == "warn_often" ? 32 : 20))
        #expect(function == "warn_often" || local.warnings.contains { $0.hasSuffix("; 2 more pieces of raw too") })
    }

    @Test(arguments: [
        "CPI_CORRUPT", "CPI_LIMIT", "CPI_INTERNAL", "CPI_NEED_INPUT", "CPI_END", "CPI_PARTIAL", "-99", "99",
    ])
    func `does not change the errors of the plugin`(answer: String) throws {
        let all = try hosts(["-DANSWER=\(answer)"])
        let decoding = try hosts(["-DDECODE_ANSWER=\(answer)"])

        #expect(SessionAccount(badImage, all.isolated) == SessionAccount(badImage, all.inProcess))
        #expect(SessionAccount(badImage, decoding.isolated) == SessionAccount(badImage, decoding.inProcess))
    }

    /// The part of an image that changed in the second step.
    private func changed(_ host: CoderHost) throws -> PixelRect? {
        let source = try ImageSource(growingTo: 100, name: "image.bad")
        try source.append(Array("BAD!".utf8))
        let session = try host.manager.openSession(source)
        _ = try session.decodeAvailable()
        try source.append([0])
        return try session.decodeAvailable()?.changed
    }

    @Test func `refuses a positive status of the plugin for the changed area`() throws {
        let hosts = try hosts(["-DDECODE_ANSWER=CPI_PARTIAL", "-DDIRTY=no_dirty"])
        for host in [hosts.inProcess, hosts.isolated] {
            #expect(#expect(throws: CoderError.self) { try changed(host) }?.code == .pluginFault)
        }
    }

    @Test(arguments: ["NULL", "keep_dirty"])
    func `does not change which part of an image the plugin reports as changed`(dirty: String) throws {
        let hosts = try hosts(["-DDECODE_ANSWER=CPI_PARTIAL", "-DDIRTY=\(dirty)"])
        let local = try changed(hosts.inProcess)
        #expect(local == PixelRect(PixelSize(2, 2)))
        #expect(try changed(hosts.isolated) == local)
    }

    /// Keys and texts for an encoder.
    private static let texts: [MetadataBlob] = [
        MetadataBlob(.text, Array("value".utf8), key: "Comment"),
        MetadataBlob(.text, [], key: "Empty"),
        MetadataBlob(.text, Array("no key".utf8)),
        MetadataBlob(.text, Array("empty key".utf8), key: ""),
        MetadataBlob(.text, Array("NUL".utf8), key: "a\0b"),
        MetadataBlob(.text, Array("long".utf8), key: String(repeating: "k", count: 79)),
        MetadataBlob(.text, Array("longer".utf8), key: String(repeating: "k", count: 80)),
        MetadataBlob(.text, Array("longest".utf8), key: String(repeating: "k", count: 100_000)),
        MetadataBlob(.text, Array("UTF-8".utf8), key: "Schlüssel 🖼"),
        MetadataBlob(.text, [0xFF, 0xFE, 0x80], key: "not UTF-8"),
        MetadataBlob(.text, [UInt8](repeating: 0x61, count: 200_000), key: "several packets"),
        MetadataBlob(.raw, [0, 0, 0xB1, 0x8F], key: "gAMA"),
        MetadataBlob(.xmp, Array("<x:xmpmeta/>".utf8), key: "unused"),
    ]

    private func encode(_ metadata: [MetadataBlob], to format: ImageFormat, _ host: CoderHost) throws
        -> (bytes: [UInt8], warnings: [String])
    {
        let pixels = try PixelBuffer(size: PixelSize(3, 2), format: .rgb8)
        var info = ImageInfo(size: pixels.size, nativeFormat: .rgb8)
        info.hasAlpha = false
        let image = DecodedImage(info: info, pixels: pixels, metadata: metadata, format: format, coder: "")
        let sink = MemorySink(limits: .off)
        let report = try host.manager.encode(image, to: format, into: sink)
        return (sink.bytes, report.warnings)
    }

    @Test(arguments: ["png", "gif", "jpeg", "webp", "avif", "apng"] as [ImageFormat])
    func `is written and read back the same`(format: ImageFormat) throws {
        let (inProcess, isolated) = (`Isolated results`.inProcess, `Isolated results`.isolated)
        for count in 0...Self.texts.count {
            let metadata = count == Self.texts.count ? Self.texts : [Self.texts[count]]
            let local = try encode(metadata, to: format, inProcess)
            let remote = try encode(metadata, to: format, isolated)
            #expect(remote.bytes == local.bytes)
            #expect(remote.warnings == local.warnings)
            let source = ImageSource(local.bytes)
            let account = SessionAccount(source, inProcess)
            #expect(SessionAccount(source, isolated) == account)
            if format == "png", count == 0 { #expect(account.metadata == [Self.texts[0]]) }
        }
    }

    @Test func `is written the same above the size of a message`() throws {
        let blob = MetadataBlob(.raw, [UInt8](repeating: 7, count: 70 << 20), key: "large")
        let local = try encode(
            [blob], to: "png", testHost(Repository.products, limits: .off))
        let remote = try encode(
            [blob], to: "png",
            testHost(Repository.workerPlugins, limits: .off, isolation: IsolationPolicy(.require, needed: [])))

        #expect(remote.warnings == local.warnings)
        #expect(remote.bytes == local.bytes)
    }
}
