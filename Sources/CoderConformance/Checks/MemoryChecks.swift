import CCoderPlugin

/// Refused allocations, reported memory, leaks.
enum MemoryChecks {
    static let first = [released, growth]
    static let all = [allocations, budget]
    private static let needs = ["lifecycle.decode", "determinism.decode", "frames.facts", "memory.released"]

    /// What must hold once a session is closed.
    static func settled(_ meter: Services.Meter, _ coder: Subject.Coder, _ place: String) throws(Stop) {
        if let wrong = meter.wrongRelease {
            throw .fault("\(coder.id), \(place): \(wrong)", .release, try: "try it under AddressSanitizer")
        }
        if !meter.live.isEmpty {
            throw .fault(
                "\(coder.id), \(place): \(meter.live.count) blocks of \(meter.liveBytes) bytes were not released",
                .close, try: "release in close what the session took")
        }
        if meter.budget != 0 {
            throw .fault(
                "\(coder.id), \(place): \(meter.budget) bytes that were reported were never given back", .budget,
                try: "call budget with the negative number when the memory is free")
        }
        if let call = meter.afterClose {
            throw .fault(
                "\(coder.id), \(place): \(call) was called after close", .close, try: "end everything in close")
        }
    }

    static let released = Check(
        "memory.released", "closed sessions have released what they took", needs: ["lifecycle.decode"]
    ) { workshop throws(Stop) in
        try workshop.eachPicture { coder, bytes throws(Stop) in
            try settled(try workshop.decode(coder, bytes).meter, coder, "after a picture")
            let half = Array(bytes.prefix(bytes.count / 2))
            try settled(try workshop.decode(coder, half).meter, coder, "after half a picture")
            var setup = DecodeSetup()
            setup.policy.stopsAtPoll = 0
            try settled(try workshop.decode(coder, bytes, setup).meter, coder, "after a cancel")
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try workshop.eachEncoder { coder throws(Stop) in
                var setup = EncodeSetup()
                setup.options = workshop.quickOptions(coder.id)
                let pictures = workshop.pictures(coder, width: 20, height: 12)
                try settled(try workshop.encode(coder, pictures, setup).meter, coder, "after encoding")
                setup.room = 8
                try settled(try workshop.encode(coder, pictures, setup).meter, coder, "after a full output")
            }
        }
    }

    static let allocations = Check(
        "memory.allocations", "allocations may be refused, whichever it is", needs: needs,
        crash: Fault(
            what: "allocate had answered NULL", rule: .allocate,
            remedy: "look at what allocate answers, and answer CPI_NO_MEMORY")
    ) { workshop throws(Stop) in
        func judge(_ coder: Subject.Coder, _ number: Int, _ failure: Answer?, isSame: Bool) throws(Stop) {
            if failure == nil, !isSame {
                throw .fault(
                    "\(coder.id) answers CPI_OK and something else although allocation \(number) was refused",
                    .allocate,
                    try: "answer CPI_NO_MEMORY")
            }
            if let failure, failure.status != CPI_NO_MEMORY, failure.status != CPI_LIMIT {
                throw .fault(
                    "\(coder.id), when allocation \(number) was refused: \(failure.text)", .noMemory,
                    try: "answer CPI_NO_MEMORY")
            }
        }
        try workshop.eachPicture { coder, bytes throws(Stop) in
            let whole = try workshop.decode(coder, bytes)
            for number in InputChecks.lengths(
                whole.meter.allocations, first: 40, more: workshop.effort.pick(20, 400))
            {
                for once in [true, false] {
                    var setup = DecodeSetup()
                    setup.policy.failsAllocation = number
                    setup.policy.failsOnce = once
                    let outcome = try workshop.decode(coder, bytes, setup)
                    try judge(coder, number, outcome.failure, isSame: outcome.pixels == whole.pixels)
                    try settled(outcome.meter, coder, "when allocation \(number) was refused")
                }
            }
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try workshop.eachEncoder { coder throws(Stop) in
                var setup = EncodeSetup()
                setup.options = workshop.quickOptions(coder.id)
                let pictures = workshop.pictures(coder, width: 16, height: 10)
                let whole = try workshop.encode(coder, pictures, setup)
                for number in InputChecks.lengths(whole.meter.allocations, first: 20, more: 10) {
                    setup.policy.failsAllocation = number
                    let outcome = try workshop.encode(coder, pictures, setup)
                    try judge(coder, number, outcome.failure, isSame: outcome.bytes == whole.bytes)
                    try settled(outcome.meter, coder, "encoding, when allocation \(number) was refused")
                }
            }
        }
    }

    static let budget = Check(
        "memory.budget", "memory that is refused is not taken", needs: needs
    ) { workshop throws(Stop) in
        var reports = 0
        func judge(_ coder: Subject.Coder, _ number: Int, _ failure: Answer?, _ meter: Services.Meter) throws(Stop) {
            guard meter.refusedBudgets > 0 else { return }
            guard let failure else {
                throw .fault(
                    "\(coder.id) went on although budget had answered CPI_LIMIT to report \(number)", .budgetRefused,
                    try: "look at what budget answers")
            }
            if failure.status != CPI_LIMIT, failure.status != CPI_NO_MEMORY {
                throw .fault(
                    "\(coder.id), when budget answered CPI_LIMIT to report \(number): \(failure.text)", .budgetRefused,
                    try: "answer CPI_LIMIT")
            }
            try settled(meter, coder, "when budget refused")
        }
        try workshop.eachPicture([.large, .small, .given]) { coder, bytes throws(Stop) in
            let whole = try workshop.decode(coder, bytes)
            reports += whole.meter.budgets
            for number in InputChecks.lengths(whole.meter.budgets, first: 10, more: 10) {
                var setup = DecodeSetup()
                setup.policy.refusesBudget = number
                let outcome = try workshop.decode(coder, bytes, setup)
                try judge(coder, number, outcome.failure, outcome.meter)
            }
        }
        if reports == 0 { throw .skip("it reports no memory of its own") }
    }

    static let growth = Check(
        "memory.growth", "memory does not grow from picture to picture", needs: ["lifecycle.decode"]
    ) { workshop throws(Stop) in
        if ProcessState.isSanitized { throw .skip("the sanitizer of this kit holds back what is freed") }
        try workshop.eachPicture { coder, bytes throws(Stop) in
            let count = workshop.effort.pick(40, 1000)
            for _ in 0..<2 { _ = try workshop.decode(coder, bytes) }
            let before = ProcessState.residentBytes
            for _ in 0..<count {
                _ = try workshop.decode(coder, bytes)
                let grown = ProcessState.residentBytes - before
                if grown > 24 << 20 {
                    throw .fault(
                        "\(coder.id) has \(grown >> 20) MiB more than before, after pictures of "
                            + "\(bytes.count) bytes", .close, try: "look for what a session does not give back")
                }
            }
        }
    }
}
