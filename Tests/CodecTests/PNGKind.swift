import CoderPluginKit
import ImageModel
import PNGCodec
import PNGShim
import Testing

/// Pseudorandom numbers that are always the same (Numerical Recipes, 7.1).
struct PNGNoise {
    var state: UInt32

    mutating func next() -> UInt8 {
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(truncatingIfNeeded: state >> 24)
    }
}

/// A type and depth of PNG 3rd edition, table 8, with or without tRNS.
struct PNGKind: Sendable, CustomTestStringConvertible {
    var type: UInt8
    var depth: UInt8
    var hasTransparency = false

    var testDescription: String { "type \(type), \(depth) bits\(hasTransparency ? ", tRNS" : "")" }

    static let all: [PNGKind] = {
        let depths: [(UInt8, [UInt8])] = [
            (0, [1, 2, 4, 8, 16]), (2, [8, 16]), (3, [1, 2, 4, 8]), (4, [8, 16]), (6, [8, 16]),
        ]
        return depths.flatMap { type, depths in
            depths.flatMap { depth in
                let plain = PNGKind(type: type, depth: depth)
                return type > 3 ? [plain] : [plain, PNGKind(type: type, depth: depth, hasTransparency: true)]
            }
        }
    }()

    private var bits: Int { [0: 1, 2: 3, 3: 1, 4: 2, 6: 4][type]! * Int(depth) }

    /// A file of noise under filters of every type; every byte is valid under any filter.
    func file(_ width: Int, _ height: Int, interlaced: Bool, paethOnly: Bool = false, seed: UInt32 = 1) -> HandmadePNG {
        var noise = PNGNoise(state: seed &+ UInt32(width * 64 + height))
        var rows: [UInt8] = []
        // First column, first row, and steps of the passes (PNG 3rd edition, 8.2).
        let passes =
            interlaced
            ? [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
            : [(0, 0, 1, 1)]
        for (left, top, dx, dy) in passes where left < width {
            let count = ((width - left + dx - 1) / dx * bits + 7) / 8
            for _ in stride(from: top, to: height, by: dy) {
                rows.append(paethOnly ? 4 : noise.next() % 5)
                // Few different values, so that pixels equal the tRNS key.
                for _ in 0..<count { rows.append(noise.next() & (hasTransparency ? 0x11 : 0xFF)) }
            }
        }
        var file = HandmadePNG(width, height, depth: depth, type: type, interlaced: interlaced, rows: rows)
        if type == 3 {
            file.before.append(pngChunk("PLTE", (0..<3 * min(1 << Int(depth), 200)).map { _ in noise.next() }))
        }
        if hasTransparency {
            let key: [UInt8] = type == 3 ? [0, 128] : type == 0 ? [0, 1] : [0, 0x11, 0, 0x10, 0, 0x01]
            file.before.append(pngChunk("tRNS", key))
        }
        return file
    }
}

// MARK: Comparing

/// The result of libpng for the whole file; nil if it reports an error.
func pngReference(_ bytes: [UInt8], size: PixelSize, format: PixelFormat) throws -> PixelBuffer? {
    let buffer = try PixelBuffer(size: size, format: format)
    var target = unsafe pngshim_target()
    unsafe target.stride = UInt64(buffer.stride)
    unsafe target.row_bytes = UInt64(buffer.bytesPerRow)
    unsafe target.channels = UInt8(format.channels.count)
    unsafe target.bits = UInt8(format.bits)
    let status = unsafe buffer.withUnsafeMutableBytes { pixels in
        unsafe target.pixels = pixels.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return unsafe bytes.withUnsafeBufferPointer {
            unsafe pngshim_reference($0.baseAddress, UInt64($0.count), &target)
        }
    }
    return status == PNGSHIM_OK ? buffer : nil
}

func pngBytes(_ buffer: PixelBuffer) -> [UInt8] { unsafe buffer.withUnsafeMutableBytes { unsafe Array($0) } }

/// The formats offered for a file.
func pngOffers(_ bytes: [UInt8]) throws -> [PixelFormat] {
    let decoder = try PNGDecoder(DecoderSession(source: ByteSource(bytes)))
    _ = try decoder.readHeader()
    return decoder.pixelFormats
}

/// A zlib stream of as many stored blocks as are needed.
func storedZlibBlocks(_ data: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: data.count, by: 0xFFFF) {
        let block = data[start..<min(start + 0xFFFF, data.count)]
        let (low, high) = (UInt8(block.count & 0xFF), UInt8(block.count >> 8))
        stream += [start + block.count == data.count ? 1 : 0, low, high, ~low, ~high] + block
    }
    var (a, b) = (1, 0)
    for byte in data {
        a = (a + Int(byte)) % 65521
        b = (b + a) % 65521
    }
    return stream + be32(b << 16 | a)
}
