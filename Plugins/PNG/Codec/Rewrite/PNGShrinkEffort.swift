internal import CoderPluginKit

/// How much is tried for images of different sizes.
///
/// Evidence: 470 images of up to 14 MB, each in every way. Trials at level 1 choose ways that are 0.25 % longer than the
/// best in the mean where rows have 64 kB to 1 MB, those at level 6 by 0.02 %. Below 64 kB it is 2 % even so, and
/// compressing several ways costs little. The ways left out above cost 0.1 %.
struct PNGShrinkEffort {
    typealias Strategy = RowShrinker.Strategy

    /// Strategies that are tried in every form.
    var strategies: [Strategy] = [.none, .sub, .size, .entropy, .pairs, .history]
    /// Strategies that are tried again with the best of them where pixels are noisy, which makes them worth their time.
    var noisy: [Strategy] = [.average, .context]
    /// libdeflate's level of a trial of all ways.
    var trialLevel = 1
    /// libdeflate's level of a second trial of the best ones; nil without.
    var secondLevel: Int? = 6
    /// Bytes of rows that the trials are made with.
    var sampleBytes = (first: 3 << 19, second: 3 << 20)
    /// Ways that are compressed in earnest.
    var finals = 1
    /// libdeflate's level of these; above this part of the bytes, the lower one, which is as good for noise.
    var level = (fine: 11, coarse: 10, noise: 0.15)

    init(total: Int) {
        if total > 1 << 16 { return }
        level = (fine: 12, coarse: 12, noise: 0.15)
        strategies = Strategy.allCases
        trialLevel = 6
        secondLevel = nil
        finals = 3
    }
}

extension PNGShrinking {
    /// The form of samples that was chosen, and their stream.
    struct Result {
        var layout: PNGLayout
        var strategy: Strategy
        var stream: [UInt8]
    }

    /// Compresses candidates as their size warrants; nil where there are none.
    ///
    /// - Parameter strategies: those to try; nil for all.
    /// - Parameter extra: bytes that a form needs beside the rows.
    func shortest(
        _ candidates: [PNGCandidate], strategies: [Strategy]? = nil, extra: (PNGLayout) -> Int
    ) throws(CoderError) -> Result? {
        guard let least = candidates.map(\.total).min() else { return nil }
        let effort = PNGShrinkEffort(total: least)
        var choices = try first(candidates, strategies ?? effort.strategies, effort, extra)
        let ratio = Double(choices[0].length) / Double(choices[0].candidate.total)
        let isNoisy = ratio > effort.level.noise
        if let level = effort.secondLevel {
            if isNoisy {
                if strategies == nil { choices = try noisy(choices, effort, extra) }
            } else {
                choices = try second(choices, level: level, effort, extra)
            }
        }
        var best: (length: Int, result: Result)?
        let margin = choices[0].length / 64 + 12
        for choice in choices.prefix(effort.finals) where choice.length <= choices[0].length + margin {
            let level = isNoisy ? effort.level.coarse : effort.level.fine
            let stream = try stream(of: choice, level: level)
            let length = stream.count + extra(choice.candidate.layout)
            if length < best?.length ?? .max {
                let layout = choice.candidate.layout
                best = (length, Result(layout: layout, strategy: choice.strategy, stream: stream))
            }
        }
        return best?.result
    }

    /// All ways on a sample, the shortest first.
    private func first(
        _ candidates: [PNGCandidate], _ strategies: [Strategy], _ effort: PNGShrinkEffort, _ extra: (PNGLayout) -> Int
    ) throws(CoderError) -> [Choice] {
        let parts = Self.sample(of: candidates, bytes: effort.sampleBytes.first)
        var choices: [Choice] = []
        var last: [Choice] = []
        for candidate in candidates {
            // Without a filter the order of a palette does not matter, and the filters that suit one order suit another.
            let tried =
                candidate.isReordered ? last.map(\.strategy).filter { $0 != .none }.prefix(3) : strategies[...]
            let found = try self.choices(
                for: candidate, Array(tried), level: effort.trialLevel, parts: parts, extra: extra(candidate.layout))
            if !candidate.isReordered { last = found.sorted { $0.length < $1.length } }
            choices += found
        }
        return choices.sorted { $0.length < $1.length }
    }

    /// The ways so far, and those that are worth their time for noise alone.
    private func noisy(
        _ choices: [Choice], _ effort: PNGShrinkEffort, _ extra: (PNGLayout) -> Int
    ) throws(CoderError) -> [Choice] {
        let candidate = choices[0].candidate
        let parts = Self.sample(of: [candidate], bytes: effort.sampleBytes.first)
        let added = try self.choices(
            for: candidate, effort.noisy, level: effort.trialLevel, parts: parts, extra: extra(candidate.layout))
        return (choices + added).sorted { $0.length < $1.length }
    }

    /// The best ways once more, on more rows.
    private func second(
        _ choices: [Choice], level: Int, _ effort: PNGShrinkEffort, _ extra: (PNGLayout) -> Int
    ) throws(CoderError) -> [Choice] {
        let close = choices.prefix(4).filter { $0.length < choices[0].length + choices[0].length / 32 }
        if close.count < 2 { return choices }
        let parts = Self.sample(of: close.map(\.candidate), bytes: effort.sampleBytes.second)
        var again: [Choice] = []
        for choice in close {
            again += try self.choices(
                for: choice.candidate, [choice.strategy], level: level, parts: parts,
                extra: extra(choice.candidate.layout))
        }
        return again.sorted { $0.length < $1.length }
    }
}
