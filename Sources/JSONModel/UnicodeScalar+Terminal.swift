extension UnicodeScalar {
    /// Whether a terminal obeys the scalar instead of showing it: control characters and marks of writing direction.
    package var isTerminalControl: Bool {
        switch value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
