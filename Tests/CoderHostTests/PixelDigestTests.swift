import CoderHost
import Foundation
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@Suite struct `Pixel digest` {
    /// These files end with their samples, so the test needs no decoder.
    @Test(arguments: [
        ("images/f.ppm", PixelFormat.rgb8), ("images/gray.pgm", .gray8), ("images/rgba.pam", .rgba8),
        ("images/graya.pam", .grayAlpha8), ("images/sixteen.ppm", .rgb16),
        ("netpbm/valid/maxval-65535.pgm", .gray16), ("netpbm/valid/rgb-alpha-maxval-65535.pam", .rgba16),
    ])
    func `equals the digest of another decoder`(name: String, format: PixelFormat) throws {
        let expect = try #require(Fixture.named(name).expect)
        let buffer = try stored(name, format)

        #expect(PixelDigest.of(buffer) == expect.pixelSHA256, "\(FailureArtifact.keep(buffer, as: name))")
    }

    @Test func `does not depend on the order of the channels`() throws {
        let rgba = try stored("images/rgba.pam", .rgba8)
        let bgra = try PixelBuffer(size: rgba.size, format: .bgra8)
        for y in 0..<rgba.size.height {
            rgba.withRow(y) { from in
                bgra.withMutableRow(y) { to in
                    for pixel in stride(from: 0, to: from.byteCount, by: 4) {
                        for (place, source) in [2, 1, 0, 3].enumerated() {
                            let sample = from.byte(at: pixel + source)
                            to.storeBytes(of: sample, toByteOffset: pixel + place, as: UInt8.self)
                        }
                    }
                }
            }
        }

        #expect(PixelDigest.of(bgra) == PixelDigest.of(rgba))
    }

    @Test func `ignores the color of transparent pixels`() throws {
        let visible = try pixel([10, 20, 30, 1])
        let hidden = try pixel([10, 20, 30, 0])

        #expect(PixelDigest.of(visible) == SHA256.hexDigest(of: [10, 20, 30, 1]))
        #expect(PixelDigest.of(hidden) == SHA256.hexDigest(of: [0, 0, 0, 0]))
    }

    @Test func `a failure writes an image for inspection`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "artifact-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }

        let message = FailureArtifact.keep(try pixel([10, 20, 30, 0]), as: "png/f.png", in: folder)

        let header = "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
        #expect(readFile("\(folder)/png-f.png.pam") == Array(header.utf8) + [10, 20, 30, 0])
        #expect(message == "the image is in \(folder)/png-f.png.pam")
    }

    private func pixel(_ samples: [UInt8]) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: PixelSize(1, 1), format: .rgba8)
        fill(buffer, samples)
        return buffer
    }

    /// The last bytes of a Netpbm file, with 16-bit samples converted from big endian.
    private func stored(_ name: String, _ format: PixelFormat) throws -> PixelBuffer {
        let fixture = Fixture.named(name)
        let buffer = try PixelBuffer(size: try #require(fixture.expect).size, format: format)
        var samples = Array(fixture.bytes.suffix(buffer.bytesPerRow * buffer.size.height))
        if format.bits == 16 {
            for index in stride(from: 0, to: samples.count, by: 2) { samples.swapAt(index, index + 1) }
        }
        fill(buffer, samples)
        return buffer
    }

    private func fill(_ buffer: PixelBuffer, _ samples: [UInt8]) {
        for y in 0..<buffer.size.height {
            buffer.withMutableRow(y) { row in
                for x in 0..<buffer.bytesPerRow {
                    row.storeBytes(of: samples[y * buffer.bytesPerRow + x], toByteOffset: x, as: UInt8.self)
                }
            }
        }
    }
}
