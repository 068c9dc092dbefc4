import CoderPluginKit
import ImageModel
import TestSupport
import Testing

@testable import JPEGCodec

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("jpeg/\(name).jpg"))) }

/// A file on a disk, read piece by piece, with a record of the requests.
private final class Disk {
    var bytes: [UInt8]
    let source: ByteSource
    private let log = Log()

    private final class Log {
        var bytes: [UInt8] = []
        var longest = 0
        var total = 0
        var failsFrom = Int.max
    }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let log = log
        log.bytes = bytes
        source = ByteSource(count: bytes.count) { range throws(CoderError) in
            log.longest = max(log.longest, range.count)
            log.total += range.count
            if range.upperBound > log.failsFrom { throw CoderError(.inputOutput, "the disk is gone") }
            return Array(log.bytes[range.clamped(to: 0..<log.bytes.count)])
        }
    }

    /// The longest range requested at once.
    var longest: Int { log.longest }
    /// The bytes of all requests.
    var total: Int { log.total }

    func cut(to count: Int) { log.bytes.removeSubrange(count...) }
    func fail(from offset: Int) { log.failsFrom = offset }
}

/// The result of decoding: pixels if rows were decoded, and the code of the error.
private struct Outcome: Equatable {
    var pixels: [UInt8] = []
    var code: CoderError.Code?
}

private func eighths(_ size: PixelSize, _ scale: Int) -> PixelSize {
    PixelSize((size.width * scale + 7) / 8, (size.height * scale + 7) / 8)
}

/// Decodes an image, as a whole or in bands of rows.
private func decode(
    _ decoder: JPEGDecoder, _ format: PixelFormat? = nil, scale: Int = 8, band: Int? = nil, partial: Bool = false
) -> Outcome {
    var outcome = Outcome()
    do throws(CoderError) {
        let info = try decoder.readHeader()
        let size = eighths(info.size, scale)
        let height = band ?? size.height
        for top in stride(from: 0, to: size.height, by: height) {
            let rows = min(height, size.height - top)
            let buffer = try PixelBuffer(size: PixelSize(size.width, rows), format: format ?? info.nativeFormat)
            let surface = Surface(buffer)
            let region = band == nil ? nil : PixelRect(x: 0, y: top, width: size.width, height: rows)
            let request = DecodeRequest(
                region: region, scaledSize: scale == 8 ? nil : size, wantsPartial: partial)
            do throws(CoderError) {
                _ = try decoder.decode(request, into: surface)
            } catch {
                outcome.code = error.code
            }
            for y in 0..<rows {
                buffer.withRow(y) { row in
                    outcome.pixels += row.byteOffsets.map { unsafe row.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
                }
            }
            if outcome.code != nil { break }
        }
    } catch {
        outcome.code = error.code
    }
    return outcome
}

private func inMemory(_ bytes: [UInt8]) throws(CoderError) -> JPEGDecoder {
    try JPEGDecoder(DecoderSession(source: ByteSource(bytes)))
}

private func onDisk(_ disk: Disk, window: Int) -> JPEGDecoder {
    JPEGDecoder(DecoderSession(source: disk.source), window: window)
}

/// An image with detail in every block.
private func encoded(_ size: PixelSize, _ subsampling: String) throws -> [UInt8] {
    let buffer = try PixelBuffer(size: size, format: .rgb8)
    var random = SeededRandom(7)
    for y in 0..<size.height {
        buffer.withMutableRow(y) { row in
            for offset in row.byteOffsets {
                let value = (offset * 3 + y * 5) % 180 + Int.random(in: 0..<70, using: &random)
                row.storeBytes(of: UInt8(value), toByteOffset: offset, as: UInt8.self)
            }
        }
    }
    let encoder = try JPEGEncoder(EncoderSession(options: ["jpeg.subsampling": .string(subsampling)]))
    let sink = ByteSink()
    try encoder.begin(ImageInfo(size: size, nativeFormat: .rgb8), to: sink)
    let surface = Surface(buffer)
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: surface)
    try encoder.finish()
    return sink.written
}

