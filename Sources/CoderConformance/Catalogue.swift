/// All checks, in the order of execution: checks that others need come first.
enum Catalogue {
    static let all: [Check] =
        ManifestChecks.all + LifecycleChecks.first + DeterminismChecks.first + FramesChecks.first
        + SurfaceChecks.first + MemoryChecks.first
        + ManifestChecks.running + ContractChecks.all + NegotiationChecks.all + LifecycleChecks.all + InputChecks.all
        + MemoryChecks.all
        + CancelChecks.all + LimitChecks.all + DeterminismChecks.all + SurfaceChecks.all + FramesChecks.all
        + ThreadChecks.all + RoundTripChecks.all + ItemChecks.all + AbilityChecks.all + IsolationChecks.all
        + StateChecks.all

    /// The groups with their subjects, in the order of the report.
    static let groups: [(name: String, summary: String)] = [
        ("manifest", "the file, its manifest, and the values of the running plugin"),
        ("contract", "statuses, values, refusals, regions and bands as the header defines them"),
        ("negotiation", "hosts of other minors, unknown ids, options and flags"),
        ("lifecycle", "sessions from open to close, errors, calls out of sequence"),
        ("input", "cut, damaged, foreign and slowly arriving bytes"),
        ("memory", "refused allocations, reported memory, leaks"),
        ("limits", "limits on size, memory, time and output"),
        ("cancel", "a prompt return after a cancellation"),
        ("determinism", "the same bytes every time"),
        ("surface", "only pixels are written"),
        ("frames", "facts, order and skipping of frames"),
        ("threads", "sessions in parallel, and no more threads than declared"),
        ("roundtrip", "encoded images decode to the same content"),
        ("abilities", "rows, the host's threads, rewriting and transcoding, where the plugin has them"),
        ("isolation", "the same results in an isolated process"),
        ("state", "the process state stays unchanged"),
    ]

    /// Returns the named checks and those they need; fails for an unknown name.
    static func chosen(_ words: [String]) -> Result<[Check], UnknownCheck> {
        if words.isEmpty { return .success(all) }
        var ids: Set<String> = []
        for word in words {
            let found = all.filter { $0.id == word || $0.group == word }
            if found.isEmpty { return .failure(UnknownCheck(word: word)) }
            ids.formUnion(found.map(\.id))
        }
        // The other checks use the images that this one makes.
        if all.contains(where: { ids.contains($0.id) && !$0.execution.isStatic }) { ids.insert("lifecycle.encode") }
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
