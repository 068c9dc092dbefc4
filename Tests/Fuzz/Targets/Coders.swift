import CoderHost
import ImageModel

extension FuzzTarget {
    /// Every bundled coder, in this process.
    package static let coders = formats.map { name, cost, mutator in coder(name, cost: cost, mutator: mutator) }

    /// The last part of a coder's id, and what one case costs.
    private static let formats: [(String, Int, (any Mutator)?)] = [
        ("png", 2, PNGMutator()), ("apng", 3, PNGMutator()), ("gif", 2, GIFMutator()), ("jpeg", 3, JPEGMutator()),
        ("webp", 3, RIFFMutator()), ("awebp", 4, RIFFMutator()), ("heif", 6, BoxMutator()), ("avif", 6, BoxMutator()),
        ("farbfeld", 4, nil), ("pam", 4, nil), ("pnm", 4, nil),
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
