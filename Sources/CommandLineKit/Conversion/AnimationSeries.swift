import CoderHost
import ImageModel

/// The outputs of a series in order: complete ones, and animations that are written together later.
struct AnimationSeries {
    /// An animation that is not written yet.
    private struct Pending {
        /// The place of its outcome.
        var place: Int
        /// The warnings about this output alone.
        var warnings: [String]
    }

    /// The warnings about the input, which every outcome repeats.
    private let known: [String]
    private var places: [ConvertJob.Outcome?] = []
    private var pending: [Pending] = []
    /// The animations to write together.
    private(set) var open: [ConvertJob.OpenOutput] = []
    /// The encoder options of ``open``.
    private(set) var options: [CoderOptions] = []

    init(known: [String]) { self.known = known }

    var isEmpty: Bool { places.isEmpty }

    /// The outcomes in the order of the series.
    var outcomes: [ConvertJob.Outcome] { places.compactMap(\.self) }

    /// Adds a complete output.
    ///
    /// - Parameter before: the warnings before this output, which concern other ones.
    mutating func append(_ outcome: ConvertJob.Outcome, _ before: [String]) {
        var outcome = outcome
        let others = Set(before.dropFirst(known.count))
        outcome.warnings.removeAll(where: others.contains)
        places.append(outcome)
    }

    /// Adds an animation to write later.
    ///
    /// - Parameters:
    ///   - before: the warnings before this output.
    ///   - choose: returns the options of the encoder, and warnings about options without effect.
    mutating func append(
        _ output: ConvertJob.OpenOutput, _ encoder: CoderDescriptor, _ before: [String],
        _ choose: (CoderDescriptor) throws(CoderError) -> (known: CoderOptions, warnings: [String])
    ) throws(CoderError) {
        open.append(output)
        let chosen = try choose(encoder)
        options.append(chosen.known)
        let own = output.decoding.session.context.warnings.dropFirst(before.count)
        pending.append(Pending(place: places.count, warnings: own + chosen.warnings))
        places.append(nil)
    }

    /// Records the next of the open animations as written.
    ///
    /// - Parameter shared: warnings about the frames, for the first animation.
    mutating func complete(_ outcome: ConvertJob.Outcome, _ warnings: [String], shared: [String]) {
        var outcome = outcome
        let output = pending.removeFirst()
        outcome.warnings = known + output.warnings + shared + warnings
        places[output.place] = outcome
    }

    /// Forgets the open animations after they are written.
    mutating func clear() { (open, options) = ([], []) }
}
