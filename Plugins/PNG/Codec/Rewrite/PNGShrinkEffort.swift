internal import CoderPluginKit

/// The number of trials for images of different sizes.
///
/// Evidence: 470 images of up to 14 MB, each in every way. For rows of 64 kB to 1 MB, the chosen way is on average 0.25
/// % longer than the best with trials at level 1, and 0.02 % with level 6. Below 64 kB it is 2 % even at level 6, and
/// compressing several ways costs little. The ways omitted above cost 0.1 %.
struct PNGShrinkEffort {
    typealias Strategy = RowShrinker.Strategy

    /// Strategies tried for every form.
    var strategies: [Strategy] = [.none, .sub, .size, .entropy, .pairs, .history]
    /// Strategies tried in addition for the best forms of noisy images, where they are worth the time.
    var noisy: [Strategy] = [.average, .context]
    /// libdeflate's level of a trial of all ways.
    var trialLevel = 1
    /// libdeflate's level of a second trial of the best ones; nil without.
    var secondLevel: Int? = 6
    /// The bytes of rows used for the trials.
    var sampleBytes = (first: 3 << 19, second: 3 << 20)
    /// The number of ways that are compressed completely.
    var finals = 1
    /// libdeflate's level for these; if the result is above this part of the bytes, the lower level, which is as good
    /// for noise.
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
    /// The chosen form of samples, and their stream.
    struct Result {
        var layout: PNGLayout
        var strategy: Strategy
        var stream: [UInt8]
    }

    /// Compresses candidates with an effort that depends on their size; nil if there are none.
    ///
    /// - Parameter strategies: the strategies to try; nil for all.
    /// - Parameter extra: the bytes that a form needs in addition to the rows.
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

    /// Tries all ways on a sample; returns the shortest first.
    private func first(
        _ candidates: [PNGCandidate], _ strategies: [Strategy], _ effort: PNGShrinkEffort, _ extra: (PNGLayout) -> Int
    ) throws(CoderError) -> [Choice] {
        let parts = Self.sample(of: candidates, bytes: effort.sampleBytes.first)
        var choices: [Choice] = []
        var last: [Choice] = []
        for candidate in candidates {
            // Without a filter the order of a palette does not matter, and good filters are the same for all orders.
            let tried =
                candidate.isReordered ? last.map(\.strategy).filter { $0 != .none }.prefix(3) : strategies[...]
            let found = try self.choices(
                for: candidate, Array(tried), level: effort.trialLevel, parts: parts, extra: extra(candidate.layout))
            if !candidate.isReordered { last = found.sorted { $0.length < $1.length } }
            choices += found
        }
        return choices.sorted { $0.length < $1.length }
    }

    /// Adds the ways that are worth their time only for noise.
    private func noisy(
        _ choices: [Choice], _ effort: PNGShrinkEffort, _ extra: (PNGLayout) -> Int
    ) throws(CoderError) -> [Choice] {
        let candidate = choices[0].candidate
        let parts = Self.sample(of: [candidate], bytes: effort.sampleBytes.first)
        let added = try self.choices(
            for: candidate, effort.noisy, level: effort.trialLevel, parts: parts, extra: extra(candidate.layout))
        return (choices + added).sorted { $0.length < $1.length }
    }

    /// Tries the best ways again, on more rows.
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
