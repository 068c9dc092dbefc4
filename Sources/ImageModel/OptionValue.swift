/// The value of one coder option.
public enum OptionValue: Sendable, Hashable, CustomStringConvertible {
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    case string(String)
    case bytes([UInt8])

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
/// Keys without a dot are shared by all coders (``OptionKey``); a coder's own keys are `<coder>.<name>`.
public struct CoderOptions: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    public var values: [String: OptionValue]

    public init(_ values: [String: OptionValue] = [:]) { self.values = values }

    public init(dictionaryLiteral elements: (String, OptionValue)...) {
        values = Dictionary(elements) { _, last in last }
    }

    public subscript(key: String) -> OptionValue? {
        get { values[key] }
        set { values[key] = newValue }
    }

    public func bool(_ key: String) -> Bool? {
        switch values[key] {
        case .bool(let value): value
        case .integer(let value): value != 0
        default: nil
        }
    }

    public func integer(_ key: String) -> Int? {
        switch values[key] {
        case .integer(let value): Int(exactly: value)
        case .bool(let value): value ? 1 : 0
        case .real(let value): Int(exactly: value)
        default: nil
        }
    }

    public func real(_ key: String) -> Double? {
        switch values[key] {
        case .real(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }

    public func string(_ key: String) -> String? {
        if case .string(let value) = values[key] { value } else { nil }
    }
}

/// The option keys that mean the same to every coder.
public enum OptionKey {
    /// 0 … 100, real.
    public static let quality = "quality"
    public static let lossless = "lossless"
    /// 0 (fast) … 9 (small), integer.
    public static let effort = "effort"
    /// Threads a coder may use, integer.
    public static let threads = "threads"
    public static let firstFrameOnly = "first-frame-only"
}
