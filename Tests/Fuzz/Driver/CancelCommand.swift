import CoderHost
import FuzzTargets
import Glibc
import PluginCatalogue
import PluginRuntime

/// Cancels work at random moments, and checks that all resources are freed.
///
///     coderhost-fuzz cancel [--isolated] [--count N] [--seed S] [--side PIXELS] [FORMAT…]
///
/// With `--isolated` each session has its own worker, and animations are decoded and encoded, too.
struct CancelCommand {
    private let count: Int
    private let seed: UInt64
    private let side: Int
    private let formats: [ImageFormat]
    private let isIsolated: Bool
    private let host: CoderHost
    private static let all: [ImageFormat] = [
        "png", "jpeg", "webp", "gif", "heic", "avif", "farbfeld", "bmp", "tiff", "qoi", "tga", "jxl", "pam",
    ]

    /// Work that takes some time.
    private struct Work: Sendable {
        var name: String
        /// Runs the work; `begun` receives the object to cancel.
        var body: @Sendable (CodersManager, (SessionContext) -> Void) throws(CoderError) -> Void
    }

    init(_ switches: Switches) {
        count = switches.number("--count", 50)
        seed = UInt64(switches.number("--seed", 1))
        side = switches.number("--side", 1000)
        let isIsolated = switches["--isolated"] != nil
        self.isIsolated = isIsolated
        let named = switches.operands.map { ImageFormat($0) }
        // The host's own coders are never isolated.
        formats = named.isEmpty ? Self.all.filter { !isIsolated || $0 != "pam" } : named
        host = isIsolated ? Probe.host(IsolationPolicy(.require, reuse: .fresh)) : FuzzHost.host
    }

    /// - Returns: whether every case was correct.
    func run() -> Bool {
        var works = formats.map { decode("\($0)", Probe.image($0, PixelSize(side, side * 3 / 4))) }
        if isIsolated { works += animations }
        // Libraries and pools that are loaded once stay: they are no leak.
        let times = works.map { work in (0..<3).map { _ in attempt(work, after: nil).microseconds }.min() ?? 0 }
        let before = ResourceCount.settled(ResourceCount())
        var (cancelled, finished, wrong, waits) = (0, 0, 0, [Double]())
        for number in 0..<count {
            var dice = Dice(run: seed, number: number)
            let work = works[number % works.count]
            let outcome = attempt(work, after: dice.below(times[number % works.count]))
            if outcome.code == .cancelled { waits.append(Double(outcome.microseconds) / 1000) }
            switch outcome.code {
            case nil: finished += 1
            case CoderError.Code.cancelled: cancelled += 1
            case let code?:
                wrong += 1
                say("finding\t\(work.name)\tcase \(number)\twas answered with \(code)")
            }
        }
        let after = ResourceCount.settled(before)
        let isClean = after.isWithin(before)
        if !isClean { say("finding\tleft behind\t\(before) became \(after)") }
        let worst = waits.max() ?? 0
        say(
            "total\t\(count) cancels\t\(cancelled) cancelled\t\(finished) were faster\t\(wrong) wrong\t"
                + after.growth(since: before)
                + "\tmedian \(Probe.text(Probe.median(waits))) ms\tworst \(Int(worst.rounded(.up))) ms")
        return wrong == 0 && isClean && cancelled > 0
    }

    private func decode(_ name: String, _ bytes: [UInt8]) -> Work {
        Work(name: name) { manager, begun throws(CoderError) in
            try manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
                begun(session.context)
                _ = try session.decodeImage()
            }
        }
    }

    /// Animations, forwards and backwards, and their encoders.
    private var animations: [Work] {
        let size = PixelSize(side / 4, side / 4)
        var works: [Work] = []
        for format in ["gif", "apng", "webp"] as [ImageFormat] {
            let bytes = Probe.animation(format, size, frames: 8)
            works.append(
                Work(name: "animation \(format)") { manager, begun throws(CoderError) in
                    try manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
                        begun(session.context)
                        for frame in try session.frames() { _ = try session.decodeFrame(frame.index) }
                    }
                })
            works.append(
                Work(name: "encode \(format)") { manager, begun throws(CoderError) in
                    try Probe.animate(manager, format, size, frames: 4, into: MemorySink(limits: .default), begun)
                })
        }
        return works
    }

    /// Runs the work, and cancels it after this many microseconds.
    ///
    /// - Returns: the result, and the microseconds from the cancellation, or from the start if there was none, to the
    ///   end.
    private func attempt(_ work: Work, after delay: Int?) -> (code: CoderError.Code?, microseconds: Int) {
        struct State {
            var context: SessionContext?
            var code: CoderError.Code?
            var cancelledAt: UInt64?
            var endedAt: UInt64?
        }
        final class Shared: Sendable { let state = Mutex(State()) }
        let shared = Shared()
        let manager = host.manager
        let start = monotonicNow()
        runInParallel(2, threads: 2) { index in
            if index == 0 {
                var code: CoderError.Code?
                do throws(CoderError) {
                    try work.body(manager) { context in shared.state.withLock { $0.context = context } }
                } catch {
                    code = error.code
                }
                shared.state.withLock { state in
                    state.code = code
                    state.endedAt = monotonicNow()
                }
            } else if let delay {
                usleep(UInt32(delay))
                for _ in 0..<50_000 {
                    let isDone = shared.state.withLock { state in
                        if let context = state.context, state.endedAt == nil {
                            context.cancel()
                            state.cancelledAt = monotonicNow()
                        }
                        return state.context != nil || state.endedAt != nil
                    }
                    if isDone { break }
                    usleep(100)
                }
            }
        }
        return shared.state.withLock { state in
            (state.code, Int((state.endedAt ?? monotonicNow()) - (state.cancelledAt ?? start)) / 1000)
        }
    }
}
