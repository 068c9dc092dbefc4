internal import CoderPluginKit

/// How much is tried for pictures of different sizes.
struct PNGShrinkEffort {
    /// libdeflate's level of a trial of all ways.
    var trialLevel = 1
    /// libdeflate's level of a second trial of the best ones; nil without.
    var secondLevel: Int? = 6
    /// Bytes of rows that the trials are made with.
    var sampleBytes = (first: 3 << 19, second: 4 << 20)
    /// Ways that are compressed in earnest.
    var finals = 1
    /// libdeflate's level of these.
    var level = 11

    /// Evidence: over 470 pictures of up to 14 MB. Trials at level 1 choose ways that are 0.25 % longer than the best in
    /// the mean where rows have 64 kB to 1 MB, those at level 6 by 0.02 %. Below 64 kB it is 2 % even so, and compressing
    /// several ways costs little.
    init(total: Int) {
        if total <= 1 << 17 { level = 12 }
        if total > 1 << 16 { return }
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
        let parts = Self.sample(of: candidates, bytes: effort.sampleBytes.first)
        var choices: [Choice] = []
        for candidate in candidates {
            choices += try self.choices(
                for: candidate, strategies ?? Strategy.allCases, level: effort.trialLevel, parts: parts,
                extra: extra(candidate.layout))
        }
        choices.sort { $0.length < $1.length }
        if let level = effort.secondLevel { choices = try second(choices, level: level, effort, extra) }
        var best: (length: Int, result: Result)?
        for choice in choices.prefix(effort.finals) {
            let stream = try stream(of: choice, level: effort.level)
            let length = stream.count + extra(choice.candidate.layout)
            if length < best?.length ?? .max {
                let layout = choice.candidate.layout
                best = (length, Result(layout: layout, strategy: choice.strategy, stream: stream))
            }
        }
        return best?.result
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
