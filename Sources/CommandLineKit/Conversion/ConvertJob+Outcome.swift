package import CoderHost
package import ImageModel

extension ConvertJob {
    /// The result of one input.
    package struct Outcome: BatchOutcome {
        /// An input or output.
        package struct File: Sendable {
            package var name: String
            package var format: ImageFormat
            package var size: PixelSize
        }

        /// A coder that was used.
        package struct Coder: Sendable {
            package var id: String
            package var isolation: IsolationReport?
        }

        package var input: File
        package var output: File
        package var decoder: Coder
        /// The encoder; nil for a copy.
        package var encoder: Coder?
        package var isIncomplete: Bool
        package var warnings: [String]
        /// The written bytes, or a skipped output.
        var tally = BatchTally()
        /// The number of the item in its file.
        package var item = 0
        /// The results of further items of the same input.
        package var others: [Outcome] = []

        /// The numbers of this result and of the other items.
        package var total: BatchTally { others.reduce(tally) { $0 + $1.tally } }

        /// The result as one line of text.
        package var line: String {
            if tally.isSkipped { return "\(input.name) -> \(output.name)  [skipped: the output is up to date]" }
            return text
        }

        private var text: String {
            "\(input.name) (\(input.format) \(input.size)) -> \(output.name) (\(output.format) \(output.size))  "
                + "[\(decoder.id) -> \(encoder?.id ?? "copy")]"
        }

        /// The result as one line of JSON.
        package var json: String {
            tally.isSkipped
                ? BatchSummary.skipped(input.name, output.name, "the output is up to date").text : document.text
        }

        private var document: JSONValue {
            JSONValue.object([
                ("file", .string(input.name)), ("output", .string(output.name)), ("format", .string(output.format.id)),
                ("width", .integer(output.size.width)), ("height", .integer(output.size.height)),
                ("input_bytes", .integer(tally.inputBytes)), ("bytes", .integer(tally.outputBytes)),
                ("coder", .string(decoder.id)), ("encoder", encoder.map { .string($0.id) } ?? .null),
                ("incomplete", .bool(isIncomplete)), ("isolation", IsolationRendering.json(decoder.isolation)),
                ("encoder_isolation", IsolationRendering.json(encoder?.isolation)), ("item", .integer(item)),
                ("warnings", .array(warnings.map(JSONValue.string))),
            ])
        }
    }
}

extension ConvertJob.Outcome {
    /// The result for an output that `--skip-existing` keeps.
    init(keeping path: String, _ format: ImageFormat, of file: String, _ session: DecodeSession) {
        let size = session.info.size
        self.init(
            input: File(name: file, format: session.format, size: size),
            output: File(name: path, format: format, size: size),
            decoder: Coder(id: session.coder.id, isolation: session.isolation), encoder: nil, isIncomplete: false,
            warnings: [], tally: BatchTally(skipped: 1))
    }
}
