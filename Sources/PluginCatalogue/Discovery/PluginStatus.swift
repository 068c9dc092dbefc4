/// Whether the host uses a plugin and, if not, the reason and the remedy.
public struct PluginStatus: Sendable, Hashable {
    /// The state of a plugin file.
    package enum State: String, Sendable, Hashable, CaseIterable {
        /// Usable; none of its code has run yet.
        case ready
        /// Loaded into this process.
        case loaded
        case disabled
        case shadowed
        case abiTooNew
        case abiTooOld
        case wrongArchitecture
        case notAPlugin
        case noManifest
        case badManifest
        case manifestMismatch
        case missingLibrary
        case untrustedPath
        /// Its segments or libraries would weaken the process that loads it.
        case unsafeELF
        /// The policy requires a signature by a trusted key, and there is none.
        case unsigned
        case badSignature
        /// It failed too often and is disabled for a while.
        case quarantined
        case initFailed

        /// The name in messages and in JSON, for example `abi-too-new`.
        package var word: String {
            switch self {
            case .abiTooNew: "abi-too-new"
            case .abiTooOld: "abi-too-old"
            case .wrongArchitecture: "wrong-architecture"
            case .notAPlugin: "not-a-plugin"
            case .noManifest: "no-manifest"
            case .badManifest: "bad-manifest"
            case .manifestMismatch: "manifest-mismatch"
            case .missingLibrary: "missing-library"
            case .untrustedPath: "untrusted-path"
            case .unsafeELF: "unsafe-elf"
            case .badSignature: "bad-signature"
            case .initFailed: "init-failed"
            default: rawValue
            }
        }
    }

    /// The state of the plugin.
    package var state: State
    /// The reason; empty if there is nothing to explain.
    public var reason: String
    /// The action that would make the plugin usable.
    public var remedy: String

    /// Creates a status.
    package init(_ state: State, reason: String = "", remedy: String = "") {
        self.state = state
        self.reason = reason
        self.remedy = remedy
    }

    /// Whether the host can use the plugin.
    public var isUsable: Bool { state == .ready || state == .loaded }
}
