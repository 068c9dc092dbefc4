import CoderPluginKit
import ImageModel
import TestSupport
import Testing
import WebPCodec

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("webp/\(name)"))) }

/// The samples of a PAM or PNM file: the bytes behind its header, for `size` pixels of `channels`.
private func samples(_ name: String, _ size: PixelSize, _ channels: Int) throws -> [UInt8] {
    try file(name).suffix(size.width * size.height * channels)
}

private let size = PixelSize(40, 24)

private func session(_ bytes: [UInt8]) -> DecoderSession { DecoderSession(source: ByteSource(bytes)) }

private func pixels(_ buffer: PixelBuffer) -> [UInt8] {
    var all: [UInt8] = []
    for y in 0..<buffer.size.height {
        buffer.withRow(y) { row in
            for offset in row.byteOffsets {
                all.append(unsafe row.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
            }
        }
    }
    return all
}

private func decode(_ bytes: [UInt8], to format: PixelFormat, reducedTo size: PixelSize? = nil) throws -> [UInt8] {
    let decoder = try WebPDecoder(session(bytes))
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: size ?? info.size, format: format)
    let surface = Surface(buffer)
    let outcome = try decoder.decode(DecodeRequest(scaledSize: size), into: surface)
    #expect(outcome == .complete)
    return pixels(buffer)
}

/// The code of the decoding error; nil for none.
private func failure(_ bytes: [UInt8], limits: DecodeLimits = .default) -> CoderError.Code? {
    do throws(CoderError) {
        let decoder = try WebPDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        let surface = Surface(buffer)
        _ = try decoder.decode(DecodeRequest(), into: surface)
        _ = try decoder.metadata()
        return nil
    } catch {
        return error.code
    }
}

/// Keeps the first three of every four samples.
private func withoutAlpha(_ rgba: [UInt8]) -> [UInt8] {
    rgba.indices.filter { $0 % 4 != 3 }.map { rgba[$0] }
}

@Suite struct `WebP decoding` {
    @Test(arguments: ["lossy", "lossy-alpha", "lossless", "lossless-alpha"])
    func `equals the pixels of another program`(name: String) throws {
        #expect(try decode(file("\(name).webp"), to: .rgba8) == samples("\(name).pam", size, 4))
    }

