import CoderHost
import ImageModel

extension FuzzTarget {
    /// Every bundled coder, in this process.
    package static let coders = formats.map { name, cost, mutator in coder(name, cost: cost, mutator: mutator) }

    /// The last part of a coder's id, and what one case costs.
    private static let formats: [(String, Int, (any Mutator)?)] = [
        ("png", 4, PNGMutator()), ("apng", 8, PNGMutator()), ("gif", 4, GIFMutator()), ("jpeg", 8, JPEGMutator()),
        ("webp", 8, RIFFMutator()), ("awebp", 16, RIFFMutator()), ("heif", 32, BoxMutator()), ("avif", 32, BoxMutator()),
        ("farbfeld", 1, nil), ("pam", 1, nil), ("pnm", 1, nil),
    ]

    private static func coder(_ name: String, cost: Int, mutator: (any Mutator)?) -> FuzzTarget {
        let id = ["pam", "pnm"].contains(name) ? "coderhost.\(name)" : "org.coderhost.\(name)"
        return FuzzTarget(
            name, coder: id, cost: cost, seeds: { Seeds.pictures(of: id) + Seeds.found(name) }, mutator: mutator
        ) { bytes throws(Finding) in
            let answer = try Decoding.decode(bytes, forcing: id)
            // Not every time: it doubles the cost.
            var dice = Dice(UInt64(bytes.count))
            guard dice.once(in: 4) else { return }
            let again = try Decoding.decode(bytes, forcing: id)
            if again != answer { throw Finding("\(answer), and then \(again)") }
        }
    }
}
