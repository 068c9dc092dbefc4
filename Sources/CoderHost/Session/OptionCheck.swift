import HostSystem
package import ImageModel
import PluginCatalogue
package import PluginRuntime

/// Checks options against a coder's schema before any of its code runs.
package enum OptionCheck {
    /// Checks keys, types and ranges of options.
    ///
    /// - Throws: `.invalidArgument` with the valid keys or values.
    package static func examine(_ options: CoderOptions, _ coder: CoderDescriptor) throws(CoderError) {
        for (key, value) in options.values.sorted(by: { $0.key < $1.key }) {
            let possible = coder.options.filter(\.scope.includesEncoding)
            guard let option = possible.first(where: { $0.key == key }) else {
                let known = possible.map(\.key)
                throw .invalidArgument(
                    "\(coder.id) has no option \(key)",
                    hint: nearestKey(key, known).map { "did you mean \($0)?" }
                        ?? (known.isEmpty ? "it has none" : "it has \(known.joined(separator: ", "))"))
            }
            try examine(key, value, option)
        }
    }

    private static func examine(
        _ key: String, _ value: OptionValue, _ option: PluginManifest.Option
    ) throws(CoderError) {
        func fail(_ what: String) -> CoderError {
            let shown = if case .real(let number) = value { JSONValue.real(number).text } else { "\(value)" }
            return .invalidArgument("option \(key): \(shown) \(what)")
        }
        let number: Double?
        switch (option.kind, value) {
        case (.bool, .bool), (.string, .string), (.bytes, .bytes): return
        case (.i64, .integer(let n)): number = Double(n)
        case (.f64, .real(let n)): number = n
        case (.f64, .integer(let n)): number = Double(n)
        case (.enum, .string(let text)):
            guard option.values.contains(text) else {
                throw fail("is not one of \(option.values.joined(separator: ", "))")
            }
            return
        default: throw fail("is \(option.kind.negation)")
        }
        if let number {
            if let minimum = option.minimum, number < minimum { throw fail("is below \(JSONValue.real(minimum).text)") }
            if let maximum = option.maximum, number > maximum { throw fail("is above \(JSONValue.real(maximum).text)") }
        }
    }

    /// Parses the text of an option according to the schema.
    ///
    /// - Throws: `.invalidArgument`.
    package static func parse(
        _ text: String, for key: String, _ coder: CoderDescriptor
    ) throws(CoderError) -> OptionValue {
        guard let option = coder.options.first(where: { $0.key == key }) else {
            // The check of all options names the valid values.
            return .string(text)
        }
        let value: OptionValue?
        switch option.kind {
        case .bool:
            switch text.lowercased() {
            case "true", "yes", "on", "1": value = .bool(true)
            case "false", "no", "off", "0": value = .bool(false)
            default: value = nil
            }
        case .i64: value = Int64(text).map(OptionValue.integer)
        case .f64: value = Double(text).flatMap { $0.isFinite ? .real($0) : nil }
        case .string, .enum: value = .string(text)
        case .bytes: value = .bytes(Array(text.utf8))
        }
        guard let value else { throw .invalidArgument("option \(key): \"\(text)\" is \(option.kind.negation)") }
        return value
    }

    /// Returns the known key closest to a mistyped one, which may lack the prefix of its coder: `progressive`.
    private static func nearestKey(_ key: String, _ known: [String]) -> String? {
        if let exact = known.first(where: { $0.hasSuffix("." + key) }) { return exact }
        if let near = nearest(key, known) { return near }
        let names = known.map { $0.split(separator: ".").last.map(String.init) ?? $0 }
        return nearest(key, names).flatMap { name in names.firstIndex(of: name).map { known[$0] } }
    }

    /// Returns the known word closest to a mistyped one; nil if none is close.
    package static func nearest(_ word: String, _ known: [String]) -> String? {
        let scored = known.map { (distance(Array(word.utf8), Array($0.utf8)), $0) }
        guard let best = scored.min(by: { $0.0 < $1.0 }), best.0 <= max(1, word.utf8.count / 3) else { return nil }
        return best.1
    }

    /// Returns the number of insertions, deletions, replacements and swaps between two words.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var before: [Int] = []
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var next = [i + 1]
            for (j, y) in b.enumerated() {
                var best = min(row[j + 1] + 1, next[j] + 1, row[j] + (x == y ? 0 : 1))
                if i > 0, j > 0, x == b[j - 1], a[i - 1] == y { best = min(best, before[j - 1] + 1) }
                next.append(best)
            }
            before = row
            row = next
        }
        return row[b.count]
    }
}

extension PluginManifest.Option.Kind {
    /// The description of a value with the wrong type.
    fileprivate var negation: String {
        switch self {
        case .bool: "neither true nor false"
        case .i64: "not an integer"
        case .f64: "not a number"
        case .string, .bytes, .enum: "not text"
        }
    }
}
