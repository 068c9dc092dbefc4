/// Code that reads untrusted bytes.
///
/// A run searches for traps, crashes and ``Finding``s; a typed error is an ordinary result.
public struct FuzzTarget: Sendable {
    public let name: String
    /// The approximate cost of one case, in cases of another target.
    public let cost: Int
    /// Valid and nearly valid inputs.
    public let seeds: @Sendable () -> [[UInt8]]
    /// The mutator of the input format; nil if damaged bytes need no valid format.
    public let mutator: (any Mutator)?
    /// The id of the coder whose images the inputs are.
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

    /// Makes case `number` of a run from one of the seeds.
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

    /// Every target, including those that start workers.
    package static let known = all + modes
}

/// A forbidden result: a contradiction, or two results for one input.
public struct Finding: Error, CustomStringConvertible {
    public var description: String
    public init(_ description: String) { self.description = description }
}

/// Damages an input so that it gets past the first checks of its format.
public protocol Mutator: Sendable {
    /// - Parameter other: another input of the format, to take parts from.
    func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8])
}
