import CoderPluginKit
import ImageModel

/// One member of the library's `WebPConfig` and the option that sets it.
package struct WebPKnob: Sendable {
    package enum Kind: Sendable { case flag, integer, real }

    package var key: String
    package var kind: Kind
    /// The shim's number.
    var number: UInt32

    init(_ key: String, _ kind: Kind, _ number: UInt32) {
        self.key = key
        self.kind = kind
        self.number = number
    }

    /// Returns the value in the options; nil if it is missing or has another type.
    func value(_ options: CoderOptions) -> Double? {
        switch kind {
        case .flag: options.bool(key).map { $0 ? 1 : 0 }
        case .integer: options.integer(key).map(Double.init)
        case .real: options.real(key)
        }
    }
}
