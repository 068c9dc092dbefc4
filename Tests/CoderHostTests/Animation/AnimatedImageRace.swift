import Foundation
import ImageModel
import ImageProcessing
import struct Synchronization.Atomic
import TestSupport

@testable import CoderHost

/// A counter for many threads with relaxed ordering.
///
/// A class, because the thread sanitizer reports the release of a captured variable as a race.
final class RelaxedCounter: Sendable {
    private let value = Atomic<Int>(0)

    var count: Int { value.load(ordering: .relaxed) }
    func add() { value.add(1, ordering: .relaxed) }
}

/// The shared state of a race: an image that arrives, and its expected frames.
///
/// Threads share as little as possible and without ordering: a common lock would order their accesses to the image and
/// hide races from the sanitizer.
final class AnimatedImageRace: Sendable {
    let arriving: ProgressiveImage
    private let bytes: [UInt8]
    /// Every frame of the complete image.
    let expected: [[UInt8]]
    private let hasArrived = Atomic<Bool>(false)
    private let failures = RelaxedCounter()
    private let problems = Mutex<[String]>([])
    private let workers = (0..<Role.all.count).map { _ in Worker() }

    private final class Worker: Sendable {
        /// The number of completed rounds.
        let rounds = RelaxedCounter()
        /// The frame counts seen before the last byte arrived.
        let extents = Mutex<Set<Int>>([])
    }

    init(_ bytes: [UInt8], manager: CodersManager) throws {
        self.bytes = bytes
        let whole = try AnimatedImage(ImageSource(bytes), manager: manager)
        expected = try (0..<whole.frameCount).map { try whole.frame(at: $0).pixels.packedRows }
        arriving = try ProgressiveImage(manager: manager)
    }

    // MARK: Outcome

    var problem: String? { problems.withLock { $0.first } }
    /// The lowest number of different frame counts that a fetching thread saw.
    var fewestExtents: Int {
        zip(Role.all, workers).filter { $0.0 == .fetches }.map { $0.1.extents.withLock { $0.count } }.min() ?? 0
    }

    private func note(_ problem: String) {
        problems.withLock { $0.append(problem) }
        failures.add()
    }

    // MARK: Threads

    /// The repeated action of a thread.
    enum Role: Sendable {
        case fetches
        case keeps
        case plays(PlaybackMode)

        static let all: [Role] = [
            .fetches, .plays(.bounce), .fetches, .keeps, .fetches, .plays(.reverse), .fetches,
        ]

        static func == (a: Role, b: Role) -> Bool {
            if case (.fetches, .fetches) = (a, b) { true } else { false }
        }
    }

    /// Starts all threads, feeds the bytes, and waits for all threads.
    func run(_ seed: UInt64) {
        let group = DispatchGroup()
        for (number, role) in Role.all.enumerated() {
            group.enter()
            Thread.detachNewThread {
                self.work(self.workers[number], role, SeededRandom(seed * 100 + UInt64(number)))
                group.leave()
            }
        }
        feed(SeededRandom(seed * 100 + 99))
        group.wait()
    }

    private func feed(_ generator: SeededRandom) {
        var random = generator
        var at = 0
        while at < bytes.count, failures.count == 0 {
            let next = min(bytes.count, at + Int.random(in: 1...max(1, bytes.count / 12), using: &random))
            attempt("append") { try arriving.append(Array(bytes[at..<next])) }
            at = next
            // In half of the cases the other threads see the new bytes first, before a lock orders them after this
            // thread.
            if Bool.random(using: &random) { waitForRounds() }
            draw()
            arriving.image?.update()
            if Bool.random(using: &random) { waitForRounds() }
        }
        arriving.finish()
        draw()
        hasArrived.store(true, ordering: .releasing)
    }

    /// Waits until every thread has completed a round, so that not all bytes arrive before the first access.
    private func waitForRounds() {
        let before = workers.map { $0.rounds.count }
        for (worker, rounds) in zip(workers, before) {
            while worker.rounds.count < rounds + 2, failures.count == 0 {
                usleep(20)
            }
        }
    }

