/// Dates and delays in HTTP header fields.
enum HTTPDate {
    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, its variant with dashes, or `asctime`, to seconds since 1970; else nil.
    ///
    /// - Source: RFC 9110 §5.6.7, RFC 6265 §5.1.1.
    static func seconds(_ text: String) -> Int? {
        let words = text.split { !($0.isLetter || $0.isNumber || $0 == ":") }
        var clock: [Int]?
        var day: Int?
        var month: Int?
        var year: Int?
        for word in words {
            if word.contains(":") {
                let parts = word.split(separator: ":").compactMap { Int($0) }
                if clock == nil, parts.count == 3 { clock = parts }
            } else if let number = Int(word) {
                if word.count <= 2, day == nil {
                    day = number
                } else if year == nil {
                    year = word.count <= 2 ? number + (number < 70 ? 2000 : 1900) : number
                }
            } else if month == nil, word.count >= 3 {
                month = Self.months.firstIndex(of: word.prefix(3).lowercased()).map { $0 + 1 }
            }
        }
        guard let clock, let day, let month, let year, (1...31).contains(day), (1601...9999).contains(year),
            (0...23).contains(clock[0]), (0...59).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        // Day number in the proleptic Gregorian calendar, with years that begin in March.
        let y = month <= 2 ? year - 1 : year
        let era = y / 400
        let yearOfEra = y - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return ((days * 24 + clock[0]) * 60 + clock[1]) * 60 + clock[2]
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// Parses a `Retry-After` field: seconds or a date.
    ///
    /// - Source: RFC 9110 §10.2.3.
    static func delay(_ text: String, now: Int) -> Duration? {
        if let seconds = Int(text.filter { $0 != " " }) { return seconds >= 0 ? .seconds(min(seconds, 1 << 30)) : nil }
        return seconds(text).map { .seconds(max(0, $0 - now)) }
    }
}
