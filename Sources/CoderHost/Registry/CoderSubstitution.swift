import ImageModel

/// A coder that would be asked before others, and whose plugin cannot be used.
struct AbsentCoder: Sendable {
    let ranked: RankedCoder
    /// Why it cannot be used, for example "libcoder-avif.so is quarantined: …".
    let reason: String
    let remedy: String

    init(_ ranked: RankedCoder, _ record: PluginRecord) {
        let status = record.status
        self.ranked = ranked
        reason = "\(record.fileName) is \(status.state.word)" + (status.reason.isEmpty ? "" : ": \(status.reason)")
        remedy = status.remedy
    }

    /// A coder that was asked and passed the work on.
    init(_ ranked: RankedCoder, _ error: CoderError) {
        self.ranked = ranked
        reason = "\(ranked.descriptor.id) did not take it: \(error.message)"
        remedy = error.hint ?? ""
    }

    /// The warning for a session of `substitute`; nil where that one shows as much, or would have come first anyway.
    func warning(for substitute: RankedCoder) -> String? {
        let losses = ranked.descriptor.capabilities(lackingIn: substitute.descriptor)
        guard !losses.isEmpty, CoderRanking.precedes(ranked, substitute) else { return nil }
        return "\(substitute.descriptor.id) is used, which declares no \(losses.joined(separator: ", ")): \(reason)"
            + (remedy.isEmpty ? "" : "; \(remedy)")
    }
}

extension CoderDescriptor {
    private static let visibleRoles: [(role: CoderRoles, word: String)] = [
        (.animation, "animation"), (.metadata, "metadata"),
    ]
    private static let kinds = ["exif", "xmp", "icc", "iptc", "text"]

    /// What the manifest of this coder declares and that of `other` does not, as far as a result shows it.
    ///
    /// The kinds of metadata are those of encoders; a coder that only decodes declares none.
    fileprivate func capabilities(lackingIn other: CoderDescriptor) -> [String] {
        let missing = Self.visibleRoles.filter { roles.contains($0.role) && !other.roles.contains($0.role) }.map(\.word)
        guard other.roles.writes, !missing.contains("metadata") else { return missing }
        return missing + Self.kinds.filter { carries.contains($0) && !other.carries.contains($0) }
    }
}

extension RegistrySnapshot {
    /// The coders of plugins that cannot be used now, as `judge` ranks them.
    ///
    /// A plugin that an administrator or the user has disabled is not among them: that it is not used is their wish.
    func absentCoders(
        _ judge: (CoderDescriptor) -> (format: ImageFormat?, score: Int?)?
    ) -> [AbsentCoder] {
        plugins.filter { !$0.status.isUsable && $0.status.state != .disabled }.flatMap { record in
            (record.manifest?.coders ?? []).compactMap { coder in
                let descriptor = CoderDescriptor(coder, of: record)
                guard descriptor.priority > 0, let verdict = judge(descriptor) else { return nil }
                return AbsentCoder(
                    RankedCoder(
                        absent: descriptor, format: verdict.format ?? descriptor.formats.first?.id ?? "",
                        score: verdict.score), record)
            }
        }
    }
}
