import CoderHost
import CommandLineKit
import ImageModel

/// The measurement of some operations on some pictures.
struct BenchRun {
    let settings: BenchSettings
    let skipped: [(file: String, error: CoderError, isNamed: Bool)]
    private let pictures: [BenchPicture]
    private let host: CoderHost
    private let folder: TemporaryFolder
    private(set) var peers: [BenchPeer] = []
    private(set) var missing: [BenchPeer.Kind] = []
    private(set) var results: [BenchResult] = []

    init(_ gathered: BenchPictures, _ settings: BenchSettings, _ host: CoderHost, _ folder: TemporaryFolder) {
        pictures = gathered.pictures
        skipped = gathered.skipped
        self.settings = settings
        self.host = host
        self.folder = folder
        for kind in settings.peers {
            if let peer = BenchPeer(kind, folder) { peers.append(peer) } else { missing.append(kind) }
        }
    }

    /// Measures until it is done, or interrupted.
    ///
    /// All processes first: what they have in memory cannot be told once this one has had more.
    mutating func measure() {
        let total = pictures.count * settings.operations.count
        var progress = ProgressLine(total: 2 * total)
        defer { progress.clear() }
        for picture in pictures {
            var copy: String?
            for operation in settings.operations where Interruption.signal == nil {
                progress.show(results.count, "\(operation.rawValue) \(picture.file)")
                var result = BenchResult(picture: picture, operation: operation)
                if operation == .encode, copy == nil { copy = makeCopy(of: picture, &result) }
                if result.problem == nil { measureProcesses(&result, operation == .encode ? copy ?? "" : picture.file) }
                results.append(result)
            }
        }
        for index in results.indices where Interruption.signal == nil {
            progress.show(total + index, "\(results[index].operation.rawValue) \(results[index].picture.file)")
            do throws(CoderError) {
                results[index].own = try measureHere(results[index])
                // What only failed as a process has no error of its own.
                if let problem = results[index].problem { throw CoderError(.inputOutput, problem) }
            } catch {
                results[index].error = error
            }
        }
    }

    // MARK: In this process

    private func measureHere(_ result: BenchResult) throws(CoderError) -> BenchTimes? {
        let work = try result.operation.prepare(result.picture, settings, host)
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

    /// An uncompressed copy, which everybody can read.
    private func makeCopy(of picture: BenchPicture, _ result: inout BenchResult) -> String {
        let path = folder.file("copy-\(picture.order).\(picture.hasAlpha ? "pam" : "ppm")")
        let words = BenchOperation.convert.arguments(picture.file, output: path, settings)
        if start([executablePath ?? ""] + words)?.status != 0 {
            result.problem = complaint ?? "it cannot be decoded for encode"
        }
        return path
    }

    private mutating func measureProcesses(_ result: inout BenchResult, _ input: String) {
        let format = result.operation.outputFormat(result.picture, settings, host)
        let output = folder.file("out." + (format.map { host.manager.fileExtension(of: $0) } ?? "none"))
        let isAnimation = result.picture.frameCount > 1
        var commands = [
            [executablePath ?? ""] + result.operation.arguments(input, output: output, settings)
        ]
        commands += peers.map {
            $0.command(
                result.operation, input, output: output, quality: settings.quality, isAnimation: isAnimation)
        }
        var processes = [BenchProcess(name: "coderhost")] + peers.map { BenchProcess(name: $0.kind.rawValue) }
        var samples = [[BenchTimes.Sample]](repeating: [], count: commands.count)
        // Alone, one run tells the memory; beside others, everybody has a turn in each round, the first to warm up.
        for round in 0...(peers.isEmpty ? 0 : settings.runs) {
            for index in commands.indices where processes[index].problem == nil {
                guard let report = start(commands[index]) else {
                    if Interruption.signal != nil { return }
                    processes[index].problem = "it cannot be started"
                    continue
                }
                guard report.status == 0 else {
                    processes[index].problem = complaint ?? "it ended with \(report.status)"
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

    /// What the last process said was wrong.
    private var complaint: String? {
        let lines = textLines(of: folder.file("errors"))
        // Python says at the end what it is about.
        return lines.first?.hasPrefix("Traceback") == true ? lines.last : lines.first
    }
}

/// What one operation on one picture costs.
struct BenchResult {
    var picture: BenchPicture
    var operation: BenchOperation
    var own: BenchTimes?
    var peak: BenchPeak?
    /// `coderhost` first; empty where it is measured alone.
    var processes: [BenchProcess] = []
    /// What this program said as a process of its own, where it failed.
    var problem: String?
    var error: CoderError?

    /// Pixels that are looked at: of all frames where all are decoded.
    var pixelCount: Int {
        (picture.size.area ?? 0) * (operation == .decode ? picture.frameCount : 1)
    }

    /// The CPU time of `coderhost` by that of another program.
    func ratio(_ process: BenchProcess) -> Double? {
        guard let own = processes.first?.times, let other = process.times, other.processor.median > 0 else {
            return nil
        }
        return own.processor.median / other.processor.median
    }
}

/// A program as a whole, start-up included.
struct BenchProcess {
    var name: String
    var times: BenchTimes?
    var peak: BenchPeak?
    var problem: String?
}

/// The most memory that a process had.
struct BenchPeak: Comparable {
    var bytes = 0
    /// Whether it was that or less.
    var isBound = true

    init() {}

    init(_ report: ChildReport) {
        bytes = report.peakBytes
        isBound = report.peakIsBound
    }

    static func < (a: BenchPeak, b: BenchPeak) -> Bool { a.bytes < b.bytes }
}

/// Times of some runs.
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

    /// Whether much of the time went to others, or to waiting.
    var waited: Bool { wall.median > processor.median * 1.3 + 0.002 }
}
