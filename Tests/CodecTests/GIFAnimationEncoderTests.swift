import CoderPluginKit
import GIFCodec
import ImageModel
import Testing

private struct Dice {
    var state: UInt64

    mutating func roll(_ sides: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % sides
    }
}

/// The canvas after each frame; it must be the same with giflib's pixels and with ours.
private func shown(_ file: [UInt8], _ size: PixelSize) throws -> [[UInt8]] {
    let own = try decodeGIF(file).frames
    let images = composited(own, size)
    let foreign = try #require(giflibFrames(file))
    #expect(foreign.map(\.info.rect) == own.map(\.info.rect))
    #expect(foreign.map(\.info.duration) == own.map(\.info.duration))
    let mixed = zip(own, foreign).map { DecodedFrame(info: $0.info, pixels: $1.pixels) }
    #expect(composited(mixed, size) == images)
    return images
}

/// The last image of an animation whose frames may have been merged.
private func hundredths(_ file: [UInt8]) throws -> [Int] {
    try decodeGIF(file).frames.map { Int($0.info.duration.numerator) }
}

/// Images of boxes that appear and disappear on a transparent or opaque background.
private func boxes(_ size: PixelSize, frames: Int, seed: Int, hasHoles: Bool, colors: Int) -> [[UInt8]] {
    var dice = Dice(state: UInt64(seed))
    var image = [UInt8](repeating: hasHoles ? 0 : 255, count: size.width * size.height * 4)
    return (0..<frames).map { _ in
        for _ in 0..<dice.roll(3) {
            let (x, y) = (dice.roll(size.width), dice.roll(size.height))
            let (right, bottom) = (x + dice.roll(size.width - x), y + dice.roll(size.height - y))
            let color = dice.roll(colors)
            let pixel: [UInt8] =
                hasHoles && dice.roll(2) == 0
                ? [0, 0, 0, 0] : [UInt8(color & 0xFF), UInt8(color >> 8 & 0xFF), UInt8(color * 7 & 0xFF), 255]
            for row in y...bottom {
                for column in x...right {
                    let place = (row * size.width + column) * 4
                    image.replaceSubrange(place..<place + 4, with: pixel)
                }
            }
        }
        return image
    }
}

/// A synthetic photo: smooth colors with grain, and a window that moves with the frame.
private func grained(_ size: PixelSize, frames: Int, step: Int, grain: Int) -> [[UInt8]] {
    var dice = Dice(state: 7)
    return (0..<frames).map { frame in
        (0..<size.width * size.height).flatMap { place -> [UInt8] in
            let (x, y) = (place % size.width + frame * step, place / size.width)
            func noisy(_ value: Int) -> UInt8 { UInt8(max(0, min(255, value + dice.roll(2 * grain + 1) - grain))) }
            return [noisy(x * 5 % 256), noisy(y * 6 % 256), noisy((x + y) * 3 % 256), 255]
        }
    }
}

private func meanSquare(_ a: [UInt8], _ b: [UInt8]) -> Double {
    let total = zip(a, b).reduce(0) { $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1)) }
    return Double(total) * 4 / Double(3 * a.count)
}

@Suite struct `GIF animation encoder` {
    @Test(arguments: 0..<24) func `keeps images of few colors exactly`(_ seed: Int) throws {
        let size = [PixelSize(1, 1), PixelSize(7, 5), PixelSize(33, 17), PixelSize(130, 129)][seed % 4]
        // Up to 3000 in all, but never more than about 25 at a time: palettes change.
        let images = boxes(size, frames: 24, seed: seed, hasHoles: seed % 3 != 0, colors: seed % 2 == 0 ? 30 : 3000)
        let given = GivenFrame.sequence(images, size, each: FrameDuration(1, over: 100))
        for palette in ["auto", "local"] {
            let file = try encodeGIF(size, .rgba8, given, options: ["gif.palette": .string(palette)])
            let got = try shown(file, size)
            var expanded: [[UInt8]] = []
            for (image, delay) in zip(got, try hundredths(file)) {
                expanded += [[UInt8]](repeating: image, count: delay)
            }
            #expect(expanded == images)
        }
    }

    @Test func `keeps 256 opaque colors, then other frames`() throws {
        let size = PixelSize(16, 16)
        let first = (0..<256).flatMap { (index: Int) -> [UInt8] in
            [UInt8(index), UInt8(255 - index), 9, 255]
        }
        var second = first
        second.replaceSubrange(0..<4, with: [UInt8](first[400..<404]))
        var third = second
        third.replaceSubrange(40..<44, with: [1, 2, 3, 255])
        let images = [first, second, third]
        let file = try encodeGIF(
            size, .rgba8, GivenFrame.sequence(images, size, each: .milliseconds(50)))
        #expect(try shown(file, size) == images)
    }

