import AVIFCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

private func fixture(_ path: String) throws -> [UInt8] {
    try #require(readFile(Repository.fixture(path)), "the fixture \(path) is missing")
}

private func decoder(_ bytes: [UInt8], limits: DecodeLimits = .default) throws -> AVIFDecoder {
    try AVIFDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
}

private func image(_ decoder: AVIFDecoder, as format: PixelFormat? = nil) throws -> PixelBuffer {
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: format ?? info.nativeFormat)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return buffer
}

/// Six frames of `Fixtures/recipes/motion.py`, coded without loss.
private enum Motion {
    static let name = "avif/sequence-alpha.avif"
    static let size = PixelSize(24, 16)
    static let durations: [UInt32] = [1, 3, 2, 1, 1, 5]
    /// The track's list of sync samples, as in a box dump.
    static let independent = [true, true, false, true, true, false]
    /// Digests of the output of `avifdec --index N` 0.11.1.
    static let digests = [
        "10fed71b300a8403cf8f3be6350f10972530b77ad1a15e2c264bed159aef675a",
        "f38cf404bf8ebb52ea86183685af1291bb29a4fe8d68c428060ad397408d55b3",
        "43c28aeb26b80429fb5d227a502e0760967d1a61509d48524d28bf68ac4e2f23",
        "45759d637ad70af4b69955dfab69020ff8dc4a5c09f6d1b5f8b8f115433361ee",
        "f18d1f1a2dc552092028b8e51131223b848f2f711e4e1e4e221efcd1af439077",
        "77f24d496f11e635f9fbe0d10f32c424d598e8b01cffadac2ace56f702913752",
    ]
}

@Suite struct `AVIF stills` {
    @Test(arguments: [
        ("420-bt601", "5eb0570336557a9c1a692e1be64bc3836e2bc683e249af413c37516ee85fc675"),
        ("422-bt709", "3e4e657c84dfb96a89f341595fc023e566f264e52f8626bfd4dc807e6905a848"),
        ("444-bt2020-full", "2f9becc5d948b8ad6dfedf4ff5204b676b7817898f2e0ab239134121d72f3eb5"),
        ("422-bt709-turned", "32d408ae3c049c797ca3116f6f5e29ba70d9778863c2b63c7deb62f35af554af"),
        // Columns 2 to 5 and rows 4 to 23 of avifdec's output.
        ("444-cropped", "55ab7ac48d2163b09fefbafb067f8d2abf89baf8c031efd31bb33be553932d1e"),
    ])
    func `equal the output of other decoders`(name: String, digest: String) throws {
        let bytes = try fixture("avif/known-samples-\(name).avif")
        let formats = [
            .rgb8, .rgba8, .bgra8, PixelFormat(.rgba, alpha: .opaque), PixelFormat(.bgra, alpha: .opaque),
        ]
        for format in formats { #expect(PixelDigest.of(try image(decoder(bytes), as: format)) == digest) }
    }

    @Test func `keep every sample of RGB planes`() throws {
        // The digests of the PNG files from which they were made.
        let opaque = "4a1b36d1e54d20b2d73f34195f2ecfb53fbb034e11ef18e91245a004889d2889"
        let clear = "27aadf58751385a4c3da8fc3522fb3a17170a91f86a50f0c3a46834cb01642b0"
        #expect(PixelDigest.of(try image(decoder(fixture("images/f.avif")))) == opaque)
        #expect(PixelDigest.of(try image(decoder(fixture("images/rgba.avif")))) == clear)
    }

    @Test func `of ten bits decode to sixteen and to eight bits`() throws {
        let bytes = try fixture("avif/rgb-10bit.avif")
        let wide = try decoder(bytes)
        #expect(try wide.readHeader().nativeFormat == .rgb16)
        #expect(try wide.readHeader().bitDepth == 10)
        #expect(wide.pixelFormats.contains(.rgba16) && wide.pixelFormats.contains(.rgba8))
        let exact = PixelDigest.rgba8(try image(wide))
        let narrow = PixelDigest.rgba8(try image(decoder(bytes), as: .rgb8))
        // Cut to eight bits, and rounded to eight bits.
        #expect(zip(exact, narrow).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
        // Fixtures/heif/pattern.py: red grows to the right, green downwards.
        #expect(abs(Int(exact[(47 * 64 + 63) * 4]) - 255) <= 6 && abs(Int(exact[(47 * 64 + 63) * 4 + 1]) - 255) <= 6)
        #expect(exact[0] <= 6 && exact[1] <= 6)
    }

    @Test(arguments: [10, 12]) func `of more than eight bits fill sixteen`(bits: Int) throws {
        let wide = try decoder(try fixture("avif/ramp-\(bits)bit.avif"))
        #expect(try wide.readHeader().bitDepth == bits && wide.readHeader().nativeFormat == .rgb16)
        let pixels = try image(wide)
        // The output of avifdec 0.11.1: three lines, then samples of two bytes, the higher one first.
        let expected = Array(try fixture("avif/ramp-\(bits)bit.ppm").dropFirst(15))
        var largest = 0
        for y in 0..<16 {
            pixels.withRow(y) { row in
                for x in 0..<72 {
                    let place = (y * 72 + x) * 2
                    let want = Int(expected[place]) << 8 | Int(expected[place + 1])
                    let got = Int(unsafe row.unsafeLoad(fromByteOffset: x * 2, as: UInt16.self))
                    largest = max(largest, abs(got - want))
                }
            }
        }
        #expect(largest <= 1)
    }

    @Test func `of limited-range gray are stretched to the full range`() throws {
        let gray = try decoder(try fixture("avif/gray-limited-range.avif"))
        #expect(try gray.readHeader().nativeFormat == .gray8)
        let pixels = PixelDigest.rgba8(try image(gray))
        let luma = stride(from: 0, to: pixels.count, by: 4).map { pixels[$0] }
        #expect(try #require(luma.min()) <= 4 && #require(luma.max()) >= 250)
        // The digest of (Y - 16) * 255 / 219, rounded and clipped to 0 ... 255, for the luma that avifdec 0.11.1 writes
        // as Y4M.
        #expect(
            PixelDigest.of(try image(decoder(fixture("avif/gray-limited-range.avif"))))
                == "d339f8c702ef55a85f27017e6ed72a5ce1afbb6aecbf9cc5af6d2788a67ac1d4")
        #expect(PixelDigest.rgba8(try image(gray, as: .rgba8)) == pixels)
    }

