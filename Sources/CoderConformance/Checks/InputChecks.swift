import CCoderPlugin

/// Cut, damaged, foreign and slowly arriving bytes.
enum InputChecks {
    static let all = [truncated, damaged, foreign, growing, partial, reader, failing]
    private static let needs = ["lifecycle.decode", "determinism.decode", "frames.facts", "memory.growth"]

    /// Returns lengths to cut at: every length at the beginning, then evenly distributed ones.
    static func lengths(_ count: Int, first: Int, more: Int) -> [Int] {
        if count <= first + more { return Array(0..<count) }
        return Array(0..<first) + (0..<more).map { first + (count - first) * $0 / more }
    }

    static let truncated = Check(
        "input.truncated", "a file that ends early is an error, at any length", needs: needs
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            let whole = try context.decode(coder, bytes)
            let lengths = lengths(
                bytes.count, first: context.effort.pick(96, 1024), more: context.effort.pick(64, 1000))
            for length in lengths {
                let cut = try context.decode(coder, Array(bytes.prefix(length)))
                if let objection = cut.defects.objection {
                    throw .fault("\(coder.id): \(objection)", .error, try: "fill cpi_error")
                }
                guard let failure = cut.failure else {
                    // The missing bytes may not affect the pixels.
                    if cut.pixels == whole.pixels { continue }
                    throw .fault(
                        "\(coder.id) does not report the missing \(bytes.count - length) of \(bytes.count) bytes",
                        .truncated, try: "answer CPI_TRUNCATED when the source is complete and bytes are missing")
                }
                let expected = [CPI_TRUNCATED, CPI_CORRUPT, CPI_NOT_MINE, CPI_UNSUPPORTED]
                if !expected.contains(failure.status) {
                    throw .fault(
                        "\(coder.id), with \(length) of \(bytes.count) bytes: \(failure.text)", .truncated,
                        try: "answer CPI_TRUNCATED when the source is complete and bytes are missing")
                }
            }
        }
    }

    static let damaged = Check(
        "input.damaged", "flipped bits cause an error or another image, nothing worse",
        needs: needs + ["surface.guards", "memory.released"],
        crash: Fault(
            what: "the data was damaged", rule: .corrupt,
            remedy: "check every number of the file before it is used; try it under AddressSanitizer")
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            var dice = RandomGenerator(42)
            for _ in 0..<context.effort.pick(120, 5000) {
                var data = bytes
                for _ in 0...dice.below(3) {
                    let at = dice.below(2) == 0 ? dice.below(min(64, data.count)) : dice.below(data.count)
                    data[at] ^= UInt8(1 << dice.below(8))
                }
                let outcome = try context.decode(coder, data)
                if let objection = outcome.defects.objection {
                    throw .fault("\(coder.id): \(objection)", .error, try: "fill cpi_error")
                }
                if let stray = outcome.stray {
                    throw .fault("\(coder.id), with damaged data, wrote to \(stray)", .row, try: "check every size")
                }
                if let failure = outcome.failure, [CPI_MISUSE, CPI_CANCELLED, CPI_DEADLINE].contains(failure.status) {
                    throw .fault("\(coder.id), with damaged data: \(failure.text)", .corrupt, try: "answer CPI_CORRUPT")
                }
                try MemoryChecks.settled(outcome.meter, coder, "after damaged data")
            }
        }
    }

    static let foreign = Check(
        "input.foreign", "bytes that are not an image of its format are rejected", needs: ["lifecycle.decode"]
    ) { context throws(Stop) in
        var dice = RandomGenerator(3)
        let noise = (0..<4096).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
        let inputs: [(String, [UInt8])] = [
            ("no bytes at all", []), ("one byte", [0x89]), ("4096 zeros", [UInt8](repeating: 0, count: 4096)),
            ("noise", noise), ("text", Array(String(repeating: "This is no image. ", count: 40).utf8)),
        ]
        // A format without a signature may accept any bytes.
        for coder in try context.subject().coders where coder.decodes && coder.ending == nil {
            context.board.coder = coder.id
            for (name, bytes) in inputs {
                let outcome = try context.decode(coder, bytes)
                guard let failure = outcome.failure else {
                    throw .fault("\(coder.id) decodes \(name)", .notMine, try: "check the signature in read_header")
                }
                if ![CPI_NOT_MINE, CPI_CORRUPT, CPI_TRUNCATED, CPI_UNSUPPORTED].contains(failure.status) {
                    throw .fault("\(coder.id), given \(name): \(failure.text)", .notMine, try: "answer CPI_NOT_MINE")
                }
            }
        }
    }

    static let growing = Check(
        "input.growing", "an image that arrives byte by byte is the same", needs: needs
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            let whole = try context.decode(coder, bytes)
            // An image given by the user may be large.
            for chunk in Set([max(1, bytes.count / 4000), 7, 1000]) {
                var setup = DecodeSetup()
                setup.source.kind = .growing
                setup.source.chunk = chunk
                let outcome = try context.decode(coder, bytes, setup)
                if let place = outcome.failure?.text ?? Difference.first(whole.pixels, outcome.pixels) {
                    throw .fault(
                        "\(coder.id), fed \(chunk) bytes at a time: \(place)", .needInput,
                        try: "keep the progress, and continue there when the call is repeated")
                }
            }
        }
    }

    static let partial = Check(
        "input.partial", "partial images appear while bytes arrive, and the result is the same", needs: needs
    ) { context throws(Stop) in
        // A small image may have no partial result before the end.
        var silent: [String: Bool] = [:]
        try context.eachImage(
            [.large, .given, .small], where: \.isIncremental,
            otherwise: "no coder has the role "
                + "incremental"
        ) { coder, bytes throws(Stop) in
            let whole = try context.decode(coder, bytes)
            var setup = DecodeSetup()
            setup.source.kind = .growing
            setup.source.chunk = max(1, bytes.count / 16)
            setup.wantsPartial = true
            let outcome = try context.decode(coder, bytes, setup)
            if let place = outcome.failure?.text ?? Difference.first(whole.pixels, outcome.pixels) {
                throw .fault(
                    "\(coder.id), with partial results: \(place)", .needInput, try: "continue in the same surface")
            }
            silent[coder.id] = (silent[coder.id] ?? true) && outcome.partials == 0
        }
        if let coder = silent.first(where: \.value)?.key {
            throw .fault(
                "\(coder) has the role incremental, but gave no partial image of 16 pieces",
                .decode, try: "answer CPI_PARTIAL when rows are new, or remove the role")
        }
    }

    static let reader = Check(
        "input.reader", "an image read piece by piece is the same", needs: needs
    ) { context throws(Stop) in
        for (index, kinds) in [[Sample.Kind.small, .given], [.animation]].enumerated() {
            try SurfaceChecks.optional(index > 0) { () throws(Stop) in
                try context.eachImage(kinds) { coder, bytes throws(Stop) in
                    var setup = DecodeSetup()
                    setup.source.kind = .reader
                    let outcome = try context.decode(coder, bytes, setup)
                    let whole = try context.decode(coder, bytes)
                    if let place = outcome.failure?.text ?? Difference.first(whole.pixels, outcome.pixels) {
                        throw .fault(
                            "\(coder.id), with CPI_SOURCE_READER: \(place)", .readAt,
                            try: "use read_at when source->bytes is NULL")
                    }
                }
            }
        }
    }

    static let failing = Check(
        "input.failing", "a source that becomes unreadable is an error", needs: needs
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            let whole = try context.decode(coder, bytes)
            for number in 0..<context.effort.pick(6, 40) {
                var setup = DecodeSetup()
                setup.source.kind = .reader
                setup.source.failingRead = number
                let outcome = try context.decode(coder, bytes, setup)
                if outcome.failure == nil, outcome.pixels != whole.pixels {
                    throw .fault(
                        "\(coder.id) answers CPI_OK although read_at number \(number) answered CPI_IO", .source,
                        try: "check the result of read_at and return its error")
                }
                if let failure = outcome.failure, failure.status == CPI_MISUSE || failure.status == CPI_NOT_MINE {
                    throw .fault(
                        "\(coder.id), when read_at number \(number) answered CPI_IO: \(failure.text)", .source,
                        try: "answer CPI_IO")
                }
            }
        }
    }
}