    /// Repeats until shortly after the last byte.
    private func work(_ worker: Worker, _ role: Role, _ generator: SeededRandom) {
        var random = generator
        var after = 0
        var image: AnimatedImage?
        var most = 0
        var extents: Set<Int> = []
        var kept = ThreadState()
        while after < 30, failures.count == 0 {
            let isLate = hasArrived.load(ordering: .acquiring)
            if isLate { after += 1 }
            if image == nil { image = arriving.image }
            if let image {
                let count = image.frameCount
                if count < most || count > expected.count { note("\(count) frames after \(most)") }
                most = count
                switch role {
                case .fetches: if fetch(image, count, &kept, &random), !isLate { extents.insert(count) }
                case .keeps: keep(image, &random)
                case .plays(let mode): play(image, mode, &kept, &random)
                }
            }
            worker.rounds.add()
        }
        worker.extents.withLock { $0 = extents }
        if case .plays = role { playThrough(kept.player) }
    }

    /// The state that a thread keeps between rounds.
    private struct ThreadState {
        /// Frames that were correct when fetched, and must not change.
        var frames: [(index: Int, frame: ImageFrame)] = []
        var player: AnimatedImagePlayer?
        let clock = TestClock()
    }

    // MARK: Actions

    private func fetch(
        _ image: AnimatedImage, _ count: Int, _ kept: inout ThreadState, _ random: inout SeededRandom
    ) -> Bool {
        if count == 0 { return false }
        let index = Int.random(in: 0..<count, using: &random)
        var isThere = false
        attempt("fetch") {
            let frame = try image.frame(at: index)
            check(frame, index, "fetched")
            isThere = true
            if kept.frames.count < 3 { kept.frames.append((index, frame)) }
        }
        if Int.random(in: 0..<4, using: &random) == 0 { image.update() }
        if Int.random(in: 0..<3, using: &random) == 0, let old = kept.frames.popLast() {
            check(old.frame, old.index, "held")
        }
        return isThere
    }

    /// Decodes ahead, changes the budget, draws the first frame, and reads all properties.
    private func keep(_ image: AnimatedImage, _ random: inout SeededRandom) {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: image.unloadAllFrames()
        case 1: attempt("preload") { try image.preloadAllFrames() }
        case 2: attempt("metadata") { _ = try image.metadata() }
        case 3: if !image.warnings.isEmpty || image.problem != nil { note("something is wrong with it") }
        case 4: draw()
        default: attempt("prepare") { try image.prepareNext() }
        }
        let room = Int.random(in: 0...expected.count, using: &random)
        image.pool.byteBudget = room * image.bytesPerFrame
        if image.frameCount > 0, !image.isKeyFrame(0) { note("the first frame is no key frame") }
    }

    private func play(
        _ image: AnimatedImage, _ mode: PlaybackMode, _ kept: inout ThreadState, _ random: inout SeededRandom
    ) {
        // Occasionally another player replaces it.
        if Int.random(in: 0..<30, using: &random) == 0 { kept.player = nil }
        let player = kept.player ?? AnimatedImagePlayer(image, mode: mode, clock: kept.clock)
        kept.player = player
        player.plays = 0
        player.start()
        kept.clock.pass(milliseconds: Double.random(in: 0...200, using: &random))
        attempt("play") {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: try player.seek(to: Int.random(in: expected.indices, using: &random))
            case 1: player.turnRound()
            case 2: try player.prepareNext()
            default: try player.update()
            }
            if let frame = player.currentFrame { check(frame, player.currentIndex, "played") }
        }
    }

    /// Plays the whole image at the end.
    private func playThrough(_ last: AnimatedImagePlayer?) {
        guard let image = arriving.image else { return note("nothing to play") }
        let player = last ?? AnimatedImagePlayer(image)
        for index in expected.indices {
            attempt("play through") {
                try player.seek(to: index)
                guard let frame = player.currentFrame else { return note("no frame at \(index)") }
                check(frame, index, "played through")
            }
        }
    }

    private func draw() {
        attempt("draw") {
            try arriving.update { part in
                if part.isComplete, !part.pixels.isSame(as: expected[0]) { note("the first image differs") }
            }
        }
    }

    /// Runs an action that may need more bytes, and records every other error.
    private func attempt(_ what: String, _ body: () throws -> Void) {
        let hadArrived = hasArrived.load(ordering: .acquiring)
        do {
            try body()
        } catch {
            if (error as? CoderError)?.code == .needsInput, !hadArrived { return }
            note("\(what): \(error)")
        }
    }

    private func check(_ frame: ImageFrame, _ index: Int, _ what: String) {
        guard expected.indices.contains(index) else { return note("\(what): there is no frame \(index)") }
        if !frame.pixels.isSame(as: expected[index]) { note("\(what): frame \(index) differs") }
    }
}