    @Test(arguments: ["lossy", "lossless"])
    func `offers three channels without alpha`(name: String) throws {
        let decoder = try WebPDecoder(session(file("\(name).webp")))
        let info = try decoder.readHeader()

        #expect(info.nativeFormat == .rgb8 && !info.hasAlpha && info.isLossy == (name == "lossy"))
        #expect(
            decoder.pixelFormats == [.rgb8, PixelFormat(.rgba, alpha: .opaque), PixelFormat(.bgra, alpha: .opaque)])
        #expect(try decode(file("\(name).webp"), to: .rgb8) == withoutAlpha(samples("\(name).pam", size, 4)))
    }

    /// The alpha bit of lossless data is a hint (RFC 9649 section 3.4).
    @Test(arguments: [PixelFormat.Channels.rgba, .bgra])
    func `delivers opaque pixels if the header declares no alpha`(channels: PixelFormat.Channels) throws {
        var bytes = try file("lossless-alpha.webp")
        // "VP8L" | length 4 | 2F | width - 1 14, height - 1 14, alpha 1, version 3
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("VP8L".utf8)) })
        #expect(bytes[start + 12] & 0x10 != 0)
        bytes[start + 12] ^= 0x10

        let all = try decode(bytes, to: PixelFormat(channels, alpha: .opaque))

        #expect(stride(from: 3, to: all.count, by: 4).allSatisfy { all[$0] == 255 })
    }

    @Test func `offers alpha straight and premultiplied`() throws {
        let bytes = try file("lossless-alpha.webp")
        let straight = try samples("lossless-alpha.pam", size, 4)
        var swapped = straight
        for at in stride(from: 0, to: straight.count, by: 4) { swapped.swapAt(at, at + 2) }

        #expect(try decode(bytes, to: .bgra8) == swapped)
        let premultiplied = try decode(bytes, to: PixelFormat(.rgba, alpha: .premultiplied))
        for at in straight.indices {
            let alpha = Double(straight[at | 3])
            let exact = at % 4 == 3 ? alpha : Double(straight[at]) * alpha / 255
            #expect(abs(Double(premultiplied[at]) - exact) <= 1)
        }
    }

    @Test func `scales while decoding`() throws {
        let decoder = try WebPDecoder(session(file("lossy.webp")))
        _ = try decoder.readHeader()

        #expect(decoder.scaledSize(atLeast: PixelSize(13, 9), of: size) == PixelSize(20, 12))
        #expect(decoder.scaledSize(atLeast: PixelSize(12, 7), of: size) == PixelSize(20, 12))
        #expect(decoder.scaledSize(atLeast: PixelSize(1, 1), of: size) == PixelSize(2, 2))
        #expect(decoder.scaledSize(atLeast: PixelSize(21, 9), of: size) == size)
        #expect(decoder.scaledSize(atLeast: PixelSize(41, 9), of: size) == size)
        #expect(
            try decode(file("lossy.webp"), to: .rgb8, reducedTo: PixelSize(13, 9))
                == samples("lossy-13x9.ppm", PixelSize(13, 9), 3))
    }

    @Test(arguments: ["lossy", "lossless", "lossless-alpha"])
    func `averages each square, weighted by alpha`(name: String) throws {
        let format: PixelFormat = name == "lossy" ? .rgb8 : .rgba8
        let channels = format.bytesPerPixel
        let large = try decode(file("\(name).webp"), to: format)
        let small = try decode(file("\(name).webp"), to: format, reducedTo: PixelSize(20, 12))
        /// If the format has few color samples, only the luma of a square can be compared (BT.601).
        func brightness(_ color: [Int]) -> [Int] {
            name == "lossy" ? [(299 * color[0] + 587 * color[1] + 114 * color[2]) / 1000] : color
        }
        var largest = 0
        for y in 0..<12 {
            for x in 0..<20 {
                let square = [0, 1, 40, 41].map { (y * 80 + x * 2 + $0) * channels }
                let weights = square.map { channels == 4 ? Int(large[$0 + 3]) : 1 }
                let weight = weights.reduce(0, +)
                // Colors with low alpha have too few steps to be compared.
                if channels == 4, weight < 4 * 64 { continue }
                let mean = (0..<3).map { channel in
                    zip(square, weights).reduce(0) { $0 + Int(large[$1.0 + channel]) * $1.1 } / weight
                }
                let got = (0..<3).map { Int(small[(y * 20 + x) * channels + $0]) }
                let off = zip(brightness(mean), brightness(got)).map { abs($0 - $1) }
                largest = max(largest, off.max() ?? 0)
            }
        }
        #expect(largest <= 3)
    }

    @Test func `does not scale lossy colors hidden by alpha`() throws {
        let decoder = try WebPDecoder(session(file("lossy-alpha.webp")))
        #expect(decoder.scaledSize(atLeast: PixelSize(5, 5), of: try decoder.readHeader().size) == size)
        let small = Surface(try PixelBuffer(size: PixelSize(20, 12), format: .rgba8))
        var code: CoderError.Code?
        do throws(CoderError) {
            _ = try decoder.decode(DecodeRequest(scaledSize: PixelSize(20, 12)), into: small)
        } catch { code = error.code }
        #expect(code == .misuse)
    }

    @Test func `places the first frame of an animation`() throws {
        let decoder = try WebPDecoder(session(file("animated.webp")))
        let info = try decoder.readHeader()
        #expect(info.size == PixelSize(60, 40) && info.isAnimated && info.frameCount == 1 && info.hasAlpha)

        // A pooled surface is not cleared.
        let buffer = try PixelBuffer(size: info.size, format: .rgba8)
        for y in 0..<40 {
            buffer.withMutableRow(y) { row in
                for offset in row.byteOffsets { row.storeBytes(of: 0x5A, toByteOffset: offset, as: UInt8.self) }
            }
        }
        let surface = Surface(buffer)
        #expect(try decoder.decode(DecodeRequest(), into: surface) == .complete)
        let canvas = pixels(buffer)
        let frame = try samples("lossless.pam", size, 4)
        for y in 0..<40 {
            for x in 0..<60 {
                let pixel = Array(canvas[(y * 60 + x) * 4..<(y * 60 + x) * 4 + 4])
                let isInside = (10..<50).contains(x) && (6..<30).contains(y)
                let at = isInside ? ((y - 6) * 40 + x - 10) * 4 : 0
                #expect(pixel == (isInside ? Array(frame[at..<at + 4]) : [0, 0, 0, 0]), "pixel \(x), \(y)")
            }
        }
    }

    @Test func `does not change the padding between rows`() throws {
        let decoder = try WebPDecoder(session(file("lossy.webp")))
        _ = try decoder.readHeader()
        let stride = size.width * 3 + 5
        let memory = UnsafeMutableRawPointer.allocate(byteCount: stride * size.height, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0x5A, count: stride * size.height)
        let buffer = unsafe PixelBuffer(
            size: size, format: .rgb8, stride: stride, memory: memory, byteCount: stride * size.height
        ) { memory, _ in unsafe memory.deallocate() }

        let surface = Surface(buffer)
        _ = try decoder.decode(DecodeRequest(), into: surface)

        let gaps = unsafe buffer.withUnsafeMutableBytes { bytes in
            (0..<size.height).allSatisfy { y in
                unsafe bytes[y * stride + size.width * 3..<(y + 1) * stride].allSatisfy { $0 == 0x5A }
            }
        }
        #expect(gaps)
        #expect(try pixels(buffer) == withoutAlpha(samples("lossy.pam", size, 4)))
    }

    @Test func `reports Exif, XMP and the profile`() throws {
        let decoder = try WebPDecoder(session(file("metadata.webp")))
        let info = try decoder.readHeader()

        #expect(info.orientation == .right && info.color.hasProfile)
        #expect(
            try decoder.metadata() == [
                MetadataBlob(.exif, ExifOrientation.blob(.right)), MetadataBlob(.xmp, Array("<x:xmpmeta/>".utf8)),
                MetadataBlob(.icc, Array("not a real profile".utf8)),
            ])
    }

    @Test func `removes the JPEG prefix from Exif data`() throws {
        var bytes = try file("metadata.webp")
        let at = try #require(bytes.indices.first { Array(bytes[$0...].prefix(4)) == Array("EXIF".utf8) })
        bytes.insert(contentsOf: Array("Exif\0\0".utf8), at: at + 8)
        bytes[at + 4] += 6
        bytes[4] += 6
        let decoder = try WebPDecoder(session(bytes))

        #expect(try decoder.readHeader().orientation == .right)
        #expect(try decoder.metadata().first == MetadataBlob(.exif, ExifOrientation.blob(.right)))
    }

    @Test func `refuses a blob above the limit`() throws {
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 20
        #expect(failure(try file("metadata.webp"), limits: limits) == .limitExceeded)
        limits.maxMetadataBytes = 26
        #expect(failure(try file("metadata.webp"), limits: limits) == nil)
    }
}

