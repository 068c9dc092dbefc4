/// Conversions of dates and times of the Gregorian calendar in UTC.
///
/// - Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin in March, eras have 400 years.
package enum CivilTime {
    /// Formats milliseconds since 1970 as `2026-11-21T20:15:47Z`.
    package static func text(milliseconds: Int) -> String {
        // The upper bound is the year 9999; a file may contain any number.
        let seconds = min(max(milliseconds / 1000, 0), 253_402_300_799)
        let time = seconds % 86_400
        return "\(day(seconds / 86_400))T\(padded(time / 3600)):\(padded(time / 60 % 60)):\(padded(time % 60))Z"
    }

    /// Formats days since 1970 as `2026-11-21`.
    package static func day(_ days: Int) -> String {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let calendarMonth = month < 10 ? month + 3 : month - 9
        let year = yearOfEra + era * 400 + (calendarMonth <= 2 ? 1 : 0)
        return "\(padded(year, 4))-\(padded(calendarMonth))-\(padded(day))"
    }

    /// Returns the days since 1970 of a date like `2026-11-21`; nil if the text is not a date.
    package static func days(_ text: some StringProtocol) -> Int? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.count == 4, parts[1].utf8.count == 2, parts[2].utf8.count == 2,
            parts.allSatisfy({ $0.utf8.allSatisfy { byte in (0x30...0x39).contains(byte) } }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2]), year >= 1970
        else { return nil }
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        // An invalid date such as February 31 becomes another date when it is formatted again.
        return self.day(days) == String(text) ? days : nil
    }

    private static func padded(_ number: Int, _ width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
