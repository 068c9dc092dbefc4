import APNGCodec
import CoderPluginKit
import ImageModel
import Testing

@Suite struct `Damaged APNG` {
    private static let file = threeGrayFrames
    private static let hidden: HandmadeAPNG = {
        var file = threeGrayFrames
        file.hidden = [0, 90, 91, 0, 92, 93]
        return file
    }()
    private static let defaultImage = [90, 91, 92, 93]

    // MARK: The number of frames

    @Test(arguments: [1, 2, 4, 1000, 0x7FFF_FFFF, 0xFFFF_FFFF])
    func `delivers the existing frames for any declared number`(_ claimed: Int) throws {
        var file = Self.file
        file.claimed = claimed
        let animation = try decodeAPNG(file.bytes)
        #expect(animation.samples == threeGraySamples && animation.failure == nil)
        #expect(animation.info.frameCount == 3 && animation.info.isAnimated)
    }

    @Test func `is no animation with a single frame`() throws {
        var file = Self.file
        file.frames.removeLast(2)
        let animation = try decodeAPNG(file.bytes)
        #expect(animation.info.frameCount == 1 && !animation.info.isAnimated)
        #expect(animation.samples == [[1, 2, 3, 4]])
    }

    /// The view without APNG support.
    @Test func `is its default image without a usable animation`() throws {
        let hidden = Self.hidden
        var none = hidden
        none.claimed = 0
        let broken: [(String, [UInt8])] = [
            ("declares no frames", none.bytes),
            ("no frames", hidden.bytes { $0.removeAll { ["fcTL", "fdAT"].contains($0.name) } }),
            ("acTL damaged", hidden.bytes { $0[1].bytes[9] ^= 1 }),
            ("acTL too short", hidden.bytes { $0[1].bytes = pngChunk("acTL", be32(3)) }),
            ("fdAT in front of fcTL", hidden.bytes { $0.swapAt(3, 4) }),
            ("first fcTL damaged", hidden.bytes { $0[3].bytes[10] ^= 1 }),
            ("numbers from 1 on", hidden.bytes { $0[3].bytes = apngControl(1, hidden.frames[0]) }),
            ("two fcTL", hidden.bytes { $0.insert(("fcTL", apngControl(1, hidden.frames[0])), at: 4) }),
            ("cut in the default image", Array(hidden.bytes.prefix(8 + 25 + 20 + 8 + 7 + 6 + 2))),
        ]
        for (what, bytes) in broken {
            let animation = try decodeAPNG(bytes)
            #expect(animation.samples == [Self.defaultImage], "\(what)")
            #expect(animation.info.frameCount == 1 && !animation.info.isAnimated && animation.failure == nil, "\(what)")
        }
    }

    @Test func `is its default image if that is a frame smaller than the canvas`() throws {
        var file = Self.file
        file.frames[0].rect = PixelRect(x: 0, y: 0, width: 1, height: 2)
        #expect(try decodeAPNG(file.bytes).samples == [[1, 2, 3, 4]])
    }

    // MARK: Single chunks

    @Test(arguments: [
        PixelRect(x: 0, y: 0, width: 0, height: 1), PixelRect(x: 0, y: 0, width: 1, height: 0),
        PixelRect(x: 2, y: 0, width: 1, height: 1), PixelRect(x: 0, y: 1, width: 1, height: 2),
        PixelRect(x: 0xFFFF_FFFF, y: 0, width: 1, height: 1), PixelRect(x: 1, y: 1, width: 0xFFFF_FFFF, height: 1),
    ])
    func `ends before a frame that is empty or outside the canvas`(_ rect: PixelRect) throws {
        var file = Self.file
        file.frames[1].rect = rect
        let animation = try decodeAPNG(file.bytes)
        #expect(animation.samples == [threeGraySamples[0]])
        #expect(animation.failure == .corrupt)
    }

    @Test func `ends before a frame with chunks out of order`() throws {
        let file = Self.file
        // IHDR, acTL, fcTL, IDAT, fcTL, fdAT, fcTL, fdAT, fdAT, fdAT, IEND
        let broken: [(String, Int, [UInt8])] = [
            ("a gap", 1, file.bytes { $0[4].bytes = apngControl(2, file.frames[1]) }),
            ("a number twice", 1, file.bytes { $0[4].bytes = apngControl(0, file.frames[1]) }),
            ("a piece is missing", 2, file.bytes { $0.remove(at: 8) }),
            ("two pieces changed places", 2, file.bytes { $0.swapAt(7, 8) }),
            ("fdAT in front of fcTL", 1, file.bytes { $0.swapAt(4, 5) }),
            ("fcTL is missing", 1, file.bytes { $0.remove(at: 4) }),
            ("fdAT is missing", 1, file.bytes { $0.remove(at: 5) }),
            ("fdAT of the last frame is missing", 2, file.bytes { $0.removeSubrange(7..<10) }),
            ("fdAT too short", 1, file.bytes { $0[5].bytes = pngChunk("fdAT", [0, 0, 0]) }),
            ("fcTL too short", 1, file.bytes { $0[4].bytes = pngChunk("fcTL", be32(1)) }),
            ("fcTL damaged", 1, file.bytes { $0[4].bytes[20] ^= 1 }),
            ("an unknown disposal", 1, file.bytes { $0[4].bytes = apngControl(1, Self.odd(3, 0)) }),
            ("an unknown blending", 1, file.bytes { $0[4].bytes = apngControl(1, Self.odd(0, 2)) }),
        ]
        for (what, count, bytes) in broken {
            let animation = try decodeAPNG(bytes)
            #expect(animation.samples == Array(threeGraySamples.prefix(count)), "\(what)")
            #expect(animation.failure == .corrupt, "\(what)")
        }
    }

