import CoderPluginKit
import ImageModel
import TestSupport
import Testing

@testable import JPEGCodec

private let names = [
    "twelve-420", "twelve-440-restart", "twelve-422-progressive", "twelve-3-scans", "twelve-gray", "lossless-8",
    "lossless-12-restart", "lossless-16-gray",
]

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("jpeg/\(name)"))) }

/// The samples that djpeg of libjpeg-turbo 3.2 wrote, scaled to 8 or 16 bits and rounded to the nearest.
private func samples(_ name: String) throws -> [UInt8] {
    let lines = try file("\(name).pnm").split(separator: 0x0A, maxSplits: 3, omittingEmptySubsequences: false)
    let most = try #require(Int(String(decoding: lines[2], as: UTF8.self)))
    let bytes = Array(lines[3])
    if most == 255 { return bytes }
    return stride(from: 0, to: bytes.count, by: 2).flatMap { at -> [UInt8] in
        let value = ((Int(bytes[at]) << 8 | Int(bytes[at + 1])) * 65_535 + most / 2) / most
        return [UInt8(value & 0xFF), UInt8(value >> 8)]
    }
}

private func makeDecoder(
    _ bytes: [UInt8], limits: DecodeLimits = .default, host: HostServices = HostServices()
) throws -> JPEGDecoder {
    try JPEGDecoder(DecoderSession(source: ByteSource(bytes), limits: limits, host: host))
}

private func outcome(_ bytes: [UInt8], limits: DecodeLimits = .default, partial: Bool = false) -> RegionOutcome {
    do throws(CoderError) {
        let decoder = try JPEGDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
        let info = try decoder.readHeader()
        return decoder.outcome(of: nil, info.nativeFormat, partial: partial)
    } catch {
        return RegionOutcome(code: error.code)
    }
}

