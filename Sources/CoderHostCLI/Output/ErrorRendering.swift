import CoderHost
import ImageModel

extension CoderError {
    /// The lines for a person: what, which file, why, and what to try.
    func lines(file: String) -> [String] {
        var result = ["coderhost: \(file): \(message)" + (coder.map { " [\($0)]" } ?? "")]
        result += attempts.map { "  tried: \($0)" }
        if let hint { result.append("  try: \(hint)") }
        return result
    }

    /// The value of the key `error` in JSON.
    var json: JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("code", .string("\(code)")), ("message", .string(message)),
            ("hint", hint.map(JSONValue.string) ?? .null),
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
        if !attempts.isEmpty { members.append(("attempts", .array(attempts.map(JSONValue.string)))) }
        return .object(members)
    }
}