    private static func odd(_ dispose: UInt8, _ blend: UInt8) -> HandmadeAPNG.Frame {
        HandmadeAPNG.Frame(
            rect: PixelRect(x: 1, y: 1, width: 1, height: 1), dispose: dispose, blend: blend, rows: [0, 9])
    }

    @Test func `skips unknown chunks, also between the pieces of a frame`() throws {
        let strange = ("strange", pngChunk("quIp", [1, 2, 3]))
        for place in 2...10 {
            let animation = try decodeAPNG(Self.file.bytes { $0.insert(strange, at: place) })
            #expect(animation.samples == threeGraySamples && animation.failure == nil, "in front of chunk \(place)")
        }
    }

    // MARK: Data

    @Test func `needs a default image`() {
        for file in [Self.file, Self.hidden] {
            #expect { try decodeAPNG(file.bytes { $0.removeAll { $0.name == "IDAT" } }) } throws: {
                ($0 as? CoderError)?.code == .corrupt
            }
        }
    }

    @Test func `keeps the frames before one with too little data, and accepts extra data like PNG`() throws {
        var short = Self.file
        short.frames[1].rows = [0]
        let animation = try decodeAPNG(short.bytes)
        #expect(animation.samples == [threeGraySamples[0]] && animation.failure == .truncated)
        var long = Self.file
        for index in 0..<3 { long.frames[index].rows += [0, 77, 77, 0] }
        #expect(try decodeAPNG(long.bytes).samples == threeGraySamples)
        var none = Self.file
        none.frames[1].rows = [9, 9]
        #expect(try decodeAPNG(none.bytes).failure == .corrupt)
    }

    @Test func `is corrupt if the data of a frame has a wrong checksum`() throws {
        for (chunk, count) in [(5, 1), (8, 2)] {
            let animation = try decodeAPNG(Self.file.bytes { $0[chunk].bytes[$0[chunk].bytes.count - 1] ^= 1 })
            #expect(animation.samples.count == count && animation.failure == .corrupt)
        }
    }

    // MARK: Cut off

    @Test(arguments: [false, true])
    func `delivers the complete frames before any cut, then reports the cut`(_ isHidden: Bool) throws {
        let file = isHidden ? Self.hidden : Self.file
        let bytes = file.bytes
        // A frame can be decoded once its rows are there, and is known to be complete when the next chunk begins.
        var ends: [Int] = []
        var position = 8
        for (index, chunk) in file.chunks.enumerated() {
            position += chunk.bytes.count
            let next = index + 1 < file.chunks.count ? file.chunks[index + 1].name : ""
            if chunk.name == "fdAT" || chunk.name == "IDAT" && !isHidden, next == "fcTL" || next == "IEND" {
                ends.append(position)
            }
        }
        for cut in 8..<bytes.count {
            let animation: DecodedAPNG
            do throws(CoderError) {
                animation = try decodeAPNG(Array(bytes.prefix(cut)))
            } catch {
                #expect(error.code == .truncated, "cut at \(cut)")
                continue
            }
            if animation.samples == [Self.defaultImage] { continue }
            let whole = ends.count { $0 + 8 <= cut }
            #expect(animation.samples.count >= whole, "cut at \(cut)")
            #expect(animation.samples == Array(threeGraySamples.prefix(animation.samples.count)), "cut at \(cut)")
            #expect(animation.failure == .truncated || animation.samples.count == 3, "cut at \(cut)")
        }
    }

    @Test func `stops at the frame limit`() {
        var limits = DecodeLimits.default
        limits.maxFrames = 2
        #expect { try decodeAPNG(Self.file.bytes, limits: limits) } throws: {
            ($0 as? CoderError)?.code == .limitExceeded
        }
    }

    /// The result is arbitrary, but decoding must end.
    @Test func `ends for any changed byte`() {
        let bytes = Self.hidden.bytes
        for at in 8..<bytes.count {
            for change in [0x01, 0x20, 0x80, 0xFF] as [UInt8] {
                var damaged = bytes
                damaged[at] ^= change
                do throws(CoderError) {
                    #expect(try decodeAPNG(damaged).samples.count <= 3)
                } catch {
                    let codes: [CoderError.Code] = [
                        .corrupt, .truncated, .notMine, .unsupportedFeature, .limitExceeded,
                    ]
                    #expect(codes.contains(error.code), "byte \(at)")
                }
            }
        }
    }
}
