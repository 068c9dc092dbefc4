/// Formats byte counts with binary units, the same units as in options: `--max-size 500M` is 500 MiB.
enum ByteText {
    static func of(_ count: Int) -> String {
        var value = Double(count)
        var unit = 0
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        while value >= 1023.95, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = Int((value * 10).rounded())
        return value < 99.95 && tenths % 10 != 0
            ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\(Int(value.rounded())) \(units[unit])"
    }
}
