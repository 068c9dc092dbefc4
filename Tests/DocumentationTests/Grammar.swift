import CoderHost

/// The grammar of JSON documents in `JSON.md`.
///
///     rule   = name "=" ( choice | members )
///     choice = term { "|" term }
///     term   = object | "[" choice "]" | string literal | number | name
///     object = "{" members "}"
///     members = member { "," member };  member = "key" [ "?" ] ":" choice | name [ "?" ] | "string" ":" choice
struct Grammar: Sendable {
    indirect enum Rule: Sendable {
        case any([Rule])
        case object([Member])
        case list(Rule)
        case literal(JSONValue)
        case name(String)
    }

    enum Member: Sendable {
        case key(String, isOptional: Bool, Rule)
        /// The members of another rule.
        case all(String, isOptional: Bool)
        /// Any number of members with any key.
        case each(Rule)
    }

    /// The rules by section and name; a section's own rules have precedence.
    private var rules: [String: [String: Rule]] = [:]

    init(_ page: Markdown) {
        for block in page.blocks where block.language == "bnf" {
            var tokens = Self.tokens(block.lines.joined(separator: "\n"))[...]
            while tokens.count > 2 {
                let name = tokens.removeFirst()
                precondition(tokens.removeFirst() == "=", "\(name) is not a rule")
                rules[block.heading, default: [:]][name] = Self.body(&tokens)
            }
        }
    }

    private static func tokens(_ text: String) -> [String] {
        text.matches(of: /"[^"]*"|[A-Za-z_]+|[0-9]+|[={}\[\]:,?|]/).map { String($0.output) }
    }

    private static func body(_ tokens: inout ArraySlice<String>) -> Rule {
        let next = tokens.dropFirst().first
        if tokens.first?.hasPrefix("\"") == true, next == ":" || next == "?" { return .object(members(&tokens)) }
        return choice(&tokens)
    }

    private static func choice(_ tokens: inout ArraySlice<String>) -> Rule {
        var terms = [term(&tokens)]
        while tokens.first == "|" {
            tokens.removeFirst()
            terms.append(term(&tokens))
        }
        return terms.count == 1 ? terms[0] : .any(terms)
    }

    private static func term(_ tokens: inout ArraySlice<String>) -> Rule {
        let token = tokens.removeFirst()
        switch token {
        case "{":
            let result = members(&tokens)
            precondition(tokens.removeFirst() == "}", "an object does not end")
            return .object(result)
        case "[":
            let result = choice(&tokens)
            precondition(tokens.removeFirst() == "]", "a list does not end")
            return .list(result)
        default:
            if token.hasPrefix("\"") { return .literal(.string(String(token.dropFirst().dropLast()))) }
            return Int(token).map { .literal(.integer($0)) } ?? .name(token)
        }
    }

    private static func members(_ tokens: inout ArraySlice<String>) -> [Member] {
        var result: [Member] = []
        repeat {
            let token = tokens.removeFirst()
            let isOptional = tokens.first == "?"
            if isOptional { tokens.removeFirst() }
            if token == "string", tokens.popFirst(":") {
                result.append(.each(choice(&tokens)))
            } else if token.hasPrefix("\"") {
                precondition(tokens.removeFirst() == ":", "\(token) has no value")
                result.append(.key(String(token.dropFirst().dropLast()), isOptional: isOptional, choice(&tokens)))
            } else {
                result.append(.all(token, isOptional: isOptional))
            }
        } while tokens.popFirst(",")
        return result
    }

    // MARK: Matching

    /// Returns the first difference between a document and a rule of a section; nil if there is none.
    func difference(_ value: JSONValue, from rule: String, in section: String) -> String? {
        difference(value, .name(rule), section, at: rule)
    }

    private func difference(_ value: JSONValue, _ rule: Rule, _ section: String, at place: String) -> String? {
        switch rule {
        case .any(let rules):
            let all = rules.map { difference(value, $0, section, at: place) }
            return all.contains(nil) ? nil : all.compactMap { $0 }.joined(separator: "; or ")
        case .literal(let wanted): return value == wanted ? nil : "\(place): \(value.text) is not \(wanted.text)"
        case .list(let element):
            guard let items = value.array else { return "\(place) is not a list" }
            for (index, item) in items.enumerated() {
                if let found = difference(item, element, section, at: "\(place)[\(index)]") { return found }
            }
            return nil
        case .object(let members):
            guard case .object(let found) = value else { return "\(place) is not an object" }
            var rest = found[...]
            if let problem = difference(&rest, members, section, at: place) { return problem }
            return rest.first.map { "\(place) has \"\($0.key)\", which is unknown or out of order" }
        case .name(let name):
            switch name {
            case "string": return value.string == nil ? "\(place) is not a string" : nil
            case "integer": return value.integer == nil ? "\(place) is not an integer" : nil
            case "number": return value.real == nil ? "\(place) is not a number" : nil
            case "boolean": return value.bool == nil ? "\(place) is not a boolean" : nil
            case "null": return value == .null ? nil : "\(place) is not null"
            default:
                let (rule, home) = find(name, section)
                return difference(value, rule, home, at: place)
            }
        }
    }

    private func difference(
        _ rest: inout ArraySlice<(key: String, value: JSONValue)>, _ members: [Member], _ section: String,
        at place: String
    ) -> String? {
        for member in members {
            switch member {
            case .key(let key, let isOptional, let rule):
                guard rest.first?.key == key else {
                    if isOptional { continue }
                    return "\(place) has \"\(rest.first?.key ?? "nothing")\" instead of \"\(key)\""
                }
                if let found = difference(rest.removeFirst().value, rule, section, at: "\(place).\(key)") {
                    return found
                }
            case .each(let rule):
                while let (key, value) = rest.popFirst() {
                    if let found = difference(value, rule, section, at: "\(place).\(key)") { return found }
                }
            case .all(let name, let isOptional):
                guard case (.object(let more), let home) = find(name, section) else { return "\(name) has no members" }
                if rest.isEmpty, isOptional { continue }
                if let found = difference(&rest, more, home, at: place) { return found }
            }
        }
        return nil
    }

    /// Finds a rule by name, and the section that defines it and the names in it.
    private func find(_ name: String, _ section: String) -> (Rule, String) {
        if let own = rules[section]?[name] { return (own, section) }
        let others = rules.filter { $0.value[name] != nil }
        precondition(others.count == 1, "\(others.count) sections define \(name), which \(section) uses")
        return (others.first!.value[name]!, others.first!.key)
    }
}

extension ArraySlice<String> {
    fileprivate mutating func popFirst(_ token: String) -> Bool {
        guard first == token else { return false }
        removeFirst()
        return true
    }
}
