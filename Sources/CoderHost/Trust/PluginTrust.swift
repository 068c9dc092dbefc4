/// Decides whether somebody vouches for a plugin, as the policy wants it.
///
/// | policy | used is |
/// |---|---|
/// | `any` | everything |
/// | `owned` | what stands in a trusted place, is vouched for in the trust store, or is signed by a trusted key |
/// | `signed` | what is signed by a trusted key; and what stands in the host's own installation, if that is root's |
///
/// A signature that is there and does not hold is refused by `owned`, too, whatever the place: somebody changed the
/// file, or the key was given away.
struct PluginTrust {
    let policy: TrustPolicy
    let store: TrustStore
    /// Folders that come with the program: whoever can change them can change the program.
    let installation: Set<FileIdentity>

    init(_ configuration: HostConfiguration) {
        policy = configuration.trustPolicy
        store = TrustStore(folders: configuration.trustDirectories)
        installation =
            policy < .signed
            ? []
            : Set(
                configuration.directories.filter { $0.origin == .relative }.compactMap { PluginFolder($0.path)?.key })
    }

    /// What is to be decided about.
    struct Candidate {
        var path: String
        var manifest: PluginManifest?
        var file: File
        var status: FileStatus
        /// Why others could put something there; nil where nobody can.
        var doubt: PathTrust.Doubt?
        var folder: PluginFolder
        /// Whether it has libraries that are found from its own place.
        var needsOrigin: Bool
        /// The bytes of `libcoder-x.so.sig`; nil where there is none.
        var signature: [UInt8]?
        var hasSignature: Bool
    }

    struct Verdict {
        var tier: PluginRecord.Tier
        var grounds: PluginRecord.Grounds
        var signature = SignatureState.none
        /// Why it is not used.
        var refusal: PluginStatus?
        var warnings: [String] = []
    }

    func judge(_ candidate: Candidate) -> Verdict {
        if let doubt = PathTrust.privilege(of: candidate.path, candidate.status) {
            return Verdict(tier: .foreign, grounds: .none, refusal: Self.untrusted(doubt))
        }
        let isPlaced = candidate.doubt == nil
        let isRoots = isPlaced && candidate.folder.chain.isRoots && candidate.status.owner == 0
        var verdict = Verdict(
            tier: isRoots ? .system : isPlaced ? .user : .foreign, grounds: isPlaced ? .place : .none)
        var hash: ContentHash?
        if candidate.hasSignature {
            hash = try? ContentHash(of: candidate.file, size: candidate.status.size)
            verdict.signature =
                hash.map {
                    PluginSignature.examine(candidate.signature, plugin: candidate.manifest?.id, $0, store)
                } ?? .invalid("the file cannot be read")
        }
        if let hash, verdict.signature.isValid {
            verdict.grounds = .content(hash)
            verdict.tier = max(verdict.tier, .signed)
        } else if let flaw = verdict.signature.flaw {
            verdict.warnings.append(flaw)
        }
        verdict.refusal = refusal(candidate, &verdict, hash, isRoots: isRoots)
        if verdict.refusal != nil { verdict.grounds = .none }
        return verdict
    }

    /// Why the policy does not allow it.
    private func refusal(
        _ candidate: Candidate, _ verdict: inout Verdict, _ hash: ContentHash?, isRoots: Bool
    ) -> PluginStatus? {
        if policy == .any {
            if verdict.grounds == .none { verdict.grounds = .policy }
            return nil
        }
        switch verdict.signature {
        case .invalid, .revoked:
            return PluginStatus(
                .badSignature, reason: verdict.signature.flaw ?? "",
                remedy: "get the plugin and its .sig from where they come from again, or remove \(candidate.path).sig")
        default: break
        }
        if policy == .signed, !verdict.signature.isValid {
            if isRoots, let key = candidate.folder.key, installation.contains(key) { return nil }
            return PluginStatus(
                .unsigned, reason: verdict.signature.flaw ?? "nobody signed it, and the policy asks for that",
                remedy: verdict.signature.key.map {
                    "get the key \($0) from whom you trust, and: coderhost plugin trust KEY.pub"
                }
                    ?? "coderhost plugin sign, or allow --trust owned")
        }
        guard let doubt = candidate.doubt else { return nil }
        if !verdict.signature.isValid {
            guard store.hasEntries,
                let hash = hash ?? (try? ContentHash(of: candidate.file, size: candidate.status.size)),
                store.entry(for: hash) != nil
            else { return Self.untrusted(doubt) }
            verdict.grounds = .content(hash)
            verdict.tier = .user
        }
        // The file is vouched for, its neighbours are not.
        return candidate.needsOrigin ? Self.untrusted(doubt) : nil
    }

    private static func untrusted(_ doubt: PathTrust.Doubt) -> PluginStatus {
        PluginStatus(.untrustedPath, reason: "\(doubt.component): \(doubt.reason)", remedy: doubt.remedy)
    }
}
