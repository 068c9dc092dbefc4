package import CoderHost
import ImageModel

/// The result of one input of a batch that writes files.
package protocol BatchOutcome: Sendable {
    /// The numbers of the result.
    var total: BatchTally { get }
}

/// The numbers of a batch that writes files.
package struct BatchTally: Sendable, Hashable {
    package var written = 0
    /// Outputs that `--skip-existing` kept.
    package var skipped = 0
    /// Files in folders that no coder recognizes.
    package var unrecognized = 0
    package var inputBytes = 0
    package var outputBytes = 0

    package init(written: Int = 0, skipped: Int = 0, inputBytes: Int = 0, outputBytes: Int = 0) {
        self.written = written
        self.skipped = skipped
        self.inputBytes = inputBytes
        self.outputBytes = outputBytes
    }

    var isSkipped: Bool { skipped > 0 }

    static func + (a: BatchTally, b: BatchTally) -> BatchTally {
        var sum = BatchTally(
            written: a.written + b.written, skipped: a.skipped + b.skipped, inputBytes: a.inputBytes &+ b.inputBytes,
            outputBytes: a.outputBytes &+ b.outputBytes)
        sum.unrecognized = a.unrecognized + b.unrecognized
        return sum
    }
}

/// The last line of a batch: files written, skipped and failed, and bytes read and written.
package struct BatchSummary: Sendable {
    /// The origin of the inputs.
    let files: InputFiles
    private let host: CoderHost
    private let isJSON: Bool
    private let isWanted: Bool
    private let isVerbose: Bool
    private let outputIsTaken: Bool

    /// Creates the summary of inputs from folders or lists; other inputs have one with `--verbose` only.
    init(_ arguments: ParsedArguments, _ host: CoderHost, outputIsTaken: Bool) {
        self.host = host
        self.outputIsTaken = outputIsTaken
        files = arguments.inputs
        isJSON = arguments.has("--json")
        isVerbose = arguments.has("--verbose")
        isWanted = files.isCollected || isVerbose && !isJSON && arguments.operands.count > 1
    }

    /// Whether an error is about a file in a folder that is no image; reports the skipped file.
    func skips(_ file: String, after error: CoderError) -> Bool {
        guard files.skips(file, after: error, host) else { return false }
        if isJSON {
            write(Self.skipped(file, nil, "no coder recognizes it"))
        } else if isVerbose {
            Console.error(printable("\(file)  [skipped: no coder recognizes it]"))
        }
        return true
    }

    /// Prints the summary; returns whether there is one.
    ///
    /// - Parameter left: the number of inputs that are not done, because a signal ends the process; nil at the usual end.
    @discardableResult
    func report(_ tally: BatchTally, failures: Int, left: Int? = nil) -> Bool {
        guard isWanted || left != nil else { return false }
        if isJSON {
            write(
                .object([
                    (
                        "summary",
                        .object(
                            [
                                ("written", .integer(tally.written)), ("skipped", .integer(tally.skipped)),
                                ("unrecognized", .integer(tally.unrecognized)), ("failed", .integer(failures)),
                                ("input_bytes", .integer(tally.inputBytes)),
                                ("output_bytes", .integer(tally.outputBytes)),
                            ] + (left.map { [("left", .integer($0))] } ?? []))
                    )
                ]))
            return false
        }
        let text = Self.text(tally, failures: failures)
        guard let left else {
            Console.error("coderhost: \(text)")
            return true
        }
        Console.error("coderhost: interrupted: \(left) input\(left == 1 ? "" : "s") left, \(text)")
        Console.error("  try: the same command with --skip-existing writes the rest")
        return true
    }

    /// Returns the summary as text.
    package static func text(_ tally: BatchTally, failures: Int) -> String {
        var parts = ["\(tally.written) written"]
        if tally.skipped > 0 { parts.append("\(tally.skipped) skipped because the output is up to date") }
        if tally.unrecognized > 0 { parts.append(unrecognized(tally.unrecognized)) }
        if failures > 0 { parts.append("\(failures) failed") }
        var text = parts.joined(separator: ", ")
        if tally.written > 0, tally.inputBytes > 0 {
            let percent = Int((Double(tally.outputBytes) / Double(tally.inputBytes) * 100).rounded())
            text += "; \(bytes(tally.inputBytes)) -> \(bytes(tally.outputBytes)) (\(percent) %)"
        }
        return text
    }

    /// Returns the text for files in folders that no coder recognizes.
    package static func unrecognized(_ count: Int) -> String {
        "\(count) file\(count == 1 ? "" : "s") skipped because no coder recognizes \(count == 1 ? "it" : "them")"
    }

    /// Returns a size with a binary unit, as options accept it.
    private static func bytes(_ count: Int) -> String {
        var value = Double(count)
        var unit = 0
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while value >= 1023.95, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = Int((value * 10).rounded())
        return value < 99.95 && unit > 0
            ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\(Int(value.rounded())) \(units[unit])"
    }

    /// Returns the JSON line of a skipped input.
    package static func skipped(_ file: String, _ output: String?, _ reason: String) -> JSONValue {
        .object([
            ("file", .string(file)), ("output", output.map(JSONValue.string) ?? .null), ("skipped", .string(reason)),
        ])
    }

    private func write(_ line: JSONValue) {
        if outputIsTaken { Console.error(line.text) } else { Console.out(line.text) }
    }
}
