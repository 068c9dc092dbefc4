/// The value of one coder option.
public enum OptionValue: Sendable, Hashable, CustomStringConvertible {
    /// A switch.
    case bool(Bool)
    /// An integer.
    case integer(Int64)
    /// A number with a fraction.
    case real(Double)
    /// A text, or the name of an enum value.
    case string(String)
    /// Binary data.
    case bytes([UInt8])

    /// The value as text.
    public var description: String {
        switch self {
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .string(let value): value
        case .bytes(let value): "\(value.count) bytes"
        }
    }
}

/// The options of one session, by key.
///
/// Keys without a dot are shared by all coders, such as `quality` and `effort`; a coder's own keys are `<coder>.<name>`.
public struct CoderOptions: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// The values by key.
    package var values: [String: OptionValue]

    /// Creates options from a dictionary.
    public init(_ values: [String: OptionValue] = [:]) { self.values = values }

    /// Creates options from a dictionary literal.
    public init(dictionaryLiteral elements: (String, OptionValue)...) {
        values = Dictionary(elements) { _, last in last }
    }

    /// The value of a key; nil if it is not set.
    public subscript(key: String) -> OptionValue? {
        get { values[key] }
        set { values[key] = newValue }
    }

    /// Returns the value of a key as a Boolean; nil if it is missing or not convertible.
    public func bool(_ key: String) -> Bool? {
        switch values[key] {
        case .bool(let value): value
        case .integer(let value): value != 0
        default: nil
        }
    }

    /// Returns the value of a key as an integer; nil if it is missing or not convertible.
    public func integer(_ key: String) -> Int? {
        switch values[key] {
        case .integer(let value): Int(exactly: value)
        case .bool(let value): value ? 1 : 0
        case .real(let value): Int(exactly: value)
        default: nil
        }
    }

    /// Returns the value of a key as a real number; nil if it is missing or not convertible.
    public func real(_ key: String) -> Double? {
        switch values[key] {
        case .real(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }

    /// Returns the value of a key as a string; nil if it is missing or of another type.
    public func string(_ key: String) -> String? {
        if case .string(let value) = values[key] { value } else { nil }
    }
}

/// The option keys with the same meaning for every coder.
package enum OptionKey {
    /// The quality, a real number from 0 to 100.
    package static let quality = "quality"
    /// Whether to encode losslessly, a Boolean.
    package static let lossless = "lossless"
    /// The compression effort, an integer from 0 (fast) to 9 (small).
    package static let effort = "effort"
    /// The number of threads a coder may use, an integer.
    package static let threads = "threads"
    /// Whether to decode only the first frame, a Boolean.
    package static let firstFrameOnly = "first-frame-only"
    /// Whether to show every scan of an arriving image, a Boolean.
    package static let everyScan = "every-scan"
}
