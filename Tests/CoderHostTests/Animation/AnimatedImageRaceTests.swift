import Foundation
import ImageModel
import Synchronization
import TestSupport
import Testing

@testable import CoderHost

/// One image that arrives on one thread and is looked at on four others.
///
/// `make tsan` runs this under the thread sanitizer, which sees what these checks do not.
@Suite(.timeLimit(.minutes(15))) struct `Animated image on many threads` {
    static let files = ["pictures/three-frames.gif", "apng/three-frames.png", "awebp/every-kind-of-frame.webp"]
    private static let manager = testHost(Repository.products).manager

    /// What all threads know.
    private final class Shared: Sendable {
        let picture: ProgressiveImage
        let bytes: [UInt8]
        let expected: [[UInt8]]
        let hasArrived = Atomic<Bool>(false)
        let firstPicture = Mutex<[UInt8]?>(nil)
        private let problems = Mutex<[String]>([])
        private let mostFrames = Mutex(0)

        init(_ bytes: [UInt8]) throws {
            self.bytes = bytes
            let whole = try AnimatedImage(ImageSource(bytes), manager: manager)
            expected = try (0..<whole.frameCount).map { try whole.frame(at: $0).pixels.packed }
            picture = try ProgressiveImage(manager: manager)
        }

        var problem: String? { problems.withLock { $0.first } }
        func note(_ problem: String) { problems.withLock { $0.append(problem) } }

        /// Runs what may have to wait for more bytes, and notes every other error.
        func attempt(_ what: String, _ body: () throws -> Void) {
            let hadArrived = hasArrived.load(ordering: .acquiring)
            do {
                try body()
            } catch {
                if (error as? CoderError)?.code == .needsInput, !hadArrived { return }
                note("\(what): \(error)")
            }
        }

        func check(_ frame: ImageFrame?, _ index: Int, _ what: String) {
            guard let frame, expected.indices.contains(index) else { return note("\(what): no frame \(index)") }
            if frame.pixels.packed != expected[index] { note("\(what): frame \(index) is another one") }
        }

        func check(countOf image: AnimatedImage) {
            // Asked with the lock, or another thread would have seen more in the meantime.
            mostFrames.withLock { most in
                let count = image.frameCount
                if count < most || count > expected.count { note("\(count) frames after \(most)") }
                most = max(most, count)
            }
        }

        /// Repeats until a while after everything has arrived.
        func work(_ seed: UInt64, _ body: (AnimatedImage, inout SeededRandom) -> Void) {
            var random = SeededRandom(seed)
            var after = 0
            while after < 40, problem == nil {
                if hasArrived.load(ordering: .acquiring) { after += 1 }
                if let image = picture.image {
                    check(countOf: image)
                    body(image, &random)
                }
                if Int.random(in: 0..<4, using: &random) == 0 { sched_yield() }
            }
        }
    }

    /// Feeds the bytes, drawing what can be seen.
    private static func feed(_ shared: Shared, _ seed: UInt64) {
        var random = SeededRandom(seed)
        var at = 0
        while at < shared.bytes.count {
            let next = min(shared.bytes.count, at + Int.random(in: 1...max(1, shared.bytes.count / 12), using: &random))
            shared.attempt("append") { try shared.picture.append(Array(shared.bytes[at..<next])) }
            at = next
            draw(shared)
            shared.picture.image?.update()
            if Bool.random(using: &random) { usleep(UInt32.random(in: 0..<500, using: &random)) }
        }
        shared.picture.finish()
        draw(shared)
        shared.hasArrived.store(true, ordering: .releasing)
    }

    private static func draw(_ shared: Shared) {
        shared.attempt("draw") {
            try shared.picture.update { part in
                let seen = part.pixels.packed
                if part.isComplete { shared.firstPicture.withLock { $0 = seen } }
            }
        }
    }

    private static func fetch(_ shared: Shared, _ seed: UInt64) {
        shared.work(seed) { image, random in
            let count = image.frameCount
            if count == 0 { return }
            let index = Int.random(in: 0..<count, using: &random)
            shared.attempt("fetch") { shared.check(try image.frame(at: index), index, "fetch") }
        }
    }

    private static func prepare(_ shared: Shared, _ seed: UInt64) {
        shared.work(seed) { image, random in
            shared.attempt("prepare") { try image.prepareNext() }
            image.update()
            if Int.random(in: 0..<8, using: &random) == 0 { image.unloadAllFrames() }
            let room = Int.random(in: 0...shared.expected.count, using: &random)
            image.pool.byteBudget = room * image.bytesPerFrame
        }
    }

    private static func play(_ shared: Shared, _ seed: UInt64, _ mode: PlaybackMode) {
        let clock = TestClock()
        var player: AnimatedImagePlayer?
        shared.work(seed) { image, random in
            let current = player ?? AnimatedImagePlayer(image, mode: mode, clock: clock)
            player = current
            current.plays = 0
            current.start()
            clock.pass(milliseconds: Double.random(in: 0...200, using: &random))
            shared.attempt("play") {
                switch Int.random(in: 0..<8, using: &random) {
                case 0: try current.seek(to: Int.random(in: 0..<shared.expected.count, using: &random))
                case 1: current.turnRound()
                case 2: try current.prepareNext()
                default: try current.update()
                }
                if let frame = current.currentFrame { shared.check(frame, current.currentIndex, "play") }
            }
        }
        // Everybody sees all of them in the end.
        guard let player else { return shared.note("nothing to play") }
        for index in shared.expected.indices {
            shared.attempt("play") {
                try player.seek(to: index)
                shared.check(player.currentFrame, index, "play")
            }
        }
    }

    @Test(arguments: files, 0..<6)
    func `is the same for everybody, and as if it had been there from the start`(file: String, seed: Int) throws {
        let shared = try Shared(try #require(readFile(Repository.fixture(file))))
        #expect(shared.expected.count > 2)
        let seed = UInt64(seed) * 10
        let bodies: [@Sendable () -> Void] = [
            { Self.feed(shared, seed) }, { Self.fetch(shared, seed + 1) }, { Self.prepare(shared, seed + 2) },
            { Self.play(shared, seed + 3, .bounce) }, { Self.play(shared, seed + 4, .reverse) },
        ]

        let group = DispatchGroup()
        for body in bodies {
            group.enter()
            Thread.detachNewThread {
                body()
                group.leave()
            }
        }
        group.wait()

        #expect(shared.problem == nil)
        #expect(shared.picture.image?.frameCount == shared.expected.count)
        #expect(shared.picture.image?.isComplete == true)
        #expect(shared.picture.isPictureComplete)
        #expect(shared.firstPicture.withLock { $0 } == shared.expected[0])
    }
}
