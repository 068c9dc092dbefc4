import HostSystem

/// Decides whether the trust policy allows a plugin.
///
/// | policy | the host uses |
/// |---|---|
/// | `any` | every plugin |
/// | `owned` | plugins in a trusted place, in the trust store, or signed by a trusted key |
/// | `signed` | plugins signed by a trusted key, and plugins in the host's own installation if it belongs to root |
///
/// `owned` also refuses an invalid or revoked signature, wherever the plugin is: the file was changed, or the key is
/// compromised.
struct PluginTrust {
    package let policy: TrustPolicy
    package let store: TrustStore
    /// The folders of the installation: a user who can change them can change the program too.
    package let installation: Set<FileIdentity>

    package init(_ search: PluginSearch) {
        policy = search.trustPolicy
        store = TrustStore(folders: search.trustDirectories)
        installation =
            policy < .signed
            ? []
            : Set(
                search.directories.filter { $0.origin == .relative }.compactMap { PluginFolder($0.path)?.key })
    }

    /// The input of the decision.
    struct Candidate {
        package var path: String
        package var manifest: PluginManifest?
        package var file: File
        package var status: FileStatus
        /// The reason why other users could have written the file; nil if they cannot.
        var doubt: PathTrust.Doubt?
        package var folder: PluginFolder
        /// Whether it has libraries that are found through `$ORIGIN`.
        package var needsOrigin: Bool
        /// The bytes of `libcoder-x.so.sig`; nil if it does not exist.
        package var signature: [UInt8]?
        var hasSignature: Bool
    }

    package struct Verdict {
        package var tier: PluginRecord.Tier
        package var grounds: PluginRecord.Grounds
        package var signature = SignatureState.none
        /// The reason for refusing the plugin; nil if it is allowed.
        package var refusal: PluginStatus?
        package var warnings: [String] = []
    }

    package func judge(_ candidate: Candidate) -> Verdict {
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

    /// Returns the status of a plugin that the policy refuses; nil if it is allowed.
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
                remedy: "download the plugin and its .sig again, or remove \(candidate.path).sig")
        default: break
        }
        if policy == .signed, !verdict.signature.isValid {
            if isRoots, let key = candidate.folder.key, installation.contains(key) { return nil }
            return PluginStatus(
                .unsigned, reason: verdict.signature.flaw ?? "it is not signed, and the policy requires a signature",
                remedy: verdict.signature.key.map {
                    "get the key \($0) from a trusted source, and: coderhost plugin trust KEY.pub"
                }
                    ?? "sign it with coderhost plugin sign, or use --trust owned")
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
        // The trust store covers the file, but not the libraries beside it.
        return candidate.needsOrigin ? Self.untrusted(doubt) : nil
    }

    private static func untrusted(_ doubt: PathTrust.Doubt) -> PluginStatus {
        PluginStatus(.untrustedPath, reason: "\(doubt.component): \(doubt.reason)", remedy: doubt.remedy)
    }
}