@Suite struct `Damaged WebP` {
    private static let allowed: Set<CoderError.Code?> = [
        nil, .corrupt, .truncated, .unsupportedFeature, .notMine, .limitExceeded,
    ]

    @Test func `refuses other formats`() {
        #expect(failure(Array("RIFF\u{4}\0\0\0WAVE".utf8)) == .notMine)
        #expect(failure(Array("GIF89a......".utf8)) == .notMine)
        #expect(failure([]) == .truncated)
        #expect(failure(Array("RIFF\u{20}\0\0\0WEBP".utf8)) == .truncated)
        let empty = Array("RIFF\u{1C}\0\0\0WEBPVP8 \u{10}\0\0\0".utf8) + [UInt8](repeating: 0, count: 16)
        #expect(failure(empty) == .corrupt)
    }

    @Test(arguments: ["lossy", "lossy-alpha", "lossless", "lossless-alpha", "animated", "metadata"])
    func `is truncated at any length except the whole`(name: String) throws {
        let whole = try file("\(name).webp")
        for length in whole.indices { #expect(failure(Array(whole[..<length])) == .truncated, "\(length) bytes") }
    }

    @Test(arguments: ["lossy", "lossy-alpha", "lossless", "lossless-alpha", "animated", "metadata"])
    func `ends for any flipped bit`(name: String) throws {
        let whole = try file("\(name).webp")
        for at in whole.indices {
            for bit in 0..<8 {
                var copy = whole
                copy[at] ^= 1 << bit
                // A flip in a size may request gigabytes; the host refuses that.
                if (try? WebPDecoder(session(copy)).readHeader().size.area ?? .max) ?? 0 > 1 << 20 { continue }
                #expect(Self.allowed.contains(failure(copy)), "byte \(at)")
            }
        }
    }

    @Test func `keeps the rows before a cut`() throws {
        let whole = try file("lossy.webp")
        let decoder = try WebPDecoder(session(Array(whole.dropLast(30))))
        _ = try decoder.readHeader()
        let buffer = try PixelBuffer(size: size, format: .rgba8)
        let surface = Surface(buffer)
        guard case .partial(let rect) = try decoder.decode(DecodeRequest(wantsPartial: true), into: surface) else {
            Issue.record("the decoder reports a cut file as complete")
            return
        }
        #expect(rect.y == 0 && rect.width == 40 && rect.height > 0 && rect.height < 24)
        let expected = try samples("lossy.pam", size, 4)
        #expect(Array(pixels(buffer)[..<(rect.height * 160)]) == Array(expected[..<(rect.height * 160)]))
    }
}

@Suite struct `WebP from a growing source` {
    @Test(arguments: ["lossy", "lossy-alpha", "lossless", "lossless-alpha", "animated"], [1, 7, 100])
    func `has the same result as a complete source`(name: String, step: Int) throws {
        let bytes = try file("\(name).webp")
        let source = ByteSource(bytes, arrived: 0)
        let decoder = try WebPDecoder(DecoderSession(source: source))
        var buffer: PixelBuffer?
        var isComplete = false
        var next = 0
        while !isComplete {
            do throws(CoderError) {
                if buffer == nil { buffer = try PixelBuffer(size: decoder.readHeader().size, format: .rgba8) }
                if let buffer {
                    let surface = Surface(buffer)
                    switch try decoder.decode(DecodeRequest(wantsPartial: true), into: surface) {
                    case .complete: isComplete = true
                    case .partial(let rect):
                        #expect(rect.y >= next && rect.height > 0)
                        next = rect.y + rect.height
                    }
                }
            } catch {
                if error.code != .needsInput { throw error }
                if source.isComplete { throw CoderError(.misuse, "requests input after the end") }
            }
            if source.available + step < bytes.count { source.arrive(step) } else { source.arrive() }
        }
        if name == "lossy", step == 1 { #expect(next > 0, "no row was shown early") }
        #expect(try pixels(#require(buffer)) == decode(bytes, to: .rgba8))
    }
}
