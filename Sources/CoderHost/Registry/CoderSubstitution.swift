import ImageModel
import PluginCatalogue
import PluginRuntime

/// A coder with higher precedence whose plugin is unusable.
struct UnusableCoder: Sendable {
    let ranked: RankedCoder
    /// Why it is unusable, for example "libcoder-avif.so is quarantined: …".
    let reason: String
    let remedy: String

    init(_ ranked: RankedCoder, _ record: PluginRecord) {
        let status = record.status
        self.ranked = ranked
        reason = "\(record.fileName) is \(status.state.word)" + (status.reason.isEmpty ? "" : ": \(status.reason)")
        remedy = status.remedy
    }

    /// Creates an entry for a coder that refused the work.
    init(_ ranked: RankedCoder, _ error: CoderError) {
        self.ranked = ranked
        reason = "\(ranked.descriptor.id) refused it: \(error.message)"
        remedy = error.hint ?? ""
    }

    /// Returns the warning for a session of `substitute`; nil if that coder has the same capabilities or a higher
    /// rank.
    func warning(for substitute: RankedCoder) -> String? {
        let losses = ranked.descriptor.capabilities(missingFrom: substitute.descriptor)
        guard !losses.isEmpty, CoderRanking.precedes(ranked, substitute) else { return nil }
        return "\(substitute.descriptor.id) is used instead of \(ranked.descriptor.id), "
            + "without \(losses.joined(separator: ", ")): \(reason)" + (remedy.isEmpty ? "" : "; \(remedy)")
    }
}

extension CoderDescriptor {
    private static let visibleRoles: [(role: CoderRoles, word: String)] = [
        (.animation, "animation"), (.metadata, "metadata"),
    ]
    private static let kinds = ["exif", "xmp", "icc", "iptc", "text"]

    /// Returns the capabilities in this coder's manifest that `other` lacks and that affect the result.
    ///
    /// The metadata kinds apply to encoders; a coder that only decodes declares none.
    fileprivate func capabilities(missingFrom other: CoderDescriptor) -> [String] {
        let missing = Self.visibleRoles.filter { roles.contains($0.role) && !other.roles.contains($0.role) }.map(\.word)
        guard other.roles.writes, !missing.contains("metadata") else { return missing }
        return missing + Self.kinds.filter { output.carries.contains($0) && !other.output.carries.contains($0) }
    }
}

extension RegistrySnapshot {
    /// Returns the unusable coders, ranked by `judge`.
    ///
    /// Disabled plugins are not included: the administrator or user decided not to use them.
    func unusableCoders(
        _ judge: (CoderDescriptor) -> (format: ImageFormat?, score: Int?)?
    ) -> [UnusableCoder] {
        plugins.filter { !$0.status.isUsable && $0.status.state != .disabled }.flatMap { record in
            (record.manifest?.coders ?? []).compactMap { coder in
                let descriptor = CoderDescriptor(coder, of: record)
                guard descriptor.priority > 0, let verdict = judge(descriptor) else { return nil }
                return UnusableCoder(
                    RankedCoder(
                        absent: descriptor, format: verdict.format ?? descriptor.formats.first?.id ?? "",
                        score: verdict.score), record)
            }
        }
    }
}
