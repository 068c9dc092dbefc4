import CoderHost
import CommandLineKit
import ImageModel

/// Measures operations on images.
struct BenchRun {
    let settings: BenchSettings
    let skipped: [(file: String, error: CoderError, isNamed: Bool)]
    private let images: [BenchImage]
    private let host: CoderHost
    private let folder: TemporaryFolder
    private(set) var peers: [BenchPeer] = []
    private(set) var missing: [BenchPeer.Kind] = []
    private(set) var results: [BenchResult] = []

    init(_ gathered: BenchImages, _ settings: BenchSettings, _ host: CoderHost, _ folder: TemporaryFolder) {
        images = gathered.images
        skipped = gathered.skipped
        self.settings = settings
        self.host = host
        self.folder = folder
        for kind in settings.peers {
            if let peer = BenchPeer(kind, folder) { peers.append(peer) } else { missing.append(kind) }
        }
    }

    /// Measures until all operations are done, or until an interrupt.
    ///
    /// Measures the child processes first: their peak memory is unknown once this process has used more memory.
    mutating func measure() {
        let total = images.count * settings.operations.count
        var progress = ProgressLine(total: 2 * total)
        defer { progress.clear() }
        for image in images {
            var copy: String?
            for operation in settings.operations where Interruption.signal == nil {
                progress.show(results.count, "\(operation.rawValue) \(image.file)")
                var result = BenchResult(image: image, operation: operation)
                if operation == .encode, copy == nil { copy = makeCopy(of: image, &result) }
                if result.problem == nil { measureProcesses(&result, operation == .encode ? copy ?? "" : image.file) }
                results.append(result)
            }
        }
        for index in results.indices where Interruption.signal == nil {
            progress.show(total + index, "\(results[index].operation.rawValue) \(results[index].image.file)")
            do throws(CoderError) {
                results[index].own = try measureHere(results[index])
                // An operation that failed only as a child process has no CoderError yet.
                if let problem = results[index].problem { throw CoderError(.inputOutput, problem) }
            } catch {
                results[index].error = error
            }
        }
    }

    // MARK: In this process

    private func measureHere(_ result: BenchResult) throws(CoderError) -> BenchTimes? {
        let work = try result.operation.prepare(result.image, settings, host)
        try work()
        var samples: [BenchTimes.Sample] = []
        for _ in 0..<settings.runs {
            if Interruption.signal != nil { return nil }
            let (wall, processor) = (monotonicNow(), processorSeconds())
            try work()
            samples.append(
                BenchTimes.Sample(
                    processor: processorSeconds() - processor, wall: Double(monotonicNow() - wall) / 1e9))
        }
        return BenchTimes(samples)
    }

    // MARK: As processes

    /// Makes an uncompressed copy, which all programs can read.
    private func makeCopy(of image: BenchImage, _ result: inout BenchResult) -> String {
        let path = folder.file("copy-\(image.order).\(image.hasAlpha ? "pam" : "ppm")")
        let words = BenchOperation.convert.arguments(image.file, output: path, settings)
        if start([executablePath ?? ""] + words)?.status != 0 {
            result.problem = errorLine ?? "cannot decode the image for encode"
        }
        return path
    }

    private mutating func measureProcesses(_ result: inout BenchResult, _ input: String) {
        let format = result.operation.outputFormat(result.image, settings, host)
        let output = folder.file("out." + (format.map { host.manager.fileExtension(of: $0) } ?? "none"))
        let isAnimation = result.image.frameCount > 1
        var commands = [
            [executablePath ?? ""] + result.operation.arguments(input, output: output, settings)
        ]
        commands += peers.map {
            $0.command(
                result.operation, input, output: output, quality: settings.quality, isAnimation: isAnimation)
        }
        var processes = [BenchProcess(name: "coderhost")] + peers.map { BenchProcess(name: $0.kind.rawValue) }
        var samples = [[BenchTimes.Sample]](repeating: [], count: commands.count)
        // Without peers, one run measures the memory. With peers, each round runs all programs; round 0 is the warm-up.
        for round in 0...(peers.isEmpty ? 0 : settings.runs) {
            for index in commands.indices where processes[index].problem == nil {
                guard let report = start(commands[index]) else {
                    if Interruption.signal != nil { return }
                    processes[index].problem = "cannot start the program"
                    continue
                }
                guard report.status == 0 else {
                    processes[index].problem = errorLine ?? "exit code \(report.status)"
                    continue
                }
                processes[index].peak = max(processes[index].peak ?? BenchPeak(), BenchPeak(report))
                if round > 0 {
                    samples[index].append(
                        BenchTimes.Sample(processor: report.processorSeconds, wall: report.seconds))
                }
            }
        }
        for index in processes.indices where processes[index].problem == nil {
            processes[index].times = BenchTimes(samples[index])
        }
        result.peak = processes[0].peak
        result.problem = processes[0].problem
        if !peers.isEmpty { result.processes = processes }
    }

    private func start(_ command: [String]) -> ChildReport? {
        do { return try ChildProcess.run(command, errors: folder.file("errors")) } catch { return nil }
    }

    /// The error message of the last process.
    private var errorLine: String? {
        let lines = textLines(of: folder.file("errors"))
        // The last line of a Python traceback is the message.
        return lines.first?.hasPrefix("Traceback") == true ? lines.last : lines.first
    }
}

/// The result of one operation on one image.
struct BenchResult {
    var image: BenchImage
    var operation: BenchOperation
    var own: BenchTimes?
    var peak: BenchPeak?
    /// All measured processes, `coderhost` first; empty without peers.
    var processes: [BenchProcess] = []
    /// The error message of `coderhost` as a child process.
    var problem: String?
    var error: CoderError?

    /// The number of processed pixels: of all frames for `decode`, else of one frame.
    var pixelCount: Int {
        (image.size.area ?? 0) * (operation == .decode ? image.frameCount : 1)
    }

    /// Returns the CPU time of `coderhost` divided by the CPU time of another program.
    func ratio(_ process: BenchProcess) -> Double? {
        guard let own = processes.first?.times, let other = process.times, other.processor.median > 0 else {
            return nil
        }
        return own.processor.median / other.processor.median
    }
}

/// A measured child process, start-up included.
struct BenchProcess {
    var name: String
    var times: BenchTimes?
    var peak: BenchPeak?
    var problem: String?
}

/// The peak memory of a process.
struct BenchPeak: Comparable {
    var bytes = 0
    /// Whether `bytes` is only an upper bound.
    var isBound = true

    init() {}

    init(_ report: ChildReport) {
        bytes = report.peakBytes
        isBound = report.peakIsBound
    }

    static func < (a: BenchPeak, b: BenchPeak) -> Bool { a.bytes < b.bytes }
}

/// The times of several runs.
struct BenchTimes {
    /// - Units: seconds.
    struct Sample {
        var processor: Double
        var wall: Double
    }

    struct Distribution {
        var median: Double
        var minimum: Double
        var maximum: Double

        init(_ values: [Double]) {
            let sorted = values.sorted()
            let middle = sorted.count / 2
            median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
            minimum = sorted[0]
            maximum = sorted[sorted.count - 1]
        }
    }

    let processor: Distribution
    let wall: Distribution

    init?(_ samples: [Sample]) {
        if samples.isEmpty { return nil }
        processor = Distribution(samples.map(\.processor))
        wall = Distribution(samples.map(\.wall))
    }

    /// Whether wall time clearly exceeds CPU time, because of other load or waiting.
    var waited: Bool { wall.median > processor.median * 1.3 + 0.002 }
}
