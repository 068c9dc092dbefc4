import CoderHost
import FuzzTargets
import Glibc
import Synchronization

/// Cancels decodes of large pictures at random moments, and looks whether everything was given back.
///
///     coderhost-fuzz cancel [--count N] [--seed S] [--side PIXELS] [FORMAT…]
struct CancelCommand {
    private let count: Int
    private let seed: UInt64
    private let side: Int
    private let formats: [ImageFormat]
    private static let all: [ImageFormat] = ["png", "jpeg", "webp", "gif", "heic", "avif", "farbfeld", "pam"]

    init(_ switches: Switches) {
        count = switches.number("--count", 50)
        seed = UInt64(switches.number("--seed", 1))
        side = switches.number("--side", 1000)
        formats = switches.operands.isEmpty ? Self.all : switches.operands.map { ImageFormat($0) }
    }

    /// - Returns: whether all of it was as it should be.
    func run() -> Bool {
        let pictures = formats.map { (format: $0, bytes: picture($0)) }
        // What is loaded and pooled once stays: it is no leak.
        let times = pictures.map { picture in
            (0..<3).map { _ in attempt(picture.bytes, after: nil).microseconds }.min() ?? 0
        }
        let before = Held()
        var (cancelled, finished, wrong, worst) = (0, 0, 0, 0.0)
        for number in 0..<count {
            var dice = Dice(run: seed, number: number)
            let picture = pictures[number % pictures.count]
            let outcome = attempt(picture.bytes, after: dice.below(times[number % pictures.count]))
            if outcome.code == .cancelled { worst = max(worst, Double(outcome.microseconds) / 1000) }
            switch outcome.code {
            case nil: finished += 1
            case CoderError.Code.cancelled: cancelled += 1
            case let code?:
                wrong += 1
                say("finding\t\(picture.format)\tcase \(number)\twas answered with \(code)")
            }
        }
        // A second for what ends by itself.
        var after = Held()
        for _ in 0..<100 where !(after.isWithin(before)) {
            usleep(10_000)
            after = Held()
        }
        let isClean = after.isWithin(before)
        if !isClean { say("finding\tleft behind\t\(before) became \(after)") }
        say(
            "total\t\(count) cancels\t\(cancelled) cancelled\t\(finished) were faster\t\(wrong) wrong\t"
                + "\(after.descriptors - before.descriptors) descriptors\t\(after.threads - before.threads) threads\t"
                + "\(after.memoryFiles - before.memoryFiles) files in memory\tworst \(Int(worst)) ms")
        return wrong == 0 && isClean && cancelled > 0
    }

    /// Noise, which no format makes small.
    private func picture(_ format: ImageFormat) -> [UInt8] {
        let size = PixelSize(side, side * 3 / 4)
        guard let pixels = try? PixelBuffer(size: size, format: .rgb8) else { fatalError("no memory") }
        var dice = Dice(7)
        for y in 0..<size.height {
            let line = dice.bytes(size.width * 3)
            pixels.withMutableRow(y) { row in
                for (index, byte) in line.enumerated() { row.storeBytes(of: byte, toByteOffset: index, as: UInt8.self) }
            }
        }
        let image = DecodedImage(
            info: ImageInfo(size: size, nativeFormat: .rgb8), pixels: pixels, format: "pnm", coder: "none")
        let known = FuzzHost.manager.encoders(for: format).first?.descriptor.options.map(\.key) ?? []
        var options = CoderOptions()
        if known.contains(OptionKey.effort) { options[OptionKey.effort] = .integer(1) }
        do throws(CoderError) {
            return try FuzzHost.manager.encode(image, to: format, options: options)
        } catch {
            fatalError("\(format): \(error)")
        }
    }

    /// Decodes, and cancels after so many microseconds.
    ///
    /// - Returns: how it ended, and how many microseconds after that, or after it began where nobody cancelled.
    private func attempt(_ bytes: [UInt8], after delay: Int?) -> (code: CoderError.Code?, microseconds: Int) {
        struct State {
            var context: SessionContext?
            var code: CoderError.Code?
            var cancelledAt: ContinuousClock.Instant?
            var endedAt: ContinuousClock.Instant?
        }
        final class Shared: Sendable { let state = Mutex(State()) }
        let shared = Shared()
        let start = ContinuousClock.now
        sideBySide(2, threads: 2) { index in
            if index == 0 {
                var code: CoderError.Code?
                do throws(CoderError) {
                    try FuzzHost.manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
                        shared.state.withLock { $0.context = session.context }
                        _ = try session.decodeImage()
                    }
                } catch {
                    code = error.code
                }
                shared.state.withLock { state in
                    state.code = code
                    state.endedAt = .now
                }
            } else if let delay {
                usleep(UInt32(delay))
                for _ in 0..<5000 {
                    let isDone = shared.state.withLock { state in
                        if let context = state.context, state.endedAt == nil {
                            context.cancel()
                            state.cancelledAt = .now
                        }
                        return state.context != nil || state.endedAt != nil
                    }
                    if isDone { break }
                    usleep(100)
                }
            }
        }
        return shared.state.withLock { state in
            let (seconds, fraction) = ((state.endedAt ?? .now) - (state.cancelledAt ?? start)).components
            return (state.code, Int(seconds) * 1_000_000 + Int(fraction / 1_000_000_000_000))
        }
    }
}

/// What a process holds, as the kernel counts it.
private struct Held: CustomStringConvertible {
    var descriptors = 0
    var threads = 0
    var memoryFiles = 0

    init() {
        let names = (try? directoryEntries("/proc/self/fd")) ?? []
        descriptors = names.count
        memoryFiles = names.count { linkTarget("/proc/self/fd/\($0)")?.hasPrefix("/memfd:") == true }
        threads = (try? directoryEntries("/proc/self/task"))?.count ?? 0
    }

    func isWithin(_ other: Held) -> Bool {
        descriptors <= other.descriptors && threads <= other.threads && memoryFiles <= other.memoryFiles
    }

    var description: String { "\(descriptors) descriptors, \(threads) threads, \(memoryFiles) files in memory" }
}
