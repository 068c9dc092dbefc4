import ImageModel
import ImageProcessing
import Synchronization
import TestSupport

@testable import CoderHost

/// What the threads of a race share: hosts whose workers are cancelled and killed, and pictures that must not care.
final class IsolationRace: Sendable {
    /// Small ones of every format, read by all threads through the same sources.
    private struct Picture: Sendable {
        let source: ImageSource
        let expected: [UInt8]
    }

    private let folders = (0..<3).map { _ in TemporaryDirectory() }
    /// Fewer workers than threads, so that they wait in line.
    private let hosts: [CoderHost]
    /// Of plugins that work, crash, and do not come back.
    private let mortal: CoderHost
    private let crashing: CoderHost
    private let endless: CoderHost
    private let pictures: [Picture]
    private static let tiny = `A faulty plugin in a worker`.picture
    /// Shown by the processes of `mortal`, and by none else.
    private let file: String
    private let contexts = Mutex<[SessionContext]>([])
    private let problems = Mutex<[String]>([])
    /// How often a worker was cancelled, killed, refused; a race without any of them shows nothing.
    let cancelled = Tally()
    let killed = Tally()
    let crashed = Tally()
    let decoded = Tally()

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
            // Somebody has to be there to be killed.
            policy.idleSeconds = 600
            return testHost(folder.path, isolation: policy)
        }
        (mortal, crashing, endless) = (others[0], others[1], others[2])
        var pictures: [Picture] = []
        for format in ["jpeg", "png", "gif", "webp", "farbfeld", "apng"] as [ImageFormat] {
            guard let fixture = Fixture.valid(format).first(where: { $0.byteCount < 8000 }) else { continue }
            let source = ImageSource(fixture.bytes, name: fixture.name)
            pictures.append(Picture(source: source, expected: try local.manager.decode(source).pixels.packedRows))
        }
        self.pictures = pictures
    }

    /// Lets everybody do all of it, in an order of his own; one more thread cancels whom it finds.
    func run(threads: Int, rounds: Int) {
        let left = Countdown(threads)
        sideBySide(threads + 1, threads: threads + 1) { thread in
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

    /// How many threads still work, without an order between them.
    private final class Countdown: Sendable {
        private let count: Atomic<Int>

        init(_ count: Int) { self.count = Atomic(count) }

        var isOver: Bool { count.load(ordering: .relaxed) <= 0 }
        func step() { count.subtract(1, ordering: .relaxed) }
    }

    private func step(_ random: inout SeededRandom) {
        let host = hosts[Int.random(in: 0..<hosts.count, using: &random)]
        let picture = pictures[Int.random(in: 0..<pictures.count, using: &random)]
        switch Int.random(in: 0..<12, using: &random) {
        case 0: killSomebody(&random)
        case 1: crash()
        case 2: waitForEver(&random)
        case 3: ask(host)
        case 4, 5: decodeMortal()
        case 6: encode(picture, host)
        default: decode(picture, host, &random)
        }
    }

    // MARK: What they do

    private func decode(_ picture: Picture, _ host: CoderHost, _ random: inout SeededRandom) {
        do throws(CoderError) {
            let session = try host.manager.openSession(picture.source)
            // Now and then somebody may cancel it while it decodes.
            let isOffered = Int.random(in: 0..<3, using: &random) == 0
            if isOffered { contexts.withLock { $0.append(session.context) } }
            let image = try session.decodeImage()
            if image.isSame(as: picture.expected) {
                decoded.add()
            } else {
                note("\(picture.source.name) is another one")
            }
        } catch {
            if error.code == .cancelled { cancelled.add() } else { note("decode: \(error)") }
        }
    }

    private func encode(_ picture: Picture, _ host: CoderHost) {
        do throws(CoderError) {
            let image = try host.manager.decode(picture.source)
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

    /// Of a plugin whose processes are killed: the picture, or one error that says so.
    private func decodeMortal() {
        do throws(CoderError) {
            let image = try mortal.manager.decode(Self.tiny)
            if image.info.size == PixelSize(2, 1) { decoded.add() } else { note("\(image.info.size)") }
        } catch {
            // Killed while it was loaded it looks like a plugin that crashes, and is left alone.
            forgive(error, mortal)
            if ![.pluginCrashed, .isolationUnavailable].contains(error.code), !Self.isQuarantined(error) {
                note("killed: \(error)")
            }
        }
    }

    /// Whether a session failed because its plugin is left alone, or was when the host looked.
    private static func isQuarantined(_ error: CoderError) -> Bool {
        [.noCoder, .pluginRefused, .unrecognizedFormat].contains(error.code)
    }

    private func forgive(_ error: CoderError, _ host: CoderHost) {
        if Self.isQuarantined(error) { host.quarantine.clear() }
    }

    private func crash() {
        do throws(CoderError) {
            _ = try crashing.manager.decode(Self.tiny)
            note("it decoded while it crashed")
        } catch {
            crashed.add()
            forgive(error, crashing)
            if error.code != .pluginCrashed, !Self.isQuarantined(error) { note("crash: \(error)") }
        }
    }

    /// A picture that never ends, until somebody cancels it, or its time runs out.
    private func waitForEver(_ random: inout SeededRandom) {
        var limits = DecodeLimits.default
        limits.maxMilliseconds = Int.random(in: 0..<4, using: &random) == 0 ? 100 : 600_000
        do throws(CoderError) {
            let session = try endless.manager.openSession(Self.tiny, limits: limits)
            contexts.withLock { $0.append(session.context) }
            _ = try session.decodeImage()
            note("it came to an end")
        } catch {
            forgive(error, endless)
            if error.code == .cancelled {
                cancelled.add()
            } else if error.code != .deadlineExceeded, !Self.isQuarantined(error) {
                note("endless: \(error)")
            }
        }
    }

    /// What others ask for while all of this goes on.
    private func ask(_ host: CoderHost) {
        _ = crashing.quarantine.entries
        _ = mortal.quarantine.warnings
        if host.plugins.contains(where: { $0.status.state == .quarantined }) { note("one that works is quarantined") }
        if crashing.plugins.count != 1 { note("a plugin is gone") }
    }

    /// Whether everything works when all have gone home.
    func isSound() -> Bool {
        contexts.withLock { $0 = [] }
        mortal.quarantine.clear()
        let isMortalSound = (0..<2).contains { _ in
            (try? mortal.manager.decode(Self.tiny))?.info.size == PixelSize(2, 1)
        }
        return isMortalSound
            && hosts.allSatisfy { host in
                pictures.allSatisfy { picture in
                    (try? host.manager.decode(picture.source))?.pixels.isSame(as: picture.expected) == true
                }
            }
    }

    private func note(_ problem: String) { problems.withLock { $0.append(problem) } }
}
