import CoderHost
import CommandLineKit
import ImageModel

/// Renders the measurement as text and JSON.
extension BenchRun {
    /// Whether the wall times are unreliable because of other load or waiting.
    private var isBusy: Bool {
        results.contains { result in
            result.own?.waited == true || result.processes.contains { $0.times?.waited == true }
        }
    }

    // MARK: Text

    var lines: [String] {
        let processor = Machine.processorName ?? machineName
        let runs = settings.runs == 1 ? "1 run" : "medians of \(settings.runs) runs"
        var lines = [
            "coderhost \(coderHostVersion) on \(Machine.processorCount) × \(processor); \(runs) after one warm-up run"
        ]
        var table = TextTable("FILE", "OP", "CPU MS", "MIN", "SPREAD", "WALL MS", "MP/S", "MB/S", "PEAK MIB")
        for result in results where result.error == nil {
            let file = printable(result.image.file)
            let cells = Self.cells(result.own)
            table.add(
                file, result.operation.rawValue, cells.median, cells.minimum, cells.spread, cells.wall,
                result.megapixelsPerSecond.map(Self.rate) ?? "-", result.megabytesPerSecond.map(Self.rate) ?? "-",
                Self.mebibytes(result.peak))
        }
        if results.contains(where: { $0.error == nil }) { lines += [""] + table.lines }
        if !peers.isEmpty { lines += comparison }
        for kind in missing {
            lines += ["", "\(kind.rawValue) is not installed: \(kind.remedy)"]
        }
        if isBusy {
            lines += ["", "Wall times are well above CPU times: the machine is busy. Compare the CPU times."]
        }
        return lines
    }

    private var comparison: [String] {
        var lines = [
            "", "Whole processes including start-up, run alternately; RATIO is coderhost's CPU time divided by theirs:",
        ]
        lines += peers.map { printable("  \($0.kind.rawValue): \($0.version), \($0.path)") } + [""]
        var table = TextTable(
            "FILE", "OP", "PROGRAM", "CPU MS", "MIN", "SPREAD", "WALL MS", "PEAK MIB", "RATIO")
        for result in results {
            for (index, process) in result.processes.enumerated() {
                let cells = Self.cells(process.times)
                let ratio = index == 0 ? "" : result.ratio(process).map { decimals($0, 2) }
                table.add(
                    printable(result.image.file), result.operation.rawValue, process.name, cells.median,
                    cells.minimum, cells.spread, cells.wall, Self.mebibytes(process.peak),
                    ratio ?? "failed: \(printable(String((process.problem ?? "").prefix(80))))")
            }
        }
        return lines + table.lines
    }

    private static func cells(
        _ times: BenchTimes?
    ) -> (median: String, minimum: String, spread: String, wall: String) {
        guard let times else { return ("-", "-", "-", "-") }
        let range = times.processor.maximum - times.processor.minimum
        let share = times.processor.median > 0 ? range / times.processor.median * 100 : 0
        return (
            milliseconds(times.processor.median), milliseconds(times.processor.minimum), decimals(share, 0) + " %",
            milliseconds(times.wall.median)
        )
    }

    /// Formats milliseconds with about three significant digits.
    private static func milliseconds(_ seconds: Double) -> String {
        let value = seconds * 1000
        return decimals(value, value < 1 ? 3 : value < 100 ? 2 : 1)
    }

    private static func rate(_ value: Double) -> String { decimals(value, value < 10 ? 2 : value < 100 ? 1 : 0) }

    private static func mebibytes(_ peak: BenchPeak?) -> String {
        peak.map { ($0.isBound ? "≤ " : "") + decimals(Double($0.bytes) / 1_048_576, 1) } ?? "-"
    }

    // MARK: JSON

    var json: JSONValue {
        .object([
            ("schema", .integer(1)), ("host", .string(coderHostVersion)),
            (
                "machine",
                .object([
                    ("name", .string(machineName)),
                    ("processor", Machine.processorName.map(JSONValue.string) ?? .null),
                    ("processors", .integer(Machine.processorCount)),
                    ("load", Machine.load.map(JSONValue.real) ?? .null), ("busy", .bool(isBusy)),
                ])
            ),
            ("runs", .integer(settings.runs)),
            (
                "programs",
                .array(
                    peers.map { peer in
                        .object([
                            ("name", .string(peer.kind.rawValue)), ("version", .string(peer.version)),
                            ("path", .string(peer.path)),
                        ])
                    })
            ),
            (
                "missing",
                .array(
                    missing.map { kind in
                        .object([("name", .string(kind.rawValue)), ("remedy", .string(kind.remedy))])
                    })
            ),
            ("results", .array(results.map(\.json))),
            (
                "skipped",
                .array(skipped.map { .object([("file", .string($0.file)), ("error", $0.error.json)]) })
            ),
        ])
    }
}

extension BenchResult {
    var megapixelsPerSecond: Double? { rate(Double(pixelCount)) }
    /// The throughput in bytes of the compressed file.
    var megabytesPerSecond: Double? { rate(Double(image.byteCount)) }

    private func rate(_ amount: Double) -> Double? {
        // `info` reads only the header, so it has no throughput.
        guard operation != .info, let own, own.processor.median > 0 else { return nil }
        return amount / 1e6 / own.processor.median
    }

    fileprivate var json: JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("file", .string(image.file)), ("format", .string(image.format.id)),
            ("width", .integer(image.size.width)), ("height", .integer(image.size.height)),
            ("frame_count", .integer(image.frameCount)), ("bytes", .integer(image.byteCount)),
            ("operation", .string(operation.rawValue)), ("in_process", own?.json ?? .null),
            ("megapixels_per_second", megapixelsPerSecond.map(JSONValue.real) ?? .null),
            ("megabytes_per_second", megabytesPerSecond.map(JSONValue.real) ?? .null),
            ("peak", peak?.json ?? .null), ("isolation", IsolationRendering.json(image.isolation)),
        ]
        if !processes.isEmpty {
            members.append(
                (
                    "processes",
                    .array(
                        processes.enumerated().map { index, process in
                            .object([
                                ("program", .string(process.name)), ("times", process.times?.json ?? .null),
                                ("peak", process.peak?.json ?? .null),
                                ("ratio", index == 0 ? .null : ratio(process).map(JSONValue.real) ?? .null),
                                ("problem", process.problem.map(JSONValue.string) ?? .null),
                            ])
                        })
                ))
        }
        if let error { members.append(("error", error.json)) }
        return .object(members)
    }
}

extension BenchPeak {
    fileprivate var json: JSONValue { .object([("bytes", .integer(bytes)), ("is_bound", .bool(isBound))]) }
}

extension BenchTimes {
    fileprivate var json: JSONValue {
        .object([("cpu_ms", processor.json), ("wall_ms", wall.json)])
    }
}

extension BenchTimes.Distribution {
    fileprivate var json: JSONValue {
        func milliseconds(_ seconds: Double) -> JSONValue { .real((seconds * 1_000_000).rounded() / 1000) }
        return .object([
            ("median", milliseconds(median)), ("min", milliseconds(minimum)), ("max", milliseconds(maximum)),
        ])
    }
}
