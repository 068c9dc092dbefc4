/// Numbers of bytes as people read them, in units of 1000.
enum ByteText {
    static func of(_ count: Int) -> String {
        if count < 1000 { return "\(count) B" }
        var value = Double(count) / 1000
        var unit = 0
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
        while value >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        let tenths = Int((value * 10).rounded())
        return value < 99.95 && tenths % 10 != 0
            ? "\(tenths / 10).\(tenths % 10) \(units[unit])" : "\(Int(value.rounded())) \(units[unit])"
    }
}
