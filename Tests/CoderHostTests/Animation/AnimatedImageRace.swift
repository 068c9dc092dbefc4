import Foundation
import ImageModel
import ImageProcessing
import Synchronization
import TestSupport

@testable import CoderHost

/// A number for many threads, which brings no order between them.
///
/// A class: of a variable that closures capture the sanitizer does not see who drops it last.
final class Tally: Sendable {
    private let value = Atomic<Int>(0)

    var count: Int { value.load(ordering: .relaxed) }
    func add() { value.add(1, ordering: .relaxed) }
}

/// What the threads of a race share: an image that arrives, and how it has to look.
///
/// They tell each other as little as possible, and that without order: a lock they all took would bring order into what
/// they do with the image, and hide its races from the sanitizer.
final class AnimatedImageRace: Sendable {
    let picture: ProgressiveImage
    private let bytes: [UInt8]
    /// Every frame of the image that was there from the start.
    let expected: [[UInt8]]
    private let hasArrived = Atomic<Bool>(false)
    private let failures = Tally()
    private let problems = Mutex<[String]>([])
    private let workers = (0..<Role.all.count).map { _ in Worker() }

    private final class Worker: Sendable {
        /// How often it has looked.
        let rounds = Tally()
        /// How many frames there were, at different times, when it got one of them before the last byte came.
        let extents = Mutex<Set<Int>>([])
    }

    init(_ bytes: [UInt8], manager: CodersManager) throws {
        self.bytes = bytes
        let whole = try AnimatedImage(ImageSource(bytes), manager: manager)
        expected = try (0..<whole.frameCount).map { try whole.frame(at: $0).pixels.packedRows }
        picture = try ProgressiveImage(manager: manager)
    }

    // MARK: Outcome

    var problem: String? { problems.withLock { $0.first } }
    /// The least of what the fetching threads saw of the growth.
    var fewestExtents: Int {
        zip(Role.all, workers).filter { $0.0 == .fetches }.map { $0.1.extents.withLock { $0.count } }.min() ?? 0
    }

    private func note(_ problem: String) {
        problems.withLock { $0.append(problem) }
        failures.add()
    }

    // MARK: Threads

    /// What a thread does all the time.
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

    /// Lets everybody begin, feeds the bytes meanwhile, and waits for all.
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
            attempt("append") { try picture.append(Array(bytes[at..<next])) }
            at = next
            // Half the time the others meet the new bytes first, before any lock tells them of this thread.
            if Bool.random(using: &random) { waitForRounds() }
            draw()
            picture.image?.update()
            if Bool.random(using: &random) { waitForRounds() }
        }
        picture.finish()
        draw()
        hasArrived.store(true, ordering: .releasing)
    }

    /// Waits until everybody has begun to look and is done with it, lest all has come before anybody looks.
    private func waitForRounds() {
        let before = workers.map { $0.rounds.count }
        for (worker, rounds) in zip(workers, before) {
            while worker.rounds.count < rounds + 2, failures.count == 0 {
                usleep(20)
            }
        }
    }

    /// Repeats until a while after everything has arrived.
    private func work(_ worker: Worker, _ role: Role, _ generator: SeededRandom) {
        var random = generator
        var after = 0
        var image: AnimatedImage?
        var most = 0
        var extents: Set<Int> = []
        var hands = Hands()
        while after < 30, failures.count == 0 {
            let isLate = hasArrived.load(ordering: .acquiring)
            if isLate { after += 1 }
            if image == nil { image = picture.image }
            if let image {
                let count = image.frameCount
                if count < most || count > expected.count { note("\(count) frames after \(most)") }
                most = count
                switch role {
                case .fetches: if fetch(image, count, &hands, &random), !isLate { extents.insert(count) }
                case .keeps: keep(image, &random)
                case .plays(let mode): play(image, mode, &hands, &random)
                }
            }
            worker.rounds.add()
        }
        worker.extents.withLock { $0 = extents }
        if case .plays = role { playThrough(hands.player) }
    }

    /// What a thread keeps from one round to the next.
    private struct Hands {
        /// Frames that were right when they were fetched, and have to stay so.
        var frames: [(index: Int, frame: ImageFrame)] = []
        var player: AnimatedImagePlayer?
        let clock = TestClock()
    }

    // MARK: What they do

    private func fetch(
        _ image: AnimatedImage, _ count: Int, _ hands: inout Hands, _ random: inout SeededRandom
    ) -> Bool {
        if count == 0 { return false }
        let index = Int.random(in: 0..<count, using: &random)
        var isThere = false
        attempt("fetch") {
            let frame = try image.frame(at: index)
            check(frame, index, "fetched")
            isThere = true
            if hands.frames.count < 3 { hands.frames.append((index, frame)) }
        }
        if Int.random(in: 0..<4, using: &random) == 0 { image.update() }
        if Int.random(in: 0..<3, using: &random) == 0, let old = hands.frames.popLast() {
            check(old.frame, old.index, "held")
        }
        return isThere
    }

    /// Decodes ahead, changes what is kept, draws the first frame, and asks for everything else.
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
        _ image: AnimatedImage, _ mode: PlaybackMode, _ hands: inout Hands, _ random: inout SeededRandom
    ) {
        // Now and then another one comes in its place.
        if Int.random(in: 0..<30, using: &random) == 0 { hands.player = nil }
        let player = hands.player ?? AnimatedImagePlayer(image, mode: mode, clock: hands.clock)
        hands.player = player
        player.plays = 0
        player.start()
        hands.clock.pass(milliseconds: Double.random(in: 0...200, using: &random))
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

    /// Everybody sees all of them in the end.
    private func playThrough(_ last: AnimatedImagePlayer?) {
        guard let image = picture.image else { return note("nothing to play") }
        let player = last ?? AnimatedImagePlayer(image)
        for index in expected.indices {
            attempt("play through") {
                try player.seek(to: index)
                guard let frame = player.currentFrame else { return note("nothing to be seen at \(index)") }
                check(frame, index, "played through")
            }
        }
    }

    private func draw() {
        attempt("draw") {
            try picture.update { part in
                if part.isComplete, !part.pixels.isSame(as: expected[0]) { note("the first picture is another one") }
            }
        }
    }

    /// Runs what may have to wait for more bytes, and notes every other error.
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
        if !frame.pixels.isSame(as: expected[index]) { note("\(what): frame \(index) is another one") }
    }
}
