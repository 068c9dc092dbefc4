import CCoderPlugin
import CIsolationWire
import Glibc
import ImageModel

/// What a plugin that runs says of itself; held against what its manifest says.
struct PluginFacts: Sendable, Hashable {
    struct Coder: Sendable, Hashable {
        var id: String
        /// Roles this version has no name for are compared by nobody.
        var roles: CoderRoles
        var decodes: Bool
        var encodes: Bool
        /// What it has of that which it need not have, as `ISO_HAS_…`; only known in a worker.
        var optional: UInt32 = 0
    }

    var id: String
    var version: String
    var abiMinorNeeded: Int
    var coders: [Coder]
    /// Whether it claims to know an extension that does not exist.
    var knowsAll: Bool
    /// A field with a value that only a newer host understands.
    var unknown: String?

    static func roles(_ raw: UInt32) -> CoderRoles {
        let known = CoderRoles.names.reduce(into: CoderRoles()) { $0.insert($1.role) }
        return CoderRoles(rawValue: raw).intersection(known)
    }

    /// The first thing in which it differs from its manifest; nil when it keeps its word.
    func contradiction(with manifest: PluginManifest) -> String? {
        if id != manifest.id { return "it calls itself \(id), its manifest \(manifest.id)" }
        if version != manifest.version { return "it is version \(version), its manifest says \(manifest.version)" }
        if abiMinorNeeded != manifest.abiMinorNeeded {
            return "it needs minor \(abiMinorNeeded), its manifest says \(manifest.abiMinorNeeded)"
        }
        if coders.count != manifest.coders.count {
            return "it has \(coders.count) coders, its manifest \(manifest.coders.count)"
        }
        if knowsAll { return "it claims to know an extension that does not exist" }
        for coder in coders {
            guard let described = manifest.coders.first(where: { $0.id == coder.id }) else {
                return "its coder \(coder.id) is not in its manifest"
            }
            guard coder.roles == described.roles else {
                return "\(coder.id) has the roles \(coder.roles.names.joined(separator: " ")), its manifest says "
                    + described.roles.names.joined(separator: " ")
            }
            guard coder.decodes == coder.roles.contains(.decode), coder.encodes == coder.roles.writes else {
                return "\(coder.id) has no complete table for a role it claims, or one for a role it does not"
            }
        }
        return nil
    }
}

extension PluginFacts {
    /// What a worker reports; names are texts of a fixed field, which end with it.
    init(_ loaded: iso_loaded, coders: [iso_coder]) {
        self.init(
            id: wireText(loaded.id), version: wireText(loaded.version), abiMinorNeeded: Int(loaded.abi_minor_needed),
            coders: coders.map { coder in
                Coder(
                    id: wireText(coder.id), roles: Self.roles(coder.roles), decodes: coder.has_decoder != 0,
                    encodes: coder.has_encoder != 0, optional: coder.decoder_has)
            }, knowsAll: loaded.knows_all != 0,
            unknown: loaded.reserved != 0
                ? "cpi_plugin.reserved"
                : coders.contains { $0.roles & 0xFFFF_0000 != 0 }
                    ? "cpi_coder.roles" : coders.contains { $0.reserved != 0 } ? "the reserved word of a table" : nil)
    }
}

extension PluginRefusal {
    /// A plugin uses what only a newer host understands.
    static func needsNewerHost(_ field: String) -> PluginRefusal {
        PluginRefusal(
            .abiTooNew, "it sets \(field), which needs a newer coderhost",
            "update coderhost, or use an older version of the plugin")
    }
}

extension Confinement {
    init(_ raw: iso_confinement) {
        self.init()
        read(raw)
    }

    /// Takes over what a process reports in which no code of a plugin has run.
    mutating func read(_ raw: iso_confinement) {
        inForce = []
        missing = []
        landlockVersion = Int(raw.landlock_version)
        unsafe withUnsafeBytes(of: raw.state) { states in
            for (index, mechanism) in Mechanism.allCases.enumerated() where index < Int(ISO_MECHANISM_COUNT) {
                let state = unsafe states.load(fromByteOffset: index * 4, as: Int32.self)
                switch state {
                case ISO_IN_FORCE: inForce.append(mechanism)
                case ISO_NOT_YET: missing.append(Missing(mechanism: mechanism, reason: Confinement.notYet))
                case ENOSPC:
                    // The system's own text speaks of disks.
                    let reason = "the limit of namespaces is reached (sysctl user.max_*_namespaces)"
                    missing.append(Missing(mechanism: mechanism, reason: reason))
                default: missing.append(Missing(mechanism: mechanism, reason: SystemError(state).description))
                }
            }
        }
    }
}
