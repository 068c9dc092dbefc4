import CoderHost
import FuzzTargets
import Glibc
import ImageModel
import PluginCatalogue
import PluginRuntime

/// Kills workers and their zygotes at random moments, and checks the decoded images.
///
///     coderhost-fuzz kill [--count N] [--seed S] [--side PIXELS]
struct KillCommand {
    private let count: Int
    private let seed: UInt64
    private let side: Int
    private let host = Probe.host(IsolationPolicy(.require, reuse: .fresh))
    private static let formats: [ImageFormat] = [
        "png", "jpeg", "webp", "gif", "avif", "heic", "farbfeld", "bmp", "tiff", "qoi", "tga", "jxl",
    ]

    init(_ switches: Switches) {
        count = switches.number("--count", 50)
        seed = UInt64(switches.number("--seed", 1))
        side = switches.number("--side", 600)
    }

    private struct Image {
        var format: ImageFormat
        var bytes: [UInt8]
        var sum: UInt64
        /// The microseconds of one decode.
        var time: Int
    }

    func run() -> Bool {
        let images = Self.formats.map { format -> Image in
            let bytes = Probe.image(format, PixelSize(side, side * 3 / 4))
            do throws(CoderError) {
                let sum = try FuzzHost.manager.decode(ImageSource(bytes)).pixels.byteSum
                var time = 0.0
                for _ in 0..<3 {
                    time = try Probe.milliseconds { () throws(CoderError) in
                        _ = try host.manager.decode(ImageSource(bytes))
                    }
                }
                return Image(format: format, bytes: bytes, sum: sum, time: Int(time * 1000))
            } catch {
                fatalError("\(format): \(error)")
            }
        }
        let before = ResourceCount.settled(ResourceCount())
        var (workers, zygotes, whole, wrong) = (0, 0, 0, 0)
        var codes: [String: Int] = [:]
        for number in 0..<count {
            var dice = Dice(run: seed, number: number)
            let image = images[number % images.count]
            let wantsZygote = dice.once(in: 3)
            let delay = dice.below(image.time * 3 / 2)
            let (answer, killed) = attempt(image, after: delay, wantsZygote, &dice)
            workers += killed == 2 ? 1 : 0
            zygotes += killed == 1 ? 1 : 0
            switch answer {
            case .right: whole += 1
            case .wrong:
                wrong += 1
                say("finding\t\(image.format)\tcase \(number)\tother pixels")
            case .refused(let error):
                codes["\(error.code)", default: 0] += 1
                if ![.pluginCrashed, .isolationUnavailable].contains(error.code) {
                    wrong += 1
                    say("finding\t\(image.format)\tcase \(number)\twas answered with \(error)")
                }
            }
            let next = decode(image)
            guard case .right = next else {
                wrong += 1
                say("finding\t\(image.format)\tcase \(number)\tthe next decode did not work: \(next)")
                continue
            }
        }
        let after = ResourceCount.settled(before)
        let isClean = after.isWithin(before)
        if !isClean { say("finding\tleft behind\t\(before) became \(after)") }
        let errors = codes.sorted { $0.key < $1.key }.map { "\($0.key) x \($0.value)" }.joined(separator: " ")
        say(
            "total\t\(count) moments\t\(workers) workers and \(zygotes) zygotes killed\t\(whole) right images\t"
                + "errors: \(errors.isEmpty ? "none" : errors)\t\(wrong) wrong\t\(after.growth(since: before))")
        return wrong == 0 && isClean && workers > 0
    }

    private enum Answer: Sendable {
        case right, wrong
        case refused(CoderError)
    }

    private func decode(_ image: Image) -> Answer {
        do throws(CoderError) {
            return try host.manager.decode(ImageSource(image.bytes)).pixels.byteSum == image.sum ? .right : .wrong
        } catch {
            return .refused(error)
        }
    }

    /// - Returns: the result, and the distance of the killed process from this one; 0 for none.
    private func attempt(
        _ image: Image, after delay: Int, _ wantsZygote: Bool, _ dice: inout Dice
    ) -> (Answer, Int) {
        final class Shared: Sendable {
            let answer = Mutex<Answer>(.wrong)
            let killed = Mutex(0)
        }
        let shared = Shared()
        let choice = dice.below(1 << 20)
        runInParallel(2, threads: 2) { index in
            if index == 0 {
                let answer = decode(image)
                shared.answer.withLock { $0 = answer }
            } else {
                usleep(UInt32(delay))
                let all = Offspring.all()
                let wanted = all.filter { wantsZygote ? $0.depth == 1 : $0.depth > 1 }
                guard !wanted.isEmpty else { return }
                let victim = wanted[choice % wanted.count]
                kill(victim.number, SIGKILL)
                shared.killed.withLock { $0 = min(2, victim.depth) }
            }
        }
        return (shared.answer.withLock { $0 }, shared.killed.withLock { $0 })
    }
}
