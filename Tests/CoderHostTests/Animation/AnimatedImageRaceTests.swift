import Foundation
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// One thread receives an image, four fetch frames, two play, and one decodes ahead.
///
/// `make tsan` runs these tests under the thread sanitizer, which finds races that the checks miss.
@Suite(.serialized, .timeLimit(.minutes(40))) struct `Animated image on many threads` {
    static let files = [
        "images/three-frames.gif", "apng/three-frames.png", "awebp/every-kind-of-frame.webp",
        "images/f-progressive.jpg", "images/rgba.png",
    ]

    /// Frames that are known before encoding.
    static let motion = Motion.blocks(24, 16, frames: 20, hasAlpha: true)
    static let written = Mutex<[ImageFormat: [UInt8]]>([:])

    @Test(arguments: files, 0..<2)
    func `is the same on all threads, and the same as the complete image`(file: String, seed: Int) throws {
        try compete(try #require(readFile(Repository.fixture(file))), seed)
    }

    @Test(arguments: AnimatedTarget.all, 0..<2)
    func `equals the written frames, however it grows`(target: AnimatedTarget, seed: Int) throws {
        let bytes = try Self.written.withLock { written in
            let bytes = try written[target.format] ?? Bench.encode(Self.motion, to: target).bytes
            written[target.format] = bytes
            return bytes
        }
        let race = try compete(bytes, seed)
        let seen = try Motion(#require(race.arriving.image))
        #expect(seen == Self.motion)
        // Otherwise no thread used it while it grew.
        #expect(race.fewestExtents >= 5)
    }

    /// Images from 1 MiB on use pooled memory that later images reuse.
    @Test func `is the same with reused memory`() throws {
        let size = PixelSize(600, 450)
        try #require(size.width * size.height * 4 >= LargeMemory.mappedFrom)
        let sink = MemorySink()
        let encoder = try Bench.manager.makeAnimationEncoder(
            to: "apng",
            of: ImageInfo(size: size, nativeFormat: .rgba8, frameCount: 6, loopCount: .infinite, isAnimated: true),
            into: sink)
        for number in UInt8(0)..<6 {
            try encoder.add(.of(size, .rgba8, [number * 40, 255 - number, 9, 200]), duration: .milliseconds(50))
        }
        try encoder.finish()
        try compete(sink.bytes, 1)
    }

    @discardableResult
    private func compete(_ bytes: [UInt8], _ seed: Int) throws -> AnimatedImageRace {
        let race = try AnimatedImageRace(bytes, manager: Bench.manager)
        race.run(UInt64(seed))

        #expect(race.problem == nil)
        let image = try #require(race.arriving.image)
        #expect(image.frameCount == race.expected.count && image.isComplete && image.problem == nil)
        #expect(race.arriving.isImageComplete)
        return race
    }

    @Test func `takes memory that is not in use`() throws {
        let pool = PixelBufferPool(maxKept: 3 << 20)
        let shared = RelaxedCounter()
        let size = PixelSize(1024, 300)
        let group = DispatchGroup()
        for worker in 0..<4 {
            group.enter()
            Thread.detachNewThread {
                for round in 0..<30 {
                    let byte = UInt8(worker * 50 + round)
                    guard let buffer = try? pool.take(size, .rgba8, clean: round % 2 == 0) else { break }
                    buffer.fill(byte)
                    sched_yield()
                    if !buffer.isSame(as: [UInt8](repeating: byte, count: size.width * size.height * 4)) {
                        shared.add()
                    }
                }
                group.leave()
            }
        }
        group.wait()
        #expect(shared.count == 0)
    }
}
