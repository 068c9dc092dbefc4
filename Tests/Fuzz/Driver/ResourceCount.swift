import CoderHost
import FuzzTargets
import Glibc

/// The resources of a process, as counted by the kernel.
struct ResourceCount: CustomStringConvertible {
    var descriptors = 0
    var threads = 0
    var memoryFiles = 0
    var processes = 0

    init() {
        let names = (try? directoryEntries("/proc/self/fd")) ?? []
        descriptors = names.count
        memoryFiles = names.count { linkTarget("/proc/self/fd/\($0)")?.hasPrefix("/memfd:") == true }
        threads = (try? directoryEntries("/proc/self/task"))?.count ?? 0
        processes = Offspring.all().count
    }

    func isWithin(_ other: ResourceCount) -> Bool {
        descriptors <= other.descriptors && threads <= other.threads && memoryFiles <= other.memoryFiles
            && processes <= other.processes
    }

    /// Returns the current counts, or those after they returned to `before`; waits up to a second for that.
    static func settled(_ before: ResourceCount) -> ResourceCount {
        var after = ResourceCount()
        for _ in 0..<100 where !after.isWithin(before) {
            usleep(10_000)
            after = ResourceCount()
        }
        return after
    }

    /// The increases over `before`, in columns.
    func growth(since before: ResourceCount) -> String {
        "\(descriptors - before.descriptors) descriptors\t\(threads - before.threads) threads\t"
            + "\(memoryFiles - before.memoryFiles) files in memory\t\(processes - before.processes) processes"
    }

    var description: String {
        "\(descriptors) descriptors, \(threads) threads, \(memoryFiles) files in memory, \(processes) processes"
    }
}

/// The processes started by this one, and their descendants.
enum Offspring {
    struct Process {
        var number: pid_t
        /// The distance from this process: 1 is a child.
        var depth: Int
    }

    static func all() -> [Process] {
        var parents: [pid_t: pid_t] = [:]
        for name in (try? directoryEntries("/proc")) ?? [] {
            guard let number = pid_t(name) else { continue }
            // The name in parentheses may have any bytes; the state and the parent follow the last parenthesis.
            let line = String(decoding: wholeFile("/proc/\(number)/stat"), as: UTF8.self)
            guard let end = line.lastIndex(of: ")") else { continue }
            let fields = line[line.index(after: end)...].split(separator: " ")
            if fields.count > 1, let parent = pid_t(fields[1]) { parents[number] = parent }
        }
        let own = getpid()
        return parents.keys.sorted().compactMap { number in
            var (at, depth) = (number, 0)
            while let parent = parents[at], depth < 8 {
                depth += 1
                if parent == own { return Process(number: number, depth: depth) }
                at = parent
            }
            return nil
        }
    }
}

/// Incompressible images, and hosts that share nothing.
enum Probe {
    static func host(
        _ policy: IsolationPolicy, folders: [String] = [], limits: DecodeLimits = .default, follows: Bool = false
    ) -> CoderHost {
        var configuration = HostConfiguration(
            directories: (folders + [FuzzHost.products]).map { .init($0, origin: .argument) }, limits: limits,
            administrationDirectories: [], followsChanges: follows, trustDirectories: [], stateDirectory: nil)
        configuration.isolation = policy
        return CoderHost(configuration: configuration)
    }

    static func noise(_ size: PixelSize, _ format: PixelFormat = .rgb8, seed: UInt64 = 7) -> PixelBuffer {
        guard let pixels = try? PixelBuffer(size: size, format: format) else { fatalError("no memory") }
        var dice = Dice(seed)
        for y in 0..<size.height {
            let line = dice.bytes(size.width * format.bytesPerPixel)
            pixels.withMutableRow(y) { row in
                for (index, byte) in line.enumerated() { row.storeBytes(of: byte, toByteOffset: index, as: UInt8.self) }
            }
        }
        return pixels
    }

    /// Noise in a format, written with the fastest settings.
    static func image(_ format: ImageFormat, _ size: PixelSize) -> [UInt8] {
        let image = DecodedImage(
            info: ImageInfo(size: size, nativeFormat: .rgb8), pixels: noise(size), format: "pnm", coder: "none")
        let known = FuzzHost.manager.encoders(for: format).first?.descriptor.options.map(\.key) ?? []
        var options = CoderOptions()
        if known.contains(OptionKey.effort) { options[OptionKey.effort] = .integer(1) }
        do throws(CoderError) {
            return try FuzzHost.manager.encode(image, to: format, options: options)
        } catch {
            fatalError("\(format): \(error)")
        }
    }

    /// Several frames of noise.
    static func animation(_ format: ImageFormat, _ size: PixelSize, frames: Int) -> [UInt8] {
        let sink = MemorySink(limits: .default)
        do throws(CoderError) {
            try animate(FuzzHost.manager, format, size, frames: frames, into: sink) { _ in }
        } catch {
            fatalError("\(format): \(error)")
        }
        return sink.bytes
    }

    static func animate(
        _ manager: CodersManager, _ format: ImageFormat, _ size: PixelSize, frames: Int, into sink: MemorySink,
        _ begun: (SessionContext) -> Void
    ) throws(CoderError) {
        var info = ImageInfo(size: size, nativeFormat: .rgba8)
        info.isAnimated = true
        info.frameCount = nil
        let encoder = try manager.makeAnimationEncoder(to: format, of: info, into: sink)
        begun(encoder.context)
        for index in 0..<frames {
            try encoder.add(noise(size, .rgba8, seed: UInt64(index)), duration: FrameDuration(1, over: 10))
        }
        _ = try encoder.finish()
    }

    /// Returns the milliseconds that `body` takes.
    static func milliseconds<E: Error>(_ body: () throws(E) -> Void) throws(E) -> Double {
        let start = monotonicNow()
        try body()
        return Double(monotonicNow() - start) / 1e6
    }

    static func median(_ values: [Double]) -> Double {
        values.isEmpty ? 0 : values.sorted()[values.count / 2]
    }

    static func text(_ milliseconds: Double) -> String { "\((milliseconds * 100).rounded() / 100)" }
}