@Suite(.timeLimit(.minutes(40))) struct `JPEG of 12 bits and lossless JPEG` {
    @Test(arguments: names, [true, false])
    func `equal libjpeg-turbo 3 to the bit`(name: String, isInMemory: Bool) throws {
        let bytes = try file("\(name).jpg")
        let source = isInMemory ? ByteSource(bytes) : Pieces(bytes).source
        let decoder = try JPEGDecoder(DecoderSession(source: source))
        let info = try decoder.readHeader()
        #expect(info.size == PixelSize(40, 24) && info.decodesRows)
        #expect(decoder.pixelFormats == [info.nativeFormat])
        #expect(decoder.scaledSize(atLeast: PixelSize(5, 3), of: info.size) == info.size)
        for _ in 0..<2 { #expect(try decoder.image().packed == samples(name)) }
    }

    @Test(arguments: names)
    func `decode in bands and regions, in any order`(name: String) throws {
        let decoder = try makeDecoder(file("\(name).jpg"))
        let info = try decoder.readHeader()
        let expected = try samples(name)
        for height in [1, 5, 16] {
            var rows: [UInt8] = []
            for y in stride(from: 0, to: 24, by: height) {
                rows += try decoder.image(PixelRect(x: 0, y: y, width: 40, height: min(height, 24 - y))).packed
            }
            #expect(rows == expected)
        }
        for rect in [
            PixelRect(x: 7, y: 15, width: 20, height: 9), PixelRect(x: 0, y: 0, width: 1, height: 1),
            PixelRect(x: 39, y: 3, width: 1, height: 20), PixelRect(x: 0, y: 23, width: 40, height: 1),
        ] {
            #expect(try decoder.image(rect).packed == part(rect, of: expected, info.size, info.nativeFormat))
        }
    }

    @Test(arguments: names)
    func `end with an error at any length`(name: String) throws {
        let whole = try file("\(name).jpg")
        let expected = try samples(name)
        for length in 2..<whole.count - 2 {
            let found = outcome(Array(whole[..<length]), partial: true)
            #expect(found.code == nil || found.code == .truncated, "\(length) bytes")
            #expect(outcome(Array(whole[..<length])).code == .truncated, "\(length) bytes")
            // A single scan has either the correct row or none.
            if name.hasPrefix("lossless") || name == "twelve-gray" {
                #expect(found.pixels == Array(expected.prefix(found.pixels.count)), "\(length) bytes")
            }
        }
        // Only the end marker is missing.
        #expect(outcome(Array(whole.dropLast(2))).pixels == expected)
    }

    @Test(arguments: names)
    func `end for any flipped bit`(name: String) throws {
        let whole = try file("\(name).jpg")
        let allowed: Set<CoderError.Code?> = [nil, .corrupt, .truncated, .unsupportedFeature, .notMine, .limitExceeded]
        for at in whole.indices {
            var copy = whole
            copy[at] ^= 1 << (at % 8)
            // A flip in the frame header may request gigabytes; the host refuses that.
            if (try? makeDecoder(copy).readHeader().size.area ?? .max) ?? 0 > 1 << 22 { continue }
            #expect(allowed.contains(outcome(copy).code), "byte \(at)")
        }
    }

    @Test(arguments: names)
    func `wait for the last byte of a growing source`(name: String) throws {
        let bytes = try file("\(name).jpg")
        let source = ByteSource(bytes, arrived: bytes.count - 1)
        let decoder = try JPEGDecoder(DecoderSession(source: source))
        #expect(try decoder.readHeader().size == PixelSize(40, 24))
        let waiting = decoder.outcome(of: nil, try decoder.readHeader().nativeFormat, partial: true)
        #expect(waiting.code == .needsInput)
        source.arrive()
        #expect(try decoder.image().packed == samples(name))
    }

    @Test func `have metadata and items like other files`() throws {
        let bytes = try file("twelve-420.jpg")
        let head = JPEGSegments.exif(ExifOrientation.blob(.left)) + JPEGSegments.comment("deep")
        let decoder = try makeDecoder(Array(bytes[..<2]) + head + Array(bytes[2...]))
        #expect(try decoder.readHeader().orientation == .left)
        #expect(try decoder.metadata().map(\.kind) == [.exif, .text])

        let album = try HandmadeAlbum([(kind: 0, bytes: bytes), (kind: 0, bytes: file("lossless-8.jpg"))])
        let first = try makeDecoder(album.bytes)
        #expect(try first.itemCount() == 3)
        try first.select(item: 1)
        #expect(try first.readHeader().bitDepth == 12)
        #expect(try first.image().packed == samples("twelve-420"))
        try first.select(item: 2)
        #expect(try first.image().packed == samples("lossless-8"))
    }

    @Test func `count scans, reserve memory and can be cancelled`() throws {
        var limits = DecodeLimits.default
        limits.maxScans = 2
        #expect(try outcome(file("twelve-3-scans.jpg"), limits: limits).code == .limitExceeded)
        for name in names {
            let host = RecordingHost()
            let decoder = try makeDecoder(file("\(name).jpg"), host: host.services())
            _ = try decoder.image()
            #expect(host.mostReserved > 0)
            try decoder.select(item: 0)
            #expect(host.reserved == 0)
            let refused = try makeDecoder(file("\(name).jpg"), host: RecordingHost(allowedMemory: 10).services())
            let format = try refused.readHeader().nativeFormat
            #expect(refused.outcome(of: nil, format).code == .limitExceeded)
        }
        let stopped = try makeDecoder(file("lossless-8.jpg"), host: RecordingHost(allowedPolls: 1).services())
        let format = try stopped.readHeader().nativeFormat
        #expect(stopped.outcome(of: nil, format).code == .cancelled)
    }

    @Test func `refuse other formats and sizes`() throws {
        let decoder = try makeDecoder(file("twelve-420.jpg"))
        _ = try decoder.readHeader()
        #expect(decoder.outcome(of: nil, .rgb8).code == .misuse)
        #expect(decoder.outcome(of: nil, .rgb16, scaledTo: PixelSize(20, 12)).code == .misuse)
    }
}
