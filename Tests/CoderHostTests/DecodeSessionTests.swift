import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite struct `Decode session` {
    /// Pictures, and after which share of them the header is known and the pixels are not.
    static let growing: [(name: String, percent: Int)] = [
        ("pictures/f.png", 50), ("pictures/f.jpg", 90), ("pictures/f.webp", 50), ("pictures/f.ppm", 50),
        ("pictures/three-frames.gif", 20),
    ]

    @Test(arguments: growing)
    func `goes on with the same picture once more input has arrived`(name: String, percent: Int) throws {
        let fixture = Fixture.named(name)
        let bytes = fixture.bytes
        let source = try ImageSource(growingTo: bytes.count)
        let start = bytes.count * percent / 100
        try source.append(Array(bytes[..<start]))
        var suspensions = 0

        let pixels = try Bench.manager.withSession(source) { session throws(CoderError) in
            for byte in bytes[start...] {
                do throws(CoderError) {
                    return try session.decodeImage()
                } catch {
                    guard error.code == .needsInput else { throw error }
                    suspensions += 1
                    try source.append([byte])
                }
            }
            source.finish()
            return try session.decodeImage()
        }

        #expect(suspensions > 0)
        #expect(PixelDigest.of(pixels) == fixture.expect?.pixelSHA256)
    }

    @Test func `keeps a canvas that somebody still looks at`() throws {
        let source = Bench.source(Fixture.named("pictures/three-frames.gif"))

        let (first, second, firstDigest) = try Bench.manager.withSession(source) { session throws(CoderError) in
            let first = try session.decodeFrame(0).pixels
            let digest = PixelDigest.of(first)
            return (first, try session.decodeFrame(1).pixels, digest)
        }

        #expect(PixelDigest.of(first) == firstDigest)
        #expect(PixelDigest.of(second) != firstDigest)
    }
}
