package import CoderHost
import ImageModel

/// The `<picture>` element for the outputs of one input.
///
/// Each format but the last is a source; the last one is the fallback.
///
/// - Source: HTML Living Standard, 4.8.2 and 4.8.4.
package struct Srcset {
    /// The form of the answer.
    package enum Style: String, Sendable, CaseIterable {
        /// A `<picture>` element.
        case html
        /// The same data as JSON.
        case json
    }

    /// The outputs of one format.
    private struct Source {
        var type: String
        var files: [ConvertJob.Outcome.File]

        var srcset: String {
            files.map { "\(Srcset.url($0.name)) \($0.size.width)w" }.joined(separator: ", ")
        }
        var largest: ConvertJob.Outcome.File { files.max { $0.size.width < $1.size.width } ?? files[0] }
    }

    private var sources: [Source] = []
    private let alternative: String

    /// Groups outputs by format.
    ///
    /// - Parameters:
    ///   - alternative: the text for users who do not see the image.
    ///   - manager: states the MIME types.
    package init(_ outcomes: [ConvertJob.Outcome], alternative: String, _ manager: CodersManager) {
        self.alternative = alternative
        for file in outcomes.map(\.output) {
            let type = manager.mimeType(of: file.format)
            if let index = sources.firstIndex(where: { $0.type == type }) {
                sources[index].files.append(file)
            } else {
                sources.append(Source(type: type, files: [file]))
            }
        }
    }

    /// Returns the lines of the answer in a style.
    package func lines(_ style: Style) -> [String] { style == .html ? html : [json] }

    /// The width in which a page shows the image: its whole width, up to the largest file.
    private func sizes(_ source: Source) -> String {
        let width = source.largest.size.width
        return "(max-width: \(width)px) 100vw, \(width)px"
    }

    private var html: [String] {
        guard let fallback = sources.last else { return [] }
        let largest = fallback.largest
        var lines: [String] = []
        for source in sources.dropLast() {
            lines.append(
                "  <source type=\"\(XMLText.escaped(source.type))\" srcset=\"\(XMLText.escaped(source.srcset))\" "
                    + "sizes=\"\(sizes(source))\">")
        }
        lines.append(
            "  <img src=\"\(XMLText.escaped(Self.url(largest.name)))\" srcset=\"\(XMLText.escaped(fallback.srcset))\" "
                + "sizes=\"\(sizes(fallback))\" width=\"\(largest.size.width)\" height=\"\(largest.size.height)\" "
                + "alt=\"\(XMLText.escaped(alternative))\" loading=\"lazy\" decoding=\"async\">")
        return ["<picture>"] + lines + ["</picture>"]
    }

    private var json: String {
        func value(_ source: Source) -> JSONValue {
            .object([
                ("type", .string(source.type)), ("srcset", .string(source.srcset)), ("sizes", .string(sizes(source))),
                (
                    "files",
                    .array(
                        source.files.map { file in
                            .object([
                                ("url", .string(Self.url(file.name))), ("width", .integer(file.size.width)),
                                ("height", .integer(file.size.height)),
                            ])
                        })
                ),
            ])
        }
        guard let fallback = sources.last else { return "{}" }
        let largest = fallback.largest
        return JSONValue.object([
            ("sources", .array(sources.map(value))), ("src", .string(Self.url(largest.name))),
            ("width", .integer(largest.size.width)), ("height", .integer(largest.size.height)),
            ("alt", .string(alternative)),
        ]).text
    }

    /// Returns a file name as a relative URL; commas and spaces, which separate candidates, are escaped too.
    ///
    /// - Source: RFC 3986, section 2.3.
    private static func url(_ name: String) -> String {
        var result = ""
        for byte in name.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "/"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return result
    }
}
