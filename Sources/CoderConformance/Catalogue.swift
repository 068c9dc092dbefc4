/// All checks, in the order in which they are made: what others need comes first.
enum Catalogue {
    static let all: [Check] =
        ManifestChecks.all + LifecycleChecks.first + DeterminismChecks.first + FramesChecks.first
        + SurfaceChecks.first + MemoryChecks.first
        + ManifestChecks.running + ContractChecks.all + NegotiationChecks.all + LifecycleChecks.all + InputChecks.all + MemoryChecks.all
        + CancelChecks.all + LimitChecks.all + DeterminismChecks.all + SurfaceChecks.all + FramesChecks.all
        + ThreadChecks.all + RoundTripChecks.all + ItemChecks.all + AbilityChecks.all + IsolationChecks.all + StateChecks.all

    /// What the groups are about, in the order of the report.
    static let groups: [(name: String, summary: String)] = [
        ("manifest", "the file, its manifest, and what the running plugin says"),
        ("contract", "statuses, values, refusals, regions and bands as the header defines them"),
        ("negotiation", "hosts of other minors, unknown ids, options and flags"),
        ("lifecycle", "sessions from open to close, errors, calls out of sequence"),
        ("input", "cut, damaged, foreign and slowly arriving bytes"),
        ("memory", "refused allocations, reported memory, leaks"),
        ("limits", "what a session may cost"),
        ("cancel", "coming back when asked to stop"),
        ("determinism", "the same bytes every time"),
        ("surface", "nothing but pixels is written"),
        ("frames", "facts, order and skipping of frames"),
        ("threads", "sessions beside each other, and as many threads as declared"),
        ("roundtrip", "what was encoded comes back"),
        ("abilities", "rows, the host's threads, rewriting and transcoding, where the plugin has them"),
        ("isolation", "the same in a process of its own"),
        ("state", "the process is left as it was"),
    ]

    /// The checks that words name, and those they need; nil for a word that names none.
    static func chosen(_ words: [String]) -> Result<[Check], UnknownCheck> {
        if words.isEmpty { return .success(all) }
        var ids: Set<String> = []
        for word in words {
            let found = all.filter { $0.id == word || $0.group == word }
            if found.isEmpty { return .failure(UnknownCheck(word: word)) }
            ids.formUnion(found.map(\.id))
        }
        // Its pictures are what the others work with.
        if all.contains(where: { ids.contains($0.id) && !$0.isStatic }) { ids.insert("lifecycle.encode") }
        var isGrowing = true
        while isGrowing {
            let needed = all.filter { ids.contains($0.id) }.flatMap(\.needs)
            isGrowing = !ids.isSuperset(of: needed)
            ids.formUnion(needed)
        }
        return .success(all.filter { ids.contains($0.id) })
    }
}

struct UnknownCheck: Error {
    var word: String
}