/// The file with segments of `FF marker` behind its first marker, of these lengths.
private func padded(_ bytes: [UInt8], _ marker: UInt8, _ lengths: [Int]) -> [UInt8] {
    lengths.reduce(into: Array(bytes[..<2])) { all, length in
        all += [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)]
        // Bytes that would be markers if the decoder read them.
        all += (2..<length).map { $0 % 2 == 0 ? 0xFF : 0xD9 }
    } + bytes[2...]
}

private let oneScan = ["baseline-420", "baseline-444-restart", "gray", "cmyk", "ycck", "arithmetic-420"]
private let manyScans = ["progressive-422", "progressive-420-restart", "sequential-3-scans", "cmyk-progressive"]

@Suite struct `JPEG read through a window` {
    @Test(arguments: oneScan + manyScans, [1, 2, 7, 64, 4096])
    func `equals the pixels of a file in memory`(name: String, window: Int) throws {
        let bytes = try file(name)
        let expected = decode(try inMemory(bytes))

        #expect(expected.code == nil)
        #expect(decode(onDisk(Disk(bytes), window: window)) == expected)
    }

    @Test(arguments: ["444", "422", "420"], [3, 100, 5000])
    func `equals them for every subsampling`(subsampling: String, window: Int) throws {
        let bytes = try encoded(PixelSize(83, 57), subsampling)
        let expected = decode(try inMemory(bytes))

        #expect(expected.code == nil && expected.pixels.count == 83 * 57 * 3)
        #expect(decode(onDisk(Disk(bytes), window: window)) == expected)
    }

    @Test(arguments: 1...8) func `equals them reduced and in bands of rows`(scale: Int) throws {
        let bytes = try encoded(PixelSize(83, 57), "420")
        let expected = decode(try inMemory(bytes), scale: scale)

        #expect(expected.code == nil)
        #expect(decode(onDisk(Disk(bytes), window: 11), scale: scale) == expected)
        #expect(decode(onDisk(Disk(bytes), window: 11), scale: scale, band: 5) == expected)
    }

    @Test func `never reads more of a file than the window`() throws {
        let bytes = try encoded(PixelSize(400, 300), "444")
        try #require(bytes.count > 64 << 10)
        let disk = Disk(bytes)

        #expect(decode(onDisk(disk, window: 1000)).code == nil)
        #expect(disk.longest <= 1000)
        #expect(disk.total < bytes.count + 4000)
        #expect(!disk.source.isContiguous)
    }

    @Test func `reads a file of several scans as a whole, once`() throws {
        let bytes = try file("progressive-422")
        let disk = Disk(bytes)
        let decoder = onDisk(disk, window: 16)

        #expect(decode(decoder, scale: 1) == decode(try inMemory(bytes), scale: 1))
        #expect(disk.source.isContiguous)
        #expect(decode(decoder) == decode(try inMemory(bytes)))
        #expect(decode(decoder, .rgb8, scale: 3) == decode(try inMemory(bytes), .rgb8, scale: 3))
    }

    @Test func `can be called again with other settings`() throws {
        let bytes = try file("baseline-444-restart")
        let decoder = onDisk(Disk(bytes), window: 9)
        let bgra = PixelFormat(.bgra, alpha: .opaque)
        for (format, scale) in [(PixelFormat.rgb8, 8), (.rgb8, 8), (bgra, 3), (.rgb8, 5)] {
            #expect(decode(decoder, format, scale: scale) == decode(try inMemory(bytes), format, scale: scale))
        }
    }

