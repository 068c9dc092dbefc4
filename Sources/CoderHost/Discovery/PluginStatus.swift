/// Whether a plugin is used, and if not, why and what helps.
public struct PluginStatus: Sendable, Hashable {
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Usable; nothing of it has run yet.
        case ready
        /// Mapped into this process.
        case loaded
        case disabled
        case shadowed
        case abiTooNew
        case abiTooOld
        case wrongArchitecture
        case notAPlugin
        case noManifest
        case badManifest
        case lyingManifest
        case missingLibrary
        case untrustedPath
        /// Its segments or libraries would open a hole in the process that loads it.
        case unsafeELF
        /// The policy asks for a signature, and there is none of a trusted key.
        case unsigned
        case badSignature
        /// It failed too often, and is tried again later.
        case quarantined
        case initFailed

        /// The word shown to people and in JSON, for example `abi-too-new`.
        public var word: String {
            switch self {
            case .abiTooNew: "abi-too-new"
            case .abiTooOld: "abi-too-old"
            case .wrongArchitecture: "wrong-architecture"
            case .notAPlugin: "not-a-plugin"
            case .noManifest: "no-manifest"
            case .badManifest: "bad-manifest"
            case .lyingManifest: "lying-manifest"
            case .missingLibrary: "missing-library"
            case .untrustedPath: "untrusted-path"
            case .unsafeELF: "unsafe-elf"
            case .badSignature: "bad-signature"
            case .initFailed: "init-failed"
            default: rawValue
            }
        }
    }

    public var state: State
    /// Why; empty when there is nothing to explain.
    public var reason: String
    /// What would make it usable.
    public var remedy: String

    public init(_ state: State, reason: String = "", remedy: String = "") {
        self.state = state
        self.reason = reason
        self.remedy = remedy
    }

    public var isUsable: Bool { state == .ready || state == .loaded }
}