    @Test func `draws only changes`() throws {
        let size = PixelSize(20, 10)
        let first = [UInt8](repeating: 50, count: 20 * 10)
        var second = first
        second[5 * 20 + 7] = 60
        var third = second
        third[2 * 20 + 1] = 70
        third[8 * 20 + 18] = 50
        third[8 * 20 + 17] = 80
        let file = try encodeGIF(
            size, .gray8, GivenFrame.sequence([first, second, third], size, each: .milliseconds(50)))
        #expect(
            try decodeGIF(file).frames.map(\.info.rect) == [
                PixelRect(size), PixelRect(x: 7, y: 5, width: 1, height: 1),
                PixelRect(x: 1, y: 2, width: 17, height: 7),
            ])
    }

    @Test func `adds up the durations of equal frames without drift`() throws {
        let size = PixelSize(2, 1)
        let images: [[UInt8]] = (0..<90).map { $0 % 3 == 2 ? [1, 2] : [3, 4] }
        let file = try encodeGIF(
            size, .gray8, GivenFrame.sequence(images, size, each: FrameDuration(1, over: 30)))
        let delays = try hundredths(file)
        // Runs of two and one of 3⅓ hundredths each; never more than half a hundredth off.
        #expect(delays.count == 60 && delays.reduce(0, +) == 300)
        #expect(delays.prefix(4) == [7, 3, 7, 3])
        #expect(try decodeGIF(file).frames.first?.pixels == [3, 3, 3, 255, 4, 4, 4, 255])
    }

    @Test func `splits durations longer than one delay`() throws {
        let size = PixelSize(3, 3)
        let red = [UInt8](repeating: 0, count: 36).enumerated().map { $0.offset % 4 % 3 == 0 ? UInt8(255) : 0 }
        let nothing = [UInt8](repeating: 0, count: 36)
        let given = GivenFrame.sequence([red, nothing, red], size, each: FrameDuration(1400, over: 1))
        let file = try encodeGIF(size, .rgba8, given)
        let delays = try hundredths(file)
        #expect(delays == [65535, 65535, 8930, 65535, 65535, 8930, 65535, 65535, 8930])
        #expect(try shown(file, size) == [red, red, red, nothing, nothing, nothing, red, red, red])
    }

    @Test(arguments: [LoopCount.plays(70000), .plays(3), .infinite, .unknown])
    func `stores the loop count`(_ count: LoopCount) throws {
        let size = PixelSize(1, 1)
        let given = GivenFrame.sequence([[1], [2]], size, each: .milliseconds(20))
        let expected: LoopCount =
            switch count {
            case .plays(70000): .plays(65536)
            case .unknown: .plays(1)
            default: count
            }
        #expect(try decodeGIF(encodeGIF(size, .gray8, given, loops: count)).info.loopCount == expected)
    }

    @Test(arguments: ["none", "ordered", "diffusion"]) func `does not redraw static parts`(_ dither: String) throws {
        let size = PixelSize(64, 48)
        let still = grained(size, frames: 1, step: 0, grain: 30)[0]
        let moving = grained(size, frames: 6, step: 9, grain: 30)
        // A window of 20 × 10 moves, the rest stays.
        let images = moving.map { image in
            var result = still
            for y in 10..<20 {
                let row = (y * 64 + 20) * 4..<(y * 64 + 40) * 4
                result.replaceSubrange(row, with: image[row])
            }
            return result
        }
        let file = try encodeGIF(
            size, .rgba8, GivenFrame.sequence(images, size, each: .milliseconds(40)),
            options: ["gif.dither": .string(dither)])
        let window = PixelRect(x: 20, y: 10, width: 20, height: 10)
        #expect(try decodeGIF(file).frames.dropFirst().allSatisfy { window.contains($0.info.rect) })
        let got = try shown(file, size)
        #expect(got.count == 6)
        for (image, expected) in zip(got, images) { #expect(meanSquare(image, expected) < 250) }
    }

    @Test func `stays close to the source if every pixel changes`() throws {
        let size = PixelSize(48, 32)
        let images = grained(size, frames: 8, step: 3, grain: 4)
        let file = try encodeGIF(size, .rgba8, GivenFrame.sequence(images, size, each: .milliseconds(40)))
        let got = try shown(file, size)
        #expect(got.count == images.count)
        // The usual 6 × 6 × 6 colors, evenly spread, are off by 51² / 12; frames that share others may lose as much.
        for (image, expected) in zip(got, images) { #expect(meanSquare(image, expected) < 51 * 51 / 12) }
    }

    @Test func `does not redraw noise`() throws {
        let size = PixelSize(48, 32)
        let noisy = grained(size, frames: 8, step: 0, grain: 2)
        let moving = grained(size, frames: 8, step: 5, grain: 2)
        func bytes(_ images: [[UInt8]]) throws -> Int {
            try encodeGIF(size, .rgba8, GivenFrame.sequence(images, size, each: .milliseconds(40))).count
        }
        #expect(try bytes(noisy) * 2 < bytes(moving))
    }

    @Test(arguments: [2, 3, 16, 255]) func `keeps the color limit`(_ limit: Int) throws {
        let size = PixelSize(32, 24)
        let images = grained(size, frames: 3, step: 5, grain: 3)
        for palette in ["auto", "global", "local"] {
            let file = try encodeGIF(
                size, .rgba8, GivenFrame.sequence(images, size, each: .milliseconds(40)),
                options: ["gif.colors": .integer(Int64(limit)), "gif.palette": .string(palette)])
            for frame in try decodeGIF(file).frames {
                let colors = Set(
                    stride(from: 0, to: frame.pixels.count, by: 4).map { [UInt8](frame.pixels[$0..<$0 + 4]) })
                #expect(colors.subtracting([[0, 0, 0, 0]]).count <= limit)
            }
            #expect(try shown(file, size).count == 3)
        }
    }

    @Test func `writes global or local palettes as requested`() throws {
        let size = PixelSize(32, 24)
        let images = grained(size, frames: 4, step: 25, grain: 3)
        let given = GivenFrame.sequence(images, size, each: .milliseconds(40))
        /// Image descriptors that are followed by a palette (section 20), found by walking blocks.
        func localPalettes(_ palette: String) throws -> [Bool] {
            let file = try encodeGIF(size, .rgba8, given, options: ["gif.palette": .string(palette)])
            var place = 13 + 3 << Int(file[10] & 7 + 1)
            var found: [Bool] = []
            while file[place] != 0x3B {
                if file[place] == 0x21 {
                    place += 2
                } else {
                    let flags = file[place + 9]
                    found.append(flags & 0x80 != 0)
                    place += 11 + (flags & 0x80 != 0 ? 3 << Int(flags & 7 + 1) : 0)
                }
                while file[place] != 0 { place += Int(file[place]) + 1 }
                place += 1
            }
            return found
        }
        #expect(try localPalettes("global") == [false, false, false, false])
        #expect(try localPalettes("local") == [false, true, true, true])
    }

    /// One frame in memory at a time: the limit is less than the memory of all frames.
    @Test func `encodes ten thousand frames`() throws {
        let size = PixelSize(4, 3)
        let images = boxes(size, frames: 10000, seed: 3, hasHoles: true, colors: 5000)
        let given = GivenFrame.sequence(images, size, each: FrameDuration(1, over: 100))
        let file = try encodeGIF(size, .rgba8, given)
        let got = try shown(file, size)
        let delays = try hundredths(file)
        #expect(delays.reduce(0, +) == 10000)
        var (place, isRight) = (0, true)
        for (image, delay) in zip(got, delays) {
            for _ in 0..<delay {
                if image != images[place] { isRight = false }
                place += 1
            }
        }
        #expect(isRight)
    }

    @Test func `encodes the widest canvas`() throws {
        let size = PixelSize(65535, 2)
        let first = (0..<65535 * 2).map { UInt8($0 / 300 & 0xFF) }
        var second = first
        second[second.count - 1] ^= 1
        let file = try encodeGIF(size, .gray8, GivenFrame.sequence([first, second], size, each: .milliseconds(40)))
        let got = try shown(file, size)
        #expect(got == [first, second].map { $0.flatMap { [$0, $0, $0, 255] } })
    }

    @Test func `refuses partial canvases`() throws {
        let part = FrameInfo(index: 0, rect: PixelRect(x: 1, y: 0, width: 1, height: 1))
        #expect(throws: CoderError.self) {
            try encodeGIF(PixelSize(2, 2), .gray8, [GivenFrame(pixels: [1], info: part)])
        }
    }
}
