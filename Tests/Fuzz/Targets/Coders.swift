import CoderHost
import ImageModel

extension FuzzTarget {
    /// The parts that the targets of one format need.
    struct Format: Sendable {
        /// The last part of the coder's id.
        let name: String
        /// The approximate cost of one case, in cases of another target.
        let cost: Int
        /// Damages files of the format.
        var mutator: (any Mutator)?
        /// Combines valid files of the format.
        let splicer: any Mutator

        init(_ name: String, cost: Int, _ mutator: any PartsMutator) {
            (self.name, self.cost, self.mutator, splicer) = (name, cost, mutator, Splicer(mutator))
        }

        init(_ name: String, cost: Int, _ mutator: (any Mutator)?, splicer: any Mutator) {
            (self.name, self.cost, self.mutator, self.splicer) = (name, cost, mutator, splicer)
        }
    }

    static let formats = [
        Format("png", cost: 2, PNGMutator()), Format("apng", cost: 3, PNGMutator()),
        Format("gif", cost: 2, GIFMutator()), Format("jpeg", cost: 3, JPEGMutator()),
        Format("webp", cost: 3, RIFFMutator()), Format("awebp", cost: 4, RIFFMutator()),
        Format("heif", cost: 6, BoxMutator(), splicer: BoxSplicer()),
        Format("avif", cost: 6, BoxMutator(), splicer: BoxSplicer()),
        Format("bmp", cost: 2, BitmapMutator()),
        Format("tiff", cost: 3, TIFFMutator(), splicer: Splicer(DirectoryMutator())),
        Format("qoi", cost: 2, PiecesMutator(headBytes: 14)), Format("tga", cost: 2, PiecesMutator(headBytes: 18)),
        Format("pfm", cost: 2, PiecesMutator(headBytes: 16)),
        Format("hdr", cost: 2, PiecesMutator(headBytes: 64, endingWith: "-Y ")),
        Format("dcx", cost: 2, PiecesMutator(headBytes: 64)),
        Format("pcx", cost: 2, PiecesMutator(headBytes: 128)), Format("sgi", cost: 2, PiecesMutator(headBytes: 512)),
        Format("ras", cost: 2, PiecesMutator(headBytes: 32)), Format("wbmp", cost: 2, PiecesMutator(headBytes: 4)),
        Format("xbm", cost: 2, LinesMutator()), Format("xpm", cost: 2, LinesMutator()),
        Format("ico", cost: 2, PiecesMutator(headBytes: 62)), Format("icons", cost: 2, PiecesMutator(headBytes: 16)),
        Format("jxl", cost: 6, BoxMutator(), splicer: BoxSplicer()),
        Format("jp2", cost: 6, BoxMutator(), splicer: BoxSplicer()),
        Format("exr", cost: 3, PiecesMutator(headBytes: 320)),
        Format("dds", cost: 2, PiecesMutator(headBytes: 148)),
        Format("psd", cost: 2, PiecesMutator(headBytes: 44)),
        Format("farbfeld", cost: 4, nil, splicer: Splicer(RowsMutator())),
        Format("pam", cost: 4, nil, splicer: Splicer(RowsMutator())),
        Format("pnm", cost: 4, nil, splicer: Splicer(RowsMutator())),
    ]

    static func identifier(_ name: String) -> String {
        ["pam", "pnm"].contains(name) ? "coderhost.\(name)" : "org.coderhost.\(name)"
    }

    /// Every bundled coder, in this process.
    package static let coders = formats.map { format in
        let id = identifier(format.name)
        return FuzzTarget(
            format.name, coder: id, cost: format.cost,
            seeds: { Seeds.images(of: id) + Seeds.handmade(format.name) + Seeds.found(format.name) },
            mutator: format.mutator
        ) { bytes throws(Finding) in
            let answer = try Decoding.decode(bytes, forcing: id)
            // Only sometimes: it doubles the cost.
            var dice = Dice(UInt64(bytes.count))
            guard dice.once(in: 4) else { return }
            let again = try Decoding.decode(bytes, forcing: id)
            if again != answer { throw Finding("\(answer), and then \(again)") }
        }
    }
}