    @Test func `ignore a crop that MIAF forbids`() throws {
        var bytes = try fixture("avif/known-samples-444-cropped.avif")
        let clap = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("clap".utf8)) })
        // The offset of the center, 1/2, becomes 1/1: the crop would begin between two pixels.
        bytes[clap + 4 + 23] = 1
        let odd = try decoder(bytes)
        #expect(try odd.readHeader().size == PixelSize(7, 35))
        #expect(
            PixelDigest.of(try image(odd))
                == "2f9becc5d948b8ad6dfedf4ff5204b676b7817898f2e0ab239134121d72f3eb5")
    }

    @Test func `are refused above the limits before memory is taken`() throws {
        var limits = DecodeLimits.default
        limits.maxSide = 30
        #expect(throws: CoderError.limit("side", allowed: 30, requested: 31)) {
            try decoder(fixture("images/f.avif"), limits: limits).readHeader()
        }
        limits = .default
        limits.maxPixels = 31 * 17 - 1
        #expect(throws: CoderError.limit("pixels", allowed: 526, requested: 527)) {
            try decoder(fixture("images/f.avif"), limits: limits).readHeader()
        }
    }

    @Test(arguments: ["images/f.heic", "images/f.png"])
    func `of another format are refused as not this coder's`(path: String) throws {
        let bytes = try #require(readFile(Repository.fixture(path)))
        let error = #expect(throws: CoderError.self) { try decoder(bytes).readHeader() }
        #expect(error?.code == .notMine)
    }
}

@Suite struct `AVIF sequences` {
    @Test func `have every frame with its exact duration`() throws {
        let sequence = try decoder(fixture(Motion.name))
        let info = try sequence.readHeader()
        #expect(info.size == Motion.size && info.frameCount == 6 && info.isAnimated && info.hasAlpha)
        #expect(info.nativeFormat == .rgba8)
        for (index, duration) in Motion.durations.enumerated() {
            let frame = try #require(try sequence.nextFrame())
            #expect(frame.index == index && frame.rect == PixelRect(Motion.size) && frame.blend == .source)
            #expect(frame.duration == FrameDuration(duration, over: 24))
            #expect(frame.isIndependent == Motion.independent[index])
            #expect(PixelDigest.of(try image(sequence)) == Motion.digests[index])
        }
        #expect(try sequence.nextFrame() == nil)
    }

    @Test func `decode any frame in any order`() throws {
        let sequence = try decoder(fixture(Motion.name))
        for index in [5, 0, 2, 2, 1, 4, 3, 5] {
            #expect(try sequence.seek(toFrame: index) == index)
            #expect(try sequence.nextFrame()?.index == index)
            #expect(PixelDigest.of(try image(sequence)) == Motion.digests[index])
        }
        #expect(throws: CoderError.self) { try sequence.seek(toFrame: 6) }
    }

