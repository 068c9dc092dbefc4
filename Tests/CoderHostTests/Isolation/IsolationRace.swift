@testable import CoderHost
import ImageModel
import ImageProcessing
@testable import PluginRuntime
import struct Synchronization.Atomic
import TestSupport

/// The shared state of a race: hosts whose workers are cancelled and killed, and images that must stay correct.
final class IsolationRace: Sendable {
    /// Small images of every format, read by all threads from the same sources.
    private struct Image: Sendable {
        let source: ImageSource
        let expected: [UInt8]
    }

    private let folders = (0..<3).map { _ in TemporaryDirectory() }
    /// Fewer workers than threads, so that sessions wait.
    private let hosts: [CoderHost]
    /// Hosts with plugins that work, crash, and hang.
    private let mortal: CoderHost
    private let crashing: CoderHost
    private let endless: CoderHost
    private let images: [Image]
    private static let tiny = `A faulty plugin in a worker`.image
    /// The process name of `mortal`'s plugin, used by no other process.
    private let file: String
    private let contexts = Mutex<[SessionContext]>([])
    private let problems = Mutex<[String]>([])
    /// How often a worker was cancelled, killed or refused; without these, the race tests nothing.
    let cancelled = RelaxedCounter()
    let killed = RelaxedCounter()
    let crashed = RelaxedCounter()
    let decoded = RelaxedCounter()

    var problem: String? { problems.withLock { $0.first } }

    init() throws {
        let local = testHost(Repository.products)
        hosts = [.fresh, .reuse(3)].map { reuse in
            testHost(
                Repository.workerPlugins,
                isolation: IsolationPolicy(.require, reuse: reuse, needed: [], maxWorkers: 3))
        }
        let file = "libcoder-m\(UInt16.random(in: 1000...9999)).so"
        self.file = file
        let names = ["none", "segfault", "endless"]
        let others = try zip(names, folders).map { name, folder in
            try PluginBuilder.build(
                "faulty/\(name).c", flags: ["-pthread", "-lm"], into: folder.path,
                named: name == "none" ? file : nil)
            var policy = IsolationPolicy(.require, reuse: .reuse(4), needed: [])
            // A worker must exist to be killed.
            policy.idleSeconds = 600
            return testHost(folder.path, isolation: policy)
        }
        (mortal, crashing, endless) = (others[0], others[1], others[2])
        var images: [Image] = []
        for format in ["jpeg", "png", "gif", "webp", "farbfeld", "apng"] as [ImageFormat] {
            guard let fixture = Fixture.valid(format).first(where: { $0.byteCount < 8000 }) else { continue }
            let source = ImageSource(fixture.bytes, name: fixture.name)
            images.append(Image(source: source, expected: try local.manager.decode(source).pixels.packedRows))
        }
        self.images = images
    }

    /// Runs all actions on every thread in random order; one more thread cancels random sessions.
    func run(threads: Int, rounds: Int) {
        let left = Countdown(threads)
        runInParallel(threads + 1, threads: threads + 1) { thread in
            var random = SeededRandom(UInt64(thread) + 1)
            guard thread < threads else {
                while !left.isOver {
                    pause(milliseconds: UInt32.random(in: 1...30, using: &random))
                    self.cancelSomebody(&random)
                }
                return
            }
            if thread == 0 { self.decodeMortal() }
            for _ in 0..<rounds { self.step(&random) }
            if thread == 0 { self.killSomebody(&random) }
            left.step()
        }
    }

    /// The number of working threads, with relaxed ordering.
    private final class Countdown: Sendable {
        private let count: Atomic<Int>

        init(_ count: Int) { self.count = Atomic(count) }

        var isOver: Bool { count.load(ordering: .relaxed) <= 0 }
        func step() { count.subtract(1, ordering: .relaxed) }
    }

    private func step(_ random: inout SeededRandom) {
        let host = hosts[Int.random(in: 0..<hosts.count, using: &random)]
        let sample = images[Int.random(in: 0..<images.count, using: &random)]
        switch Int.random(in: 0..<12, using: &random) {
        case 0: killSomebody(&random)
        case 1: crash()
        case 2: waitForEver(&random)
        case 3: ask(host)
        case 4, 5: decodeMortal()
        case 6: encode(sample, host)
        default: decode(sample, host, &random)
        }
    }

    // MARK: Actions

