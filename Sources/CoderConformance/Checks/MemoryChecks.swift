import CCoderPlugin

/// Refused allocations, reported memory, leaks.
enum MemoryChecks {
    static let first = [released, growth]
    static let all = [allocations, budget]
    private static let needs = ["lifecycle.decode", "determinism.decode", "frames.facts", "memory.released"]

    /// Checks a session's memory after it is closed.
    static func settled(_ meter: Services.Meter, _ coder: Subject.Coder, _ place: String) throws(Stop) {
        if let wrong = meter.memory.wrongRelease {
            throw .fault("\(coder.id), \(place): \(wrong)", .release, try: "try it under AddressSanitizer")
        }
        if !meter.memory.live.isEmpty {
            throw .fault(
                "\(coder.id), \(place): \(meter.memory.live.count) blocks of \(meter.memory.bytes) bytes were not released",
                .close, try: "release in close what the session took")
        }
        if meter.reports.bytes != 0 {
            throw .fault(
                "\(coder.id), \(place): \(meter.reports.bytes) reported bytes were never released", .budget,
                try: "call budget with a negative number after freeing the memory")
        }
        if let call = meter.afterClose {
            throw .fault(
                "\(coder.id), \(place): \(call) was called after close", .close, try: "end all work in close")
        }
    }

    static let released = Check(
        "memory.released", "closed sessions have released their memory", needs: ["lifecycle.decode"]
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            try settled(try context.decode(coder, bytes).meter, coder, "after an image")
            let half = Array(bytes.prefix(bytes.count / 2))
            try settled(try context.decode(coder, half).meter, coder, "after half an image")
            var setup = DecodeSetup()
            setup.policy.stopsAtPoll = 0
            try settled(try context.decode(coder, bytes, setup).meter, coder, "after a cancel")
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try context.eachEncoder { coder throws(Stop) in
                var setup = EncodeSetup()
                setup.options = context.quickOptions(coder.id)
                let images = context.images(coder, width: 20, height: 12)
                try settled(try context.encode(coder, images, setup).meter, coder, "after encoding")
                setup.output.room = 8
                try settled(try context.encode(coder, images, setup).meter, coder, "after a full output")
            }
        }
    }

    static let allocations = Check(
        "memory.allocations", "any allocation may fail", needs: needs,
        crash: Fault(
            what: "allocate had answered NULL", rule: .allocate,
            remedy: "check the result of allocate, and answer CPI_NO_MEMORY")
    ) { context throws(Stop) in
        func judge(_ coder: Subject.Coder, _ number: Int, _ failure: Answer?, isSame: Bool) throws(Stop) {
            if failure == nil, !isSame {
                throw .fault(
                    "\(coder.id) answers CPI_OK with another result although allocation \(number) failed",
                    .allocate,
                    try: "answer CPI_NO_MEMORY")
            }
            if let failure, failure.status != CPI_NO_MEMORY, failure.status != CPI_LIMIT {
                throw .fault(
                    "\(coder.id), when allocation \(number) failed: \(failure.text)", .noMemory,
                    try: "answer CPI_NO_MEMORY")
            }
        }
        try context.eachImage { coder, bytes throws(Stop) in
            let whole = try context.decode(coder, bytes)
            for number in InputChecks.lengths(
                whole.meter.memory.calls, first: 40, more: context.effort.pick(20, 400))
            {
                for once in [true, false] {
                    var setup = DecodeSetup()
                    setup.policy.failsAllocation = number
                    setup.policy.failsOnce = once
                    let outcome = try context.decode(coder, bytes, setup)
                    try judge(coder, number, outcome.failure, isSame: outcome.pixels == whole.pixels)
                    try settled(outcome.meter, coder, "when allocation \(number) failed")
                }
            }
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try context.eachEncoder { coder throws(Stop) in
                var setup = EncodeSetup()
                setup.options = context.quickOptions(coder.id)
                let images = context.images(coder, width: 16, height: 10)
                let whole = try context.encode(coder, images, setup)
                for number in InputChecks.lengths(whole.meter.memory.calls, first: 20, more: 10) {
                    setup.policy.failsAllocation = number
                    let outcome = try context.encode(coder, images, setup)
                    try judge(coder, number, outcome.failure, isSame: outcome.bytes == whole.bytes)
                    try settled(outcome.meter, coder, "encoding, when allocation \(number) failed")
                }
            }
        }
    }

    static let budget = Check(
        "memory.budget", "memory that the budget denies is not used", needs: needs
    ) { context throws(Stop) in
        var reports = 0
        func judge(_ coder: Subject.Coder, _ number: Int, _ failure: Answer?, _ meter: Services.Meter) throws(Stop) {
            guard meter.reports.refused > 0 else { return }
            guard let failure else {
                throw .fault(
                    "\(coder.id) continued although budget answered CPI_LIMIT to report \(number)", .budgetRefused,
                    try: "check the result of budget")
            }
            if failure.status != CPI_LIMIT, failure.status != CPI_NO_MEMORY {
                throw .fault(
                    "\(coder.id), when budget answered CPI_LIMIT to report \(number): \(failure.text)", .budgetRefused,
                    try: "answer CPI_LIMIT")
            }
            try settled(meter, coder, "when budget answered CPI_LIMIT")
        }
        try context.eachImage([.large, .small, .given]) { coder, bytes throws(Stop) in
            let whole = try context.decode(coder, bytes)
            reports += whole.meter.reports.calls
            for number in InputChecks.lengths(whole.meter.reports.calls, first: 10, more: 10) {
                var setup = DecodeSetup()
                setup.policy.refusesBudget = number
                let outcome = try context.decode(coder, bytes, setup)
                try judge(coder, number, outcome.failure, outcome.meter)
            }
        }
        if reports == 0 { throw .skip("it reports no memory of its own") }
    }

    static let growth = Check(
        "memory.growth", "memory does not grow from image to image", needs: ["lifecycle.decode"]
    ) { context throws(Stop) in
        if ProcessState.isSanitized { throw .skip("the sanitizer of this kit retains freed memory") }
        try context.eachImage { coder, bytes throws(Stop) in
            let count = context.effort.pick(40, 1000)
            for _ in 0..<2 { _ = try context.decode(coder, bytes) }
            let before = ProcessState.residentBytes
            for _ in 0..<count {
                _ = try context.decode(coder, bytes)
                let grown = ProcessState.residentBytes - before
                if grown > 24 << 20 {
                    throw .fault(
                        "\(coder.id) uses \(grown >> 20) MiB more than before, after images of "
                            + "\(bytes.count) bytes", .close, try: "look for memory that a session does not free")
                }
            }
        }
    }
}
