package import CoderHost
package import ImageModel

/// Returns a name for display, with escapes for characters that move the cursor, change colors or reverse text.
package func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: \.isTerminalControl) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\n": result += "\\n"
        case "\t": result += "\\t"
        case _ where scalar.isTerminalControl: result += "\\u{\(String(scalar.value, radix: 16))}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}

extension CoderError {
    /// The error as lines of text: file, message, coder, attempts and hint.
    package func lines(file: String) -> [String] {
        var result = ["coderhost: \(printable(file)): \(printable(message))" + (coder.map { " [\($0)]" } ?? "")]
        result += attempts.map { "  tried: \(printable($0))" }
        if let hint = remedy { result.append("  try: \(printable(hint))") }
        return result
    }

    /// The hint; damaged data has only one remedy.
    private var remedy: String? {
        if let hint { return hint }
        return switch code {
        case .corrupt: "the file is damaged: copy or download it again"
        case .truncated: "the file is incomplete: copy or download it again"
        default: nil
        }
    }

    /// The error with a hint to use `--incomplete`, if the input is truncated.
    package var hintingAtIncomplete: CoderError {
        var error = self
        if code == .truncated, hint == nil { error.hint = "--incomplete writes the available part" }
        return error
    }

    /// Reports the error of one input: as text on standard error, or as a line of JSON.
    ///
    /// - Parameter outputIsTaken: whether the image data goes to standard output.
    package func report(_ file: String, _ arguments: ParsedArguments, outputIsTaken: Bool = false) {
        report(file, json: arguments.has("--json"), outputIsTaken: outputIsTaken)
    }

    /// Reports the error of one input.
    package func report(_ file: String, json isJSON: Bool, outputIsTaken: Bool = false) {
        guard isJSON else {
            for line in lines(file: file) { Console.error(line) }
            return
        }
        let line = JSONValue.object([("file", .string(file)), ("error", json)]).text
        if outputIsTaken { Console.error(line) } else { Console.out(line) }
    }

    /// The error as the value of the JSON key `error`.
    package var json: JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("code", .string("\(code)")), ("message", .string(message)),
            ("hint", remedy.map(JSONValue.string) ?? .null),
        ]
        if let coder { members.append(("coder", .string(coder))) }
        if let domain { members.append(("domain", .string(domain))) }
        if let feature { members.append(("feature", .string(feature))) }
        if let inputOffset { members.append(("input_offset", .integer(Int(clamping: inputOffset)))) }
        if let limit {
            members.append(
                (
                    "limit",
                    .object([
                        ("name", .string(limit.name)), ("allowed", .integer(Int(clamping: limit.allowed))),
                        ("requested", .integer(Int(clamping: limit.requested))),
                    ])
                ))
        }
        if let format = recognizedFormat {
            members.append(
                (
                    "looks_like",
                    .object([
                        ("format", .string(format.format.id)), ("name", .string(format.name)),
                        ("mime", format.mimeType.map(JSONValue.string) ?? .null),
                        ("uti", format.typeIdentifier.map(JSONValue.string) ?? .null),
                        ("extensions", .array(format.extensions.map(JSONValue.string))),
                        ("image", .bool(format.isImage)),
                    ])
                ))
        }
        if !attempts.isEmpty { members.append(("attempts", .array(attempts.map(JSONValue.string)))) }
        return .object(members)
    }
}
