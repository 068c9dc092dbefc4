/// Something that takes bytes from strangers.
///
/// A trap, a crash and a ``Finding`` are what is looked for; an error that has a type is an ordinary answer.
public struct FuzzTarget: Sendable {
    public let name: String
    /// How many cases of another target one of this costs, about.
    public let cost: Int
    /// Valid and nearly valid inputs.
    public let seeds: @Sendable () -> [[UInt8]]
    /// Knows the format of the inputs; nil where nothing has to be right for damage to reach far.
    public let mutator: (any Mutator)?
    /// The id of the coder whose pictures the inputs are.
    public let coder: String?
    public let run: @Sendable ([UInt8]) throws(Finding) -> Void

    public init(
        _ name: String, coder: String? = nil, cost: Int = 1, seeds: @escaping @Sendable () -> [[UInt8]],
        mutator: (any Mutator)? = nil, run: @escaping @Sendable ([UInt8]) throws(Finding) -> Void
    ) {
        self.name = name
        self.coder = coder
        self.cost = cost
        self.seeds = seeds
        self.mutator = mutator
        self.run = run
    }

    /// Case `number` of a run, made from one of the seeds.
    public func input(run: UInt64, number: Int, seeds: [[UInt8]]) -> [UInt8] {
        var dice = Dice(run: run, number: number)
        var bytes = seeds.isEmpty ? dice.bytes(dice.below(64)) : seeds[number % seeds.count]
        let other = seeds.isEmpty ? [] : dice.pick(seeds)
        // The seeds themselves come first.
        if number < seeds.count { return bytes }
        if let mutator, !dice.once(in: 4) {
            mutator.mutate(&bytes, &dice, other: other)
        } else {
            BytesMutator().mutate(&bytes, &dice, other: other)
        }
        return bytes
    }

    /// Every target that runs in one process.
    public static let all: [FuzzTarget] = hostReaders + metadataReaders + pipeline + coders

    /// Every target, also those that start workers.
    package static let known = all + modes
}

/// What must not be: an answer that makes no sense, or two answers to one question.
public struct Finding: Error, CustomStringConvertible {
    public var description: String
    public init(_ description: String) { self.description = description }
}

/// Damages an input so that it gets past the first checks of its format.
public protocol Mutator: Sendable {
    /// - Parameter other: another input of the format, to take parts from.
    func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8])
}
