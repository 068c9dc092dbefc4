import CCoderPlugin
import CIsolationWire
import Glibc
import HostSystem
import ImageModel
import PluginCatalogue

/// The properties that a loaded plugin reports, compared with its manifest.
struct PluginFacts: Sendable, Hashable {
    struct Coder: Sendable, Hashable {
        var id: String
        /// The roles known to this version; others are ignored.
        var roles: CoderRoles
        var decodes: Bool
        var encodes: Bool
        /// Its optional functions as `ISO_HAS_…`; known only in a worker.
        var optional: UInt32 = 0
    }

    var id: String
    var version: String
    var abiMinorNeeded: Int
    var coders: [Coder]
    /// Whether it returns a table for an extension that does not exist.
    var knowsAll: Bool
    /// A field with a value that requires a newer host.
    var unknown: String?

    static func roles(_ raw: UInt32) -> CoderRoles {
        let known = CoderRoles.names.reduce(into: CoderRoles()) { $0.insert($1.role) }
        return CoderRoles(rawValue: raw).intersection(known)
    }

    /// Returns the first difference from the manifest; nil if there is none.
    func contradiction(with manifest: PluginManifest) -> String? {
        if id != manifest.id { return "its id is \(id), its manifest declares \(manifest.id)" }
        if version != manifest.version { return "it is version \(version), its manifest declares \(manifest.version)" }
        if abiMinorNeeded != manifest.abi.minorNeeded {
            return "it needs minor \(abiMinorNeeded), its manifest declares \(manifest.abi.minorNeeded)"
        }
        if coders.count != manifest.coders.count {
            return "it has \(coders.count) coders, its manifest declares \(manifest.coders.count)"
        }
        if knowsAll { return "it claims to know an extension that does not exist" }
        for coder in coders {
            guard let described = manifest.coders.first(where: { $0.id == coder.id }) else {
                return "its coder \(coder.id) is not in its manifest"
            }
            guard coder.roles == described.roles else {
                return "\(coder.id) has the roles \(coder.roles.names.joined(separator: " ")), its manifest declares "
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
    /// Reads a worker's report; names are fixed-size text fields.
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
    /// The refusal of a plugin that requires a newer host.
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

    /// Reads a report of a process in which no plugin code has run.
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
                    // The system's error text for this mentions disks.
                    let reason = "the namespace limit is reached (sysctl user.max_*_namespaces)"
                    missing.append(Missing(mechanism: mechanism, reason: reason))
                default: missing.append(Missing(mechanism: mechanism, reason: SystemError(state).description))
                }
            }
        }
    }
}
