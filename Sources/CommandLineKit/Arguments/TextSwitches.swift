import CoderHost
import ImageModel
import ImageProcessing

/// The options of the text that is drawn over each image.
struct TextSwitches: Sendable {
    /// The font of the text.
    let font: TextFont
    /// Size and colors.
    let style: TextStyle
    private let template: OutputTemplate

    /// The placeholders of a text.
    private static let fields = ["stem", "ext", "n", "w", "h", "item", "date"]
    private static let others = ["--font", "--text-size", "--text-color", "--text-outline"]
    /// Replace the escaped braces while the template is parsed. A command line has no control characters of its own.
    private static let (openBrace, closeBrace): (Character, Character) = ("\u{1}", "\u{2}")

    /// The options, for the specification of a command.
    static let specification = [
        OptionSpecification(
            "--text", value: "TEXT",
            help: "draw text; \\n: next line; \(fields.map { "{\($0)}" }.joined(separator: " ")) (default: none)"),
        OptionSpecification(
            "--font", value: "NAME", help: "font of the text: family or file (default: an installed sans-serif font)"),
        OptionSpecification(
            "--text-size", value: "SIZE", help: "size of the letters: pixels, or percent of the height (default: 5%)"),
        OptionSpecification(
            "--text-color", value: "COLOR", help: "color of the text: name, #rgb, #rrggbb[aa] (default: white)"),
        OptionSpecification(
            "--text-outline", value: "COLOR", help: "outline that keeps a text readable, such as black (default: none)"),
    ]

    /// Parses the options and opens the font; nil without `--text`.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        guard let text = arguments.value("--text") else {
            if let other = Self.others.first(where: arguments.has) {
                throw UsageError("\(other) needs --text", hint: "add --text TEXT")
            }
            return nil
        }
        let plain = try Self.unescaped(text)
        if plain.allSatisfy(\.isWhitespace) {
            throw UsageError("--text is empty", hint: "for example --text '© 2026 A. Smith'")
        }
        template = try OutputTemplate(plain, Self.fields)
        style = TextStyle(
            size: try Self.size(arguments), color: try arguments.color("--text-color") ?? .white,
            outline: try arguments.color("--text-outline"))
        do throws(CoderError) {
            font = try TextFont(arguments.value("--font"), for: text)
            // The limits of a text hold for the template too.
            _ = try TextOverlay(text, font: font)
        } catch {
            throw UsageError(
                "cannot draw --text: \(error.message)", hint: error.hint ?? "shorten the text",
                exit: ExitCode(error.code))
        }
    }

    private static func size(_ arguments: ParsedArguments) throws(UsageError) -> TextSize {
        guard let text = arguments.value("--text-size") else { return .ofHeight(0.05) }
        let (isPercent, isPixels) = (text.hasSuffix("%"), text.hasSuffix("px"))
        let digits = String(text.dropLast(isPercent ? 1 : isPixels ? 2 : 0))
        if let number = Double(digits), isPercent ? (0.01...100).contains(number) : (1...4_096).contains(number) {
            return isPercent ? .ofHeight(number / 100) : .pixels(number)
        }
        throw UsageError(
            "invalid --text-size value \"\(text)\": expected 1 to 4096 pixels, or 0.01% to 100% of the height",
            hint: "for example --text-size 24 or --text-size 5%")
    }

    /// Returns a text with line feeds for `\n`; `\\`, `\{` and `\}` are the characters themselves.
    private static func unescaped(_ text: String) throws(UsageError) -> String {
        var result = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            guard character == "\\" else {
                result.append(character)
                continue
            }
            switch rest.popFirst() {
            case "n": result.append("\n")
            case "\\": result.append("\\")
            case "{": result.append(openBrace)
            case "}": result.append(closeBrace)
            default:
                throw UsageError(
                    "invalid --text value \"\(text)\": a backslash comes before n, {, } or a backslash",
                    hint: "write \\\\ for a backslash")
            }
        }
        return result
    }

    /// Whether the text contains a placeholder.
    func mentions(_ field: String) -> Bool { template.mentions(field) }

    /// Returns the text with the values of its placeholders.
    func text(_ values: [String: String]) -> String {
        String(
            template.filled(values).map { $0 == Self.openBrace ? "{" : $0 == Self.closeBrace ? "}" : $0 })
    }
}