    /// Changes the bytes behind every box of that type.
    private func changed(_ bytes: [UInt8], _ type: String, at offset: Int, to value: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for place in bytes.indices where bytes[place...].starts(with: Array(type.utf8)) {
            bytes.replaceSubrange(place + 4 + offset..<place + 4 + offset + value.count, with: value)
        }
        return bytes
    }

    @Test func `report the loop count`() throws {
        let bytes = try fixture("avif/sequence-alpha-3-plays.avif")
        func loops(_ bytes: [UInt8]) throws -> LoopCount { try decoder(bytes).readHeader().loopCount }
        #expect(try loops(bytes) == .plays(3))
        #expect(try loops(changed(bytes, "tkhd", at: 28, to: Array(repeating: 0xFF, count: 8))) == .infinite)
        // The flag that makes edits repeat; then another box instead of the list.
        #expect(try loops(changed(bytes, "elst", at: 3, to: [0])) == .plays(1))
        #expect(try loops(changed(bytes, "edts", at: -4, to: Array("free".utf8))) == .unknown)
        // A partial play counts as one more.
        #expect(try loops(changed(bytes, "tkhd", at: 28, to: [0, 0, 0, 0, 0, 0, 0, 14])) == .plays(2))
        #expect(PixelDigest.of(try image(decoder(bytes))) == Motion.digests[0])
    }

    @Test func `deliver each frame as soon as its bytes have arrived`() throws {
        let bytes = try fixture(Motion.name)
        let source = ByteSource(bytes, arrived: 0)
        let sequence = try AVIFDecoder(DecoderSession(source: source))
        var arrivals: [Int] = []
        for count in 0...bytes.count {
            if count > 0 { source.arrive(1) }
            do {
                while let frame = try sequence.nextFrame() {
                    #expect(PixelDigest.of(try image(sequence)) == Motion.digests[frame.index])
                    arrivals.append(count)
                }
            } catch let error as CoderError {
                #expect(error.code == .needsInput)
            }
        }
        #expect(arrivals.count == 6 && arrivals == arrivals.sorted())
        #expect(try #require(arrivals.first) < bytes.count / 2 && arrivals.last == bytes.count)
    }

    @Test func `deliver the frames before a cut`() throws {
        let bytes = Array(try fixture(Motion.name).dropLast(200))
        let sequence = try decoder(bytes)
        for index in 0..<5 {
            #expect(try sequence.nextFrame()?.index == index)
            #expect(PixelDigest.of(try image(sequence)) == Motion.digests[index])
        }
        let error = #expect(throws: CoderError.self) { try sequence.nextFrame() }
        #expect(error?.code == .truncated)
    }

    @Test func `with more frames than the limit are refused`() throws {
        var limits = DecodeLimits.default
        limits.maxFrames = 5
        let error = #expect(throws: CoderError.self) { try decoder(fixture(Motion.name), limits: limits).readHeader() }
        #expect(error?.limit?.name == "frames" && error?.limit?.allowed == 5)
    }
}

@Suite struct `Damaged AVIF` {
    private static let names = ["images/rgba.avif", "avif/known-samples-422-bt709-turned.avif", Motion.name]
    private static let codes: [CoderError.Code] = [
        .truncated, .corrupt, .notMine, .unsupportedFeature, .limitExceeded, .outOfMemory,
    ]

    /// Decodes everything; returns the error.
    private func attempt(_ bytes: [UInt8]) -> CoderError? {
        var limits = DecodeLimits.strict
        limits.maxPixels = 100_000
        do {
            let decoder = try decoder(bytes, limits: limits)
            _ = try decoder.readHeader()
            _ = try decoder.metadata()
            while try decoder.nextFrame() != nil { _ = try image(decoder) }
            return nil
        } catch {
            return error as? CoderError
        }
    }

    @Test(arguments: names)
    func `by a cut is refused at every length`(name: String) throws {
        let bytes = try fixture(name)
        for count in stride(from: 0, to: bytes.count, by: bytes.count > 2000 ? 13 : 1) {
            let error = try #require(attempt(Array(bytes.prefix(count))), "\(count) bytes of \(name)")
            #expect(Self.codes.contains(error.code))
            if count >= 64 { #expect(error.code == .truncated, "\(count) bytes: \(error)") }
        }
    }

    @Test(arguments: names)
    func `anywhere ends in pixels or in a typed error`(name: String) throws {
        let bytes = try fixture(name)
        // A linear congruential generator: the same damage on every machine.
        var state: UInt64 = 42
        func number(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for _ in 0..<150 {
            var damaged = bytes
            for _ in 0...number(below: 4) { damaged[number(below: bytes.count)] = UInt8(number(below: 256)) }
            if let error = attempt(damaged) { #expect(Self.codes.contains(error.code)) }
        }
    }
}
