import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// A plugin delivers the same image in this process and in a worker.
@Suite struct `Isolated results` {
    static let inProcess = testHost(Repository.products)
    static let isolated = testHost(
        Repository.workerPlugins, isolation: IsolationPolicy(.require, reuse: .reuse(20), needed: []))

    @Test(arguments: Fixture.all)
    func `equal the results in process, including errors and warnings`(fixture: Fixture) {
        let source = ImageSource(fixture.bytes, name: fixture.name)
        #expect(SessionAccount(source, Self.isolated) == SessionAccount(source, Self.inProcess))
    }

    @Test(arguments: Fixture.valid.filter { ($0.expect?.frameCount ?? 1) > 2 })
    func `are the same in any order of frames`(fixture: Fixture) {
        let source = ImageSource(fixture.bytes, name: fixture.name)
        #expect(
            SessionAccount(source, Self.isolated, backwards: true)
                == SessionAccount(source, Self.inProcess, backwards: true))
    }

    @Test func `are the same for a mapped file and a large file read in pieces`() throws {
        let folder = TemporaryDirectory()
        // Above the size from which files are read in pieces.
        let large = folder.write(
            Fixture.valid("jpeg")[0].bytes + [UInt8](repeating: 0, count: 9 << 20),
            to: "large.jpg")
        for path in [Fixture.valid("jpeg")[0].path, large] {
            let source = try ImageSource(path: path)
            let account = SessionAccount(source, Self.isolated)
            #expect(account == SessionAccount(source, Self.inProcess))
            #expect(account.digests.count == 1)
        }
    }

    @Test(arguments: BundledPlugin.formats("encode", "encode-animation").map(\.format))
    func `are the same bytes when an image is encoded`(format: ImageFormat) throws {
        let pixels = try PixelBuffer(size: PixelSize(61, 43), format: .rgba8)
        var random = SeededRandom(5)
        for y in 0..<43 {
            pixels.withMutableRow(y) { row in
                for x in 0..<61 * 4 { row.setByte(x, x % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: random.next())) }
            }
        }
        var info = ImageInfo(size: pixels.size, nativeFormat: .rgba8)
        info.hasAlpha = false
        let exif = Fixture.valid("jpeg")[0].bytes
        let image = DecodedImage(
            info: info, pixels: pixels,
            metadata: [MetadataBlob(.xmp, Array("<x:xmpmeta/>".utf8) + exif.prefix(70_000))],
            format: format, coder: "")
        let local = try Self.inProcess.manager.encode(image, to: format)
        let remote = try Self.isolated.manager.encode(image, to: format)
        #expect(local == remote)
        #expect(!local.isEmpty)
    }

    @Test(arguments: ["gif", "webp", "apng", "avif"] as [ImageFormat])
    func `are the same bytes when an animation is encoded`(format: ImageFormat) throws {
        func animation(_ host: CoderHost) throws -> ([UInt8], EncodeReport) {
            var info = ImageInfo(size: PixelSize(32, 20), nativeFormat: .rgba8)
            info.isAnimated = true
            info.frameCount = nil
            let sink = MemorySink(limits: .default)
            let encoder = try host.manager.makeAnimationEncoder(to: format, of: info, into: sink)
            for frame in 0..<5 {
                let pixels = try PixelBuffer(size: info.size, format: .rgba8)
                for y in 0..<20 {
                    pixels.withMutableRow(y) { row in
                        for x in 0..<128 { row.setByte(x, x % 4 == 3 ? 255 : UInt8((x * frame + y * 3) & 0xFF)) }
                    }
                }
                try encoder.add(pixels, duration: FrameDuration(1, over: 10))
            }
            let report = try encoder.finish()
            return (sink.bytes, report)
        }
        let local = try animation(Self.inProcess)
        let remote = try animation(Self.isolated)
        #expect(local.0 == remote.0)
        #expect(local.1.isolation?.place == .inProcess)
        #expect(remote.1.isolation?.place == .worker)
    }

    @Test(arguments: Fixture.valid.filter { $0.byteCount < 4000 })
    func `are the same at every step of a source that grows`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        let step = max(1, bytes.count / 7)
        func steps(_ host: CoderHost) throws -> [String] {
            let source = try ImageSource(growingTo: bytes.count + 100, name: fixture.name)
            var result: [String] = []
            var session: DecodeSession?
            var at = 0
            while at < bytes.count {
                let next = min(bytes.count, at + step)
                try source.append(Array(bytes[at..<next]))
                at = next
                if at == bytes.count { source.finish() }
                do throws(CoderError) {
                    if session == nil { session = try host.manager.openSession(source) }
                    let part = try session?.decodeAvailable()
                    result.append(
                        part.map { "\($0.changed) \($0.isComplete) " + SessionAccount.digest($0.pixels) } ?? "nothing")
                } catch {
                    result.append("\(error)")
                }
            }
            return result
        }
        #expect(try steps(Self.isolated) == steps(Self.inProcess))
    }

    @Test func `report the place of decoding`() throws {
        let source = ImageSource(Fixture.valid("jpeg")[0].bytes)
        try Self.isolated.manager.withSession(source) { session throws(CoderError) in
            let report = session.isolation
            #expect(report?.place == .worker)
            #expect(report?.mode == .require)
            #expect(report?.confinement.inForce.contains(.noNewPrivileges) == true)
        }
        try Self.inProcess.manager.withSession(source) { session throws(CoderError) in
            #expect(session.isolation?.place == .inProcess)
        }
    }
}
