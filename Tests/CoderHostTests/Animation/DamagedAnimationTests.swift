import CoderHost
import ImageModel
import TestSupport
import Testing

/// Unusual, broken or hostile animations end with a typed error, or with their known correct frames.
@Suite struct `Damaged animations` {
    private typealias GIF = HandmadeAnimation.GIF
    private typealias APNG = HandmadeAnimation.APNG
    private typealias WebP = HandmadeAnimation.WebP

    static let red: [UInt8] = [255, 0, 0, 255]
    static let green: [UInt8] = [0, 255, 0, 255]

    /// The visible result of a file: the first pixel of every decoded frame, and the error that ends the list.
    private struct Seen: Equatable {
        var size = PixelSize.zero
        var pixels: [[UInt8]] = []
        var durations: [Double] = []
        var loopCount = LoopCount.unknown
        var problem: CoderError.Code?
    }

    private func see(_ bytes: [UInt8], limits: DecodeLimits? = nil) -> Seen {
        var seen = Seen()
        do throws(CoderError) {
            let image = try Bench.open(bytes, limits: limits)
            seen.size = image.size
            seen.loopCount = image.loopCount
            seen.problem = image.problem?.code
            for index in 0..<image.frameCount {
                seen.durations.append(try image.duration(at: index).milliseconds)
                seen.pixels.append(Array(PixelDigest.rgba8(try image.frame(at: index).pixels).prefix(4)))
            }
        } catch {
            seen.problem = error.code
        }
        return seen
    }

    /// A red and a green frame, with optional data in between.
    private static func gif(_ between: [UInt8] = [], loops: Int? = 0, delay: Int = 10, size: Int = 2) -> [UInt8] {
        GIF.head(size, size, loops: loops) + GIF.frame(0, 0, 2, 2, [1, 1, 1, 1], delay: delay) + between
            + GIF.frame(0, 0, 2, 2, [2, 2, 2, 2], delay: delay) + GIF.end
    }

    private static func apng(plays: Int = 0, delay: (Int, Int) = (1, 10), claimed: Int = 2) -> [UInt8] {
        APNG.head(2, 2, frames: claimed, plays: plays) + APNG.control(0, 0, 0, 2, 2, delay: delay)
            + APNG.data(nil, 2, 2, red) + APNG.control(1, 0, 0, 2, 2, delay: delay) + APNG.data(2, 2, 2, green)
            + APNG.end
    }

    private static func webp(loops: Int = 0, milliseconds: Int = 100, between: [UInt8] = []) -> [UInt8] {
        WebP.file(
            2, 2, loops: loops,
            WebP.frame(0, 0, 2, 2, milliseconds: milliseconds, WebP.solid(2, 2, red)) + between
                + WebP.frame(0, 0, 2, 2, milliseconds: milliseconds, WebP.solid(2, 2, green)))
    }

    @Test func `made by hand are correct without damage`() {
        for bytes in [Self.gif(), Self.apng(), Self.webp()] {
            let seen = see(bytes)
            #expect(seen.size == PixelSize(2, 2))
            #expect(seen.pixels == [Self.red, Self.green])
            #expect(seen.durations == [100, 100])
            #expect(seen.loopCount == .infinite && seen.problem == nil)
        }
    }

    // MARK: Missing and empty frames

    @Test func `without a frame are corrupt, or decode to their still image`() {
        #expect(see(GIF.head(2, 2) + GIF.end).problem == .corrupt)
        #expect(see(WebP.file(2, 2, [])).problem == .corrupt)
        // PNG: a decoder that finds no animation shows the still image.
        let still = APNG.head(2, 2, frames: 0) + APNG.data(nil, 2, 2, Self.red) + APNG.end
        #expect(see(still).pixels == [Self.red])
        #expect(see(APNG.head(2, 2, frames: 2) + APNG.end).problem == .corrupt)
    }

    @Test func `with zero durations keep these, and play as in browsers`() throws {
        for bytes in [
            Self.gif(delay: 0), Self.apng(delay: (0, 100)), Self.apng(delay: (0, 0)), Self.webp(milliseconds: 0),
        ] {
            let seen = see(bytes)
            #expect(seen.pixels == [Self.red, Self.green])
            #expect(seen.durations == [0, 0])
            let clock = TestClock()
            let player = AnimatedImagePlayer(try Bench.open(bytes), clock: clock)
            player.start()
            try player.update()
            clock.pass(milliseconds: 99)
            #expect(try !player.update())
            clock.pass(milliseconds: 1)
            #expect(try player.update() && player.currentIndex == 1)
        }
    }