    @Test(arguments: [1, 4, 333, 70_000])
    func `skips segments that are longer than the window without reading them`(window: Int) throws {
        let plain = try file("baseline-420")
        let bytes = padded(plain, 0xED, [65_535, 2, 65_535, 4321, 65_535])
        let disk = Disk(bytes)

        #expect(decode(onDisk(disk, window: window)) == decode(try inMemory(plain)))
        if window <= 333 { #expect(disk.total < 40_000, "\(disk.total)") }
    }

    @Test func `finds metadata without reading the rest`() throws {
        let plain = padded(try encoded(PixelSize(400, 300), "444"), 0xEB, [65_535])
        let exif = Array("Exif\0\0".utf8) + ExifOrientation.blob(.right)
        let bytes = plain[..<2] + [0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif + plain[2...]
        let disk = Disk(Array(bytes))
        let decoder = onDisk(disk, window: 512)

        #expect(try decoder.readHeader().orientation == .right)
        #expect(try decoder.metadata().map(\.bytes) == [ExifOrientation.blob(.right)])
        #expect(disk.total < 16_000, "\(disk.total)")
        #expect(!disk.source.isContiguous)
    }
}

@Suite struct `JPEG read through a window, cut` {
    @Test(arguments: oneScan + manyScans, [1, 5, 64, 4096])
    func `has the result of a file in memory at every length`(name: String, window: Int) throws {
        // At 4096 the window contains all of the file except the end.
        let bytes = try file(name)
        var ends: Set<CoderError.Code?> = []
        for count in stride(from: 0, to: bytes.count, by: window == 5 ? 1 : 13) {
            let cut = Array(bytes[..<count])
            let expected = decode(try inMemory(cut))
            ends.insert(expected.code)
            #expect(decode(onDisk(Disk(cut), window: window)) == expected, "\(count) bytes")
        }
        #expect(ends.contains(.truncated))
    }

    @Test(arguments: ["baseline-420", "baseline-444-restart"])
    func `delivers the same part of an image, full size or reduced`(name: String) throws {
        let bytes = try file(name)
        for count in stride(from: bytes.count / 2, to: bytes.count, by: 11) {
            let cut = Array(bytes[..<count])
            for scale in [3, 8] {
                let expected = decode(try inMemory(cut), scale: scale, partial: true)
                #expect(decode(onDisk(Disk(cut), window: 21), scale: scale, partial: true) == expected, "\(count)")
            }
        }
    }

    @Test(arguments: [1, 16, 4096]) func `ends where a file became shorter after opening`(window: Int) throws {
        let bytes = try file("baseline-444-restart")
        for count in stride(from: 0, to: bytes.count - 2, by: 17) {
            let disk = Disk(bytes)
            let decoder = onDisk(disk, window: window)
            disk.cut(to: count)
            // Unreadable first bytes read as zeros.
            let code = decode(decoder).code
            #expect(count < 2 ? code == .notMine : code == .truncated, "\(count) bytes")
        }
    }

    @Test func `skips no further than the end of the file`() throws {
        let bytes = padded(try file("baseline-420"), 0xED, [65_535, 65_535])
        for count in [100, 65_000, 65_538, 65_539, 65_540, 70_000, 131_075] {
            #expect(decode(onDisk(Disk(Array(bytes[..<count])), window: 32)).code == .truncated)
            let disk = Disk(bytes)
            let decoder = onDisk(disk, window: 32)
            disk.cut(to: count)
            #expect(decode(decoder).code == .truncated)
        }
    }

    @Test func `reports a disk error instead of file damage`() throws {
        let bytes = try encoded(PixelSize(83, 57), "420")
        for offset in [600, bytes.count / 2, bytes.count - 1] {
            let disk = Disk(bytes)
            let decoder = onDisk(disk, window: 8)
            disk.fail(from: offset)
            #expect(decode(decoder).code == .inputOutput, "\(offset)")
        }
    }

    @Test(arguments: [1, 6, 50]) func `ends for any damage like a file in memory`(window: Int) throws {
        var random = SeededRandom(UInt64(window))
        for name in oneScan {
            let bytes = try file(name)
            for _ in 0..<40 {
                var bad = bytes
                for _ in 0..<3 {
                    bad[Int.random(in: 2..<bad.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                #expect(decode(onDisk(Disk(bad), window: window)) == decode(try inMemory(bad)))
            }
        }
    }
}
