package import CoderHost
package import ImageModel

extension ConvertJob {
    /// The result of one input.
    package struct Outcome: Sendable {
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
        /// The number of the item in its file.
        package var item = 0
        /// The results of further items of the same input.
        package var others: [Outcome] = []

        /// The result as one line of text.
        package var line: String {
            "\(input.name) (\(input.format) \(input.size)) -> \(output.name) (\(output.format) \(output.size))  "
                + "[\(decoder.id) -> \(encoder?.id ?? "copy")]"
        }

        /// The result as one line of JSON.
        package var json: String {
            JSONValue.object([
                ("file", .string(input.name)), ("output", .string(output.name)), ("format", .string(output.format.id)),
                ("width", .integer(output.size.width)), ("height", .integer(output.size.height)),
                ("coder", .string(decoder.id)), ("encoder", encoder.map { .string($0.id) } ?? .null),
                ("incomplete", .bool(isIncomplete)), ("isolation", IsolationRendering.json(decoder.isolation)),
                ("encoder_isolation", IsolationRendering.json(encoder?.isolation)), ("item", .integer(item)),
                ("warnings", .array(warnings.map(JSONValue.string))),
            ]).text
        }
    }
}