    @Test func `with an empty frame keep the other frames`() {
        // GIF: the frame is valid and draws nothing.
        let gif = see(Self.gif(GIF.frame(0, 0, 0, 0, [])))
        #expect(gif.pixels == [Self.red, Self.red, Self.green] && gif.problem == nil)
        // PNG, third edition, 11.3.6.2: the sides are greater than 0.
        let apng = see(
            APNG.head(2, 2, frames: 2) + APNG.control(0, 0, 0, 2, 2) + APNG.data(nil, 2, 2, Self.red)
                + APNG.control(1, 0, 0, 0, 0) + APNG.data(2, 0, 0, Self.green) + APNG.end)
        #expect(apng.pixels == [Self.red] && apng.problem == .corrupt)
    }

    @Test func `with a frame outside the canvas keep the other frames`() {
        // GIF: parts outside the canvas are invisible. Test frames partly and completely outside.
        for place in [(1, 1), (2, 2), (60000, 60000)] {
            let seen = see(Self.gif(GIF.frame(place.0, place.1, 2, 2, [3, 3, 3, 3])))
            #expect(seen.size == PixelSize(2, 2))
            #expect(seen.pixels == [Self.red, Self.red, Self.green] && seen.problem == nil, "\(place)")
        }
        for (x, y) in [(1, 0), (2, 2), (0x7FFF_FFFF, 0)] {
            let seen = see(
                APNG.head(2, 2, frames: 2) + APNG.control(0, 0, 0, 2, 2) + APNG.data(nil, 2, 2, Self.red)
                    + APNG.control(1, x, y, 2, 2) + APNG.data(2, 2, 2, Self.green) + APNG.end)
            #expect(seen.pixels == [Self.red] && seen.problem == .corrupt, "\(x), \(y)")
        }
        for (x, y) in [(2, 0), (0, 2), (16_777_214, 0)] {
            let seen = see(Self.webp(between: WebP.frame(x, y, 2, 2, WebP.solid(2, 2, Self.green))))
            #expect(seen.pixels == [Self.red] && seen.problem == .corrupt, "\(x), \(y)")
        }
    }

    @Test func `with an empty first frame are complete`() throws {
        let bytes = GIF.head(2, 2) + GIF.frame(0, 0, 0, 0, []) + GIF.frame(0, 0, 2, 2, [1, 1, 1, 1]) + GIF.end
        let progressive = try ProgressiveImage(manager: Bench.manager, name: "a.gif")
        try progressive.append(bytes)
        progressive.finish()
        let first = try progressive.update { ($0.pixels.bytes, $0.isComplete) }

        #expect(first?.0.allSatisfy { $0 == 0 } == true && first?.1 == true && progressive.isImageComplete)
        #expect(progressive.image?.frameCount == 2)
    }

    @Test func `with a frame above the memory limit are refused, however small the canvas is`() {
        var limits = DecodeLimits.default
        limits.maxDecodedBytes = 16 << 20
        let seen = see(Self.gif(GIF.frame(0, 0, 60000, 4000, [3])), limits: limits)

        #expect(seen.problem == .limitExceeded)
    }

    // MARK: Numbers at their limits

