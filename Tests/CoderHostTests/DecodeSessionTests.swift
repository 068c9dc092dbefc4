import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite struct `Decode session` {
    /// Images, and the percentage of bytes after which the header is known and the pixels are not.
    static let growing: [(name: String, percent: Int)] = [
        ("images/f.png", 50), ("images/f.jpg", 90), ("images/f.webp", 50), ("images/f.ppm", 50),
        ("images/three-frames.gif", 20),
    ]

    @Test(arguments: growing)
    func `continues the same image after more input`(name: String, percent: Int) throws {
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

    @Test func `does not modify a canvas that the caller still holds`() throws {
        let source = Bench.source(Fixture.named("images/three-frames.gif"))

        let (first, second, firstDigest) = try Bench.manager.withSession(source) { session throws(CoderError) in
            let first = try session.decodeFrame(0).pixels
            let digest = PixelDigest.of(first)
            return (first, try session.decodeFrame(1).pixels, digest)
        }

        #expect(PixelDigest.of(first) == firstDigest)
        #expect(PixelDigest.of(second) != firstDigest)
    }
}
