package import CoderHost
package import ImageModel

extension ConvertJob {
    /// The result of one input.
    package struct Outcome: Sendable {
        package var input: String
        package var output: String
        package var inputFormat: ImageFormat
        package var outputFormat: ImageFormat
        package var inputSize: PixelSize
        package var size: PixelSize
        package var decoder: String
        /// The encoder; nil for a copy.
        package var encoder: String?
        package var isIncomplete: Bool
        package var isolation: IsolationReport?
        package var encoderIsolation: IsolationReport?
        package var warnings: [String]
        /// The number of the item in its file.
        package var item = 0
        /// The results of further items of the same input.
        package var others: [Outcome] = []

        /// The result as one line of text.
        package var line: String {
            "\(input) (\(inputFormat) \(inputSize)) -> \(output) (\(outputFormat) \(size))  "
                + "[\(decoder) -> \(encoder ?? "copy")]"
        }

        /// The result as one line of JSON.
        package var json: String {
            JSONValue.object([
                ("file", .string(input)), ("output", .string(output)), ("format", .string(outputFormat.id)),
                ("width", .integer(size.width)), ("height", .integer(size.height)),
                ("coder", .string(decoder)), ("encoder", encoder.map(JSONValue.string) ?? .null),
                ("incomplete", .bool(isIncomplete)), ("isolation", IsolationRendering.json(isolation)),
                ("encoder_isolation", IsolationRendering.json(encoderIsolation)), ("item", .integer(item)),
                ("warnings", .array(warnings.map(JSONValue.string))),
            ]).text
        }
    }
}