    @Test func `report their loop count, also at the limits`() {
        let gif: [(Int?, LoopCount)] = [
            (nil, .plays(1)), (0, .infinite), (1, .plays(2)), (65535, .plays(65536)),
        ]
        for (stored, loops) in gif { #expect(see(Self.gif(loops: stored)).loopCount == loops) }
        for (stored, loops) in [(0, LoopCount.infinite), (1, .plays(1)), (0x7FFF_FFFF, .plays(0x7FFF_FFFF))] {
            #expect(see(Self.apng(plays: stored)).loopCount == loops)
        }
        for (stored, loops) in [(0, LoopCount.infinite), (1, .plays(1)), (65535, .plays(65535))] {
            #expect(see(Self.webp(loops: stored)).loopCount == loops)
        }
        // The value exceeds the four bytes of PNG: the loop count is undefined, but the frames are intact.
        #expect(see(Self.apng(plays: 0xFFFF_FFFF)).pixels == [Self.red, Self.green])
    }

    @Test(arguments: AnimatedTarget.all, [65_535, 65_536, 65_537, 0x7FFF_FFFF, Int.max])
    func `are written with as many plays as the format allows, with a warning about fewer`(
        target: AnimatedTarget, plays: Int
    ) throws {
        let motion = Motion.blocks(16, 16, frames: 2, loopCount: .plays(plays))
        do {
            let (bytes, warnings) = try Bench.encode(motion, to: target)
            let stored = try Bench.open(bytes).loopCount
            #expect(stored == .plays(plays) || !warnings.isEmpty, "\(stored) without a warning")
        } catch let error as CoderError {
            #expect([.invalidArgument, .limitExceeded].contains(error.code), "\(error)")
        }
    }

    @Test func `with sides of 65535 pixels are refused before decoding`() {
        let huge = [
            GIF.head(65_535, 65_535, loops: 0) + GIF.frame(0, 0, 2, 2, [1, 1, 1, 1])
                + GIF.frame(0, 0, 2, 2, [2, 2, 2, 2]) + GIF.end,
            APNG.head(65_535, 65_535, frames: 2) + APNG.control(0, 0, 0, 65_535, 65_535)
                + APNG.data(nil, 2, 2, Self.red) + APNG.control(1, 0, 0, 2, 2) + APNG.data(2, 2, 2, Self.green)
                + APNG.end,
            WebP.file(
                65_535, 65_535,
                WebP.frame(0, 0, 2, 2, WebP.solid(2, 2, Self.red))
                    + WebP.frame(0, 0, 2, 2, WebP.solid(2, 2, Self.green))),
        ]
        for bytes in huge { #expect(see(bytes).problem == .limitExceeded) }
        // A canvas of four gigapixels in a few hundred bytes; without limits, memory is the limit.
        #expect(see(APNG.head(0x7FFF_FFFF, 0x7FFF_FFFF, frames: 2), limits: .off).problem != nil)
    }

    @Test func `of an AVIF with sides of 65535 pixels are refused`() {
        var bytes = Fixture.named("avif/sequence-alpha.avif").bytes
        // Every 'ispe' and 'tkhd' declares 24 by 16.
        for name in ["ispe", "av01"] {
            var start = 0
            while let found = bytes[start...].firstRange(of: Array(name.utf8)) {
                let place = found.upperBound + (name == "ispe" ? 4 : 24)
                if name == "ispe" {
                    bytes.replaceSubrange(place..<place + 8, with: [0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF])
                }
                start = found.upperBound
            }
        }
        var place = 0
        while let found = bytes[place...].firstRange(of: Array("tkhd".utf8)) {
            // Version 1: width and height are the last eight bytes of 104.
            let end = found.lowerBound - 4 + 104
            bytes.replaceSubrange(end - 8..<end, with: [0xFF, 0xFF, 0, 0, 0xFF, 0xFF, 0, 0])
            place = found.upperBound
        }
        let seen = see(bytes)
        #expect(seen.problem == .limitExceeded || seen.problem == .corrupt, "\(seen)")
        #expect(seen.pixels.isEmpty)
    }

    @Test func `of a million frames are refused, after the frames within the limit`() throws {
        // One pixel each; the frames alone are 23 MB of GIF.
        let frame = GIF.frame(0, 0, 1, 1, [1])
        var gif = GIF.head(1, 1, loops: 0)
        gif.reserveCapacity(gif.count + 1_000_000 * frame.count)
        for _ in 0..<1_000_000 { gif += frame }
        // A complete file is counted in advance and refused; an arriving file yields the frames within the limit.
        #expect(Bench.code { _ = try Bench.open(gif + GIF.end) } == .limitExceeded)

        let solid = WebP.frame(0, 0, 2, 2, WebP.solid(2, 2, Self.red))
        let webp = WebP.file(2, 2, Array([[UInt8]](repeating: solid, count: 20_000).joined()))
        #expect(Bench.code { _ = try Bench.open(webp) } == .limitExceeded)
        let arriving = try ImageSource(growingTo: webp.count + 1)
        try arriving.append(webp)
        let image = try AnimatedImage(arriving, manager: Bench.manager)
        #expect(image.frameCount == 10_000 && image.problem?.limit?.name == "frames")
        // A declared count alone costs nothing: only the two existing frames count.
        for claimed in [1_000_000, 0x7FFF_FFFF, 0xFFFF_FFFF] {
            let seen = see(Self.apng(claimed: claimed))
            #expect(seen.pixels == [Self.red, Self.green] && seen.problem == nil, "\(claimed)")
        }
    }

    @Test func `of an AVIF that declares a million frames keep the existing frames`() throws {
        let bytes = Fixture.named("avif/sequence-alpha.avif").bytes
        let whole = try Motion(Bench.open(bytes))
        // 'stsz': version and flags, common size (0), count; the count of the first table is set to a million.
        let table = try #require(bytes.firstRange(of: Array("stsz".utf8)))
        var claimed = bytes
        claimed.replaceSubrange(table.upperBound + 8..<table.upperBound + 12, with: [0, 0x0F, 0x42, 0x40])
        let seen = see(claimed)

        #expect(seen.problem != nil || seen.pixels.count == whole.images.count, "\(seen.pixels.count) frames")
        if let problem = seen.problem {
            #expect([.corrupt, .truncated, .limitExceeded].contains(problem), "\(problem)")
        }
    }

    // MARK: Data

    @Test func `with a color outside the palette are displayed without it`() throws {
        // A palette of two colors, and the indices 0 to 3.
        var bytes = Array("GIF89a".utf8) + [2, 0, 2, 0, 0x80, 0, 0, 255, 0, 0, 0, 255, 0]
        bytes += GIF.frame(0, 0, 2, 2, [0, 1, 2, 3]) + GIF.frame(0, 0, 2, 2, [1, 0, 3, 2]) + GIF.end
        let image = try Bench.open(bytes)

        let black: [UInt8] = [0, 0, 0, 255]
        #expect(try PixelDigest.rgba8(image.frame(at: 0).pixels) == Self.red + Self.green + black + black)
        #expect(try PixelDigest.rgba8(image.frame(at: 1).pixels) == Self.green + Self.red + black + black)
    }

    @Test func `with an index outside the palette of a PNG keep the earlier frames`() {
        // Color type 3 with two colors; the second frame has the index 5.
        let palette = APNG.chunk("PLTE", [255, 0, 0, 0, 255, 0])
        let bytes =
            APNG.head(2, 2, frames: 2, colorType: 3) + palette + APNG.control(0, 0, 0, 2, 2)
            + APNG.data(nil, 2, 2, [0]) + APNG.control(1, 0, 0, 2, 2) + APNG.data(2, 2, 2, [5]) + APNG.end
        let seen = see(bytes)

        #expect(seen.pixels.first == Self.red)
        #expect(seen.pixels.count == 2 || seen.problem == .corrupt, "\(seen)")
    }

    @Test func `with an undefined LZW code keep everything before it`() throws {
        // Code 7 is undefined directly after the clear code 4.
        let first = GIF.head(2, 2) + GIF.frame(0, 0, 2, 2, codes: [4, 1, 7, 1, 5]) + GIF.end
        #expect(see(first).problem == .corrupt)
        // The pixels before the code are kept. The missing pixels of a frame that covers the canvas are black, in any
        // order of access; a smaller frame shows the canvas below.
        let black: [UInt8] = [0, 0, 0, 255, 0, 0, 0, 255]
        for (width, rest) in [(2, black), (1, Self.red + Self.red)] {
            let later = Self.gif(GIF.frame(0, 0, width, 2, codes: [4, 3, 7, 1, 5]))
            let image = try Bench.open(later)
            #expect(image.frameCount == 3 && image.problem == nil)
            for order in [[1, 2], [2, 0, 1]] {
                for index in order where index != 1 { _ = try image.frame(at: index) }
                let second = PixelDigest.rgba8(try image.frame(at: 1).pixels)
                #expect(second.prefix(4) == [0, 0, 255, 255])
                #expect(second.suffix(8) == rest[...])
            }
            #expect(try PixelDigest.rgba8(image.frame(at: 2).pixels).prefix(4) == Self.green[...])
            #expect(!image.warnings.isEmpty)
        }
    }

    @Test(arguments: AnimatedTarget.all)
    func `with a wrong byte keep the frames before it`(target: AnimatedTarget) throws {
        let motion = Motion.blocks(24, 20, frames: 6)
        let bytes = try Bench.encode(motion, to: target).bytes
        var limits = DecodeLimits.strict
        limits.maxPixels = 1_000_000
        for place in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 80)) {
            // The frames that are complete before that byte.
            let source = try ImageSource(growingTo: bytes.count)
            try source.append(Array(bytes[..<place]))
            let before = try? AnimatedImage(source, manager: Bench.manager)
            var certain = 0
            if let before {
                while certain < before.frameCount, (try? before.frame(at: certain)) != nil { certain += 1 }
            }
            var changed = bytes
            changed[place] ^= 0x55
            do throws(CoderError) {
                let image = try Bench.open(changed, limits: limits)
                #expect(image.frameCount >= certain, "byte \(place)")
                for index in 0..<min(certain, image.frameCount) {
                    #expect(PixelDigest.rgba8(try image.frame(at: index).pixels) == motion.images[index])
                }
            } catch {
                #expect(certain == 0, "byte \(place): \(certain) frames were whole, and now \(error)")
            }
        }
    }
}
