import CoderPluginKit
import ImageModel
import Testing

@Suite struct `Frame difference` {
    private let host = HostServices()
    private static let formats: [PixelFormat] = [.gray8, .grayAlpha8, .rgb8, .rgba8, .gray16, .rgb16, .rgba16]

    @Test(arguments: formats) func `finds no difference between equal images`(_ format: PixelFormat) throws {
        for size in [PixelSize(1, 1), PixelSize(7, 3), PixelSize(67, 70)] {
            let (old, new) = (try filled(size, format), try filled(size, format))
            #expect(try FrameDifference.rect(of: Surface(new), from: old, host: host) == nil)
            let coverage = try FrameDifference.coverage(of: Surface(new), from: old, in: PixelRect(size), host: host)
            #expect(coverage.changed == 0 && coverage.unchanged == size.width * size.height)
        }
    }

    @Test(arguments: formats) func `finds one different byte at any position`(_ format: PixelFormat) throws {
        let size = PixelSize(41, 5)
        let old = try filled(size, format)
        for x in 0..<size.width {
            for byte in 0..<format.bytesPerPixel {
                let new = try filled(size, format)
                flip(new, x: x, y: x % 5, byte: byte)
                #expect(
                    try FrameDifference.rect(of: Surface(new), from: old, host: host)
                        == PixelRect(x: x, y: x % 5, width: 1, height: 1))
            }
        }
    }

    @Test(arguments: 1...60) func `equals a comparison of every pixel`(_ seed: Int) throws {
        var random = Random(state: UInt64(seed))
        let format = Self.formats[seed % Self.formats.count]
        let size = PixelSize(1 + random.below(90), 1 + random.below(150))
        let (old, new) = (try filled(size, format), try filled(size, format))
        var places: [(x: Int, y: Int)] = []
        for _ in 0...random.below(5) {
            let place = (x: random.below(size.width), y: random.below(size.height))
            if places.contains(where: { $0 == place }) { continue }
            places.append(place)
            flip(new, x: place.x, y: place.y, byte: random.below(format.bytesPerPixel))
        }

        let left = places.map(\.x).min()!
        let top = places.map(\.y).min()!
        let expected = PixelRect(
            x: left, y: top, width: places.map(\.x).max()! - left + 1, height: places.map(\.y).max()! - top + 1)
        #expect(try FrameDifference.rect(of: Surface(new), from: old, host: host) == expected)
        let coverage = try FrameDifference.coverage(of: Surface(new), from: old, in: expected, host: host)
        #expect(coverage.changed == places.count)
        #expect(coverage.unchanged == expected.width * expected.height - places.count)
    }

    @Test(arguments: [PixelFormat.grayAlpha8, .rgba8, .rgba16])
    func `reports whether the changed pixels are opaque`(_ format: PixelFormat) throws {
        let size = PixelSize(9, 2)
        let old = try PixelBuffer(size: size, format: format)
        let new = try PixelBuffer(size: size, format: format)
        for x in [3, 5] {
            for byte in 0..<format.bytesPerPixel { flip(new, x: x, y: 1, byte: byte) }
        }
        let rect = PixelRect(x: 3, y: 1, width: 3, height: 1)
        let opaque = try FrameDifference.coverage(of: Surface(new), from: old, in: rect, host: host)
        #expect(opaque.changed == 2 && opaque.unchanged == 1 && opaque.isChangedOpaque)

        flip(new, x: 5, y: 1, byte: format.bytesPerPixel - 1)
        let other = try FrameDifference.coverage(of: Surface(new), from: old, in: rect, host: host)
        #expect(other.changed == 2 && other.unchanged == 1 && !other.isChangedOpaque)
    }

    @Test func `treats an image without alpha as opaque`() throws {
        let format = PixelFormat(.rgba, alpha: .opaque)
        let old = try PixelBuffer(size: PixelSize(2, 1), format: format)
        let new = try PixelBuffer(size: PixelSize(2, 1), format: format)
        flip(new, x: 0, y: 0, byte: 0)
        let all = PixelRect(PixelSize(2, 1))
        let coverage = try FrameDifference.coverage(of: Surface(new), from: old, in: all, host: host)
        #expect(coverage.changed == 1 && coverage.unchanged == 1 && coverage.isChangedOpaque)
    }

    // MARK: Images

    private func filled(_ size: PixelSize, _ format: PixelFormat) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: format)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for offset in 0..<row.byteCount {
                    row.storeBytes(
                        of: UInt8(truncatingIfNeeded: offset &* 7 &+ y), toByteOffset: offset, as: UInt8.self)
                }
            }
        }
        return buffer
    }

    private func flip(_ buffer: PixelBuffer, x: Int, y: Int, byte: Int) {
        let offset = x * buffer.format.bytesPerPixel + byte
        let value = buffer.withRow(y) { $0.byte(at: offset) }
        buffer.withMutableRow(y) { $0.storeBytes(of: ~value, toByteOffset: offset, as: UInt8.self) }
    }
}

/// Numbers that are the same in every run (xorshift64*).
private struct Random {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return Int((state &* 2_685_821_657_736_338_717 >> 33) % UInt64(bound))
    }
}