    private func decode(_ sample: Image, _ host: CoderHost, _ random: inout SeededRandom) {
        do throws(CoderError) {
            let session = try host.manager.openSession(sample.source)
            // Occasionally another thread may cancel it while it decodes.
            let isOffered = Int.random(in: 0..<3, using: &random) == 0
            if isOffered { contexts.withLock { $0.append(session.context) } }
            let image = try session.decodeImage()
            if image.isSame(as: sample.expected) {
                decoded.add()
            } else {
                note("\(sample.source.name) differs")
            }
        } catch {
            if error.code == .cancelled { cancelled.add() } else { note("decode: \(error)") }
        }
    }

    private func encode(_ sample: Image, _ host: CoderHost) {
        do throws(CoderError) {
            let image = try host.manager.decode(sample.source)
            if try host.manager.encode(image, to: "farbfeld").isEmpty { note("nothing was encoded") }
        } catch {
            note("encode: \(error)")
        }
    }

    private func cancelSomebody(_ random: inout SeededRandom) {
        let context = contexts.withLock { contexts in
            contexts.isEmpty ? nil : contexts.remove(at: Int.random(in: contexts.indices, using: &random))
        }
        context?.cancel()
    }

    private func killSomebody(_ random: inout SeededRandom) {
        let all = processes(named: file)
        guard let victim = all.randomElement(using: &random) else { return }
        killProcess(victim)
        killed.add()
    }

    /// Decodes with a plugin whose processes are killed: an image, or one error that reports it.
    private func decodeMortal() {
        do throws(CoderError) {
            let image = try mortal.manager.decode(Self.tiny)
            if image.info.size == PixelSize(2, 1) { decoded.add() } else { note("\(image.info.size)") }
        } catch {
            // If it was killed while loading, it looks like a crashing plugin and is quarantined.
            forgive(error, mortal)
            if ![.pluginCrashed, .isolationUnavailable].contains(error.code), !Self.isQuarantined(error) {
                note("killed: \(error)")
            }
        }
    }

    /// Whether a session failed because its plugin is, or was, quarantined.
    private static func isQuarantined(_ error: CoderError) -> Bool {
        [.noCoder, .pluginRefused, .unrecognizedFormat].contains(error.code)
    }

    private func forgive(_ error: CoderError, _ host: CoderHost) {
        if Self.isQuarantined(error) { host.quarantine.clear() }
    }

    private func crash() {
        do throws(CoderError) {
            _ = try crashing.manager.decode(Self.tiny)
            note("it decoded although it crashes")
        } catch {
            crashed.add()
            forgive(error, crashing)
            if error.code != .pluginCrashed, !Self.isQuarantined(error) { note("crash: \(error)") }
        }
    }

    /// Decodes an endless image until it is cancelled or reaches the time limit.
    private func waitForEver(_ random: inout SeededRandom) {
        var limits = DecodeLimits.default
        limits.maxMilliseconds = Int.random(in: 0..<4, using: &random) == 0 ? 100 : 600_000
        do throws(CoderError) {
            let session = try endless.manager.openSession(Self.tiny, limits: limits)
            contexts.withLock { $0.append(session.context) }
            _ = try session.decodeImage()
            note("it finished")
        } catch {
            forgive(error, endless)
            if error.code == .cancelled {
                cancelled.add()
            } else if error.code != .deadlineExceeded, !Self.isQuarantined(error) {
                note("endless: \(error)")
            }
        }
    }

    /// Calls other functions of the host during the race.
    private func ask(_ host: CoderHost) {
        _ = crashing.quarantine.entries
        _ = mortal.quarantine.warnings
        if host.plugins.contains(where: { $0.status.state == .quarantined }) { note("a working plugin is quarantined") }
        if crashing.plugins.count != 1 { note("a plugin is missing") }
    }

    /// Whether everything works after all threads have finished.
    func isSound() -> Bool {
        contexts.withLock { $0 = [] }
        mortal.quarantine.clear()
        let isMortalSound = (0..<2).contains { _ in
            (try? mortal.manager.decode(Self.tiny))?.info.size == PixelSize(2, 1)
        }
        return isMortalSound
            && hosts.allSatisfy { host in
                images.allSatisfy { sample in
                    (try? host.manager.decode(sample.source))?.pixels.isSame(as: sample.expected) == true
                }
            }
    }

    private func note(_ problem: String) { problems.withLock { $0.append(problem) } }
}
