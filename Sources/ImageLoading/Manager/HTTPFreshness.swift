import ImageModel

/// The time for which a cached response may be used without its server.
///
/// - Source: RFC 9111 §4.2, as a private cache without heuristics; RFC 5861.
/// - Units: seconds; dates since 1970.
struct HTTPFreshness: Sendable, Hashable {
    enum State: Sendable, Hashable {
        case fresh
        /// May be used if it is revalidated in the background.
        case usableWhileRevalidated
        case stale
    }

    /// The date at which the server generated or confirmed the response.
    var generated: Int
    /// The age until which the response is fresh.
    var lifetime: Int
    /// The time after the lifetime in which the response may be used while it is revalidated.
    var whileRevalidated = 0
    /// The time after the lifetime in which the response may be used if the server fails.
    var ifError = 0

    func state(at now: Int) -> State {
        let age = now - generated
        // The clock was set back, so the age is unknown.
        if age < 0 { return .stale }
        if age < lifetime { return .fresh }
        return age < lifetime + whileRevalidated ? .usableWhileRevalidated : .stale
    }

    func isUsableAfterError(at now: Int) -> Bool {
        let age = now - generated
        return age >= 0 && age < lifetime + ifError
    }

    // MARK: Header fields

    /// Reads the lifetime that a response declares; nil if it declares none.
    init?(_ response: ResponseFacts, now: Int) {
        let control = Self.directives(response.headers["cache-control"] ?? "")
        generated = now - Self.initialAge(response, now)
        if control["no-cache"] != nil {
            lifetime = 0
            return
        }
        if let text = control["max-age"] {
            lifetime = Self.seconds(text) ?? 0
        } else if let text = response.headers["expires"] {
            // An invalid date means that the response has expired.
            let date = response.headers["date"].flatMap(HTTPDate.seconds) ?? now
            lifetime = HTTPDate.seconds(text).map { min(max(0, $0 - date), Self.longest) } ?? 0
        } else {
            return nil
        }
        if control["must-revalidate"] != nil { return }
        whileRevalidated = control["stale-while-revalidate"].flatMap(Self.seconds) ?? 0
        ifError = control["stale-if-error"].flatMap(Self.seconds) ?? 0
    }

    /// Returns the lifetime after the server has confirmed the response without a new lifetime.
    func confirmed(by response: ResponseFacts, now: Int) -> HTTPFreshness {
        var result = self
        result.generated = now - Self.initialAge(response, now)
        return result
    }

    private static let longest = 1 << 31

    /// The age at arrival: from `Age` and the duration of the request, or from `Date`.
    ///
    /// - Source: RFC 9111 §4.2.3.
    private static func initialAge(_ response: ResponseFacts, _ now: Int) -> Int {
        let delay = Int(response.timings?.firstByte.components.seconds ?? 0)
        let corrected = (response.headers["age"].flatMap(seconds) ?? 0) + delay
        let apparent = response.headers["date"].flatMap(HTTPDate.seconds).map { now - $0 } ?? 0
        return min(max(0, corrected, apparent), longest)
    }

    private static func seconds(_ text: String) -> Int? {
        let digits = text.trimmed
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return min(Int(digits) ?? longest, longest)
    }

    /// Returns the directives of a `Cache-Control` field in lower case; of equal ones the first.
    static func directives(_ field: String) -> [String: String] {
        var result: [String: String] = [:]
        var isQuoted = false
        // A comma in a quoted value separates nothing.
        let parts = field.split { character in
            if character == "\"" { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
        for part in parts {
            let words = part.split(separator: "=", maxSplits: 1)
            guard let name = words.first.map({ String($0).trimmed.lowercased() }), result[name] == nil else { continue }
            result[name] = words.count == 2 ? String(words[1].filter { $0 != "\"" }) : ""
        }
        return result
    }

    // MARK: Cache entries

    private static let names = ["response-time", "fresh-for", "stale-while-revalidate", "stale-if-error"]

    /// Reads the attributes of a cache entry; nil for an entry without them.
    init?(_ attributes: [String: String]) {
        let numbers = Self.names.map { attributes[$0].flatMap { Int($0) } }
        guard let generated = numbers[0], let lifetime = numbers[1] else { return nil }
        let range = 0...Self.longest
        (self.generated, self.lifetime) = (generated, lifetime)
        (whileRevalidated, ifError) = (numbers[2] ?? 0, numbers[3] ?? 0)
        // Other programs can write entries, too.
        guard (0...1 << 40).contains(generated), range.contains(lifetime), range.contains(whileRevalidated),
            range.contains(ifError)
        else { return nil }
    }

    /// The attributes to store with a cache entry.
    var attributes: [String: String] {
        let numbers = [generated, lifetime, whileRevalidated, ifError]
        return Dictionary(uniqueKeysWithValues: zip(Self.names, numbers.map { "\($0)" }))
    }
}
