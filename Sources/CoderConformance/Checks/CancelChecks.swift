import CCoderPlugin

/// Coming back when asked to stop.
enum CancelChecks {
    static let all = [decoding, encoding]
    /// A cancelled call comes back within 100 ms; this is more, for builds that are not optimised and slow machines.
    private static let patience: UInt64 = 400_000_000

    static let decoding = Check(
        "cancel.decode", "a decoder comes back soon, says CPI_CANCELLED and can be closed",
        needs: ["lifecycle.decode", "memory.released"]
    ) { workshop throws(Stop) in
        try workshop.eachPicture([.large, .small, .given]) { coder, bytes throws(Stop) in
            let whole = try workshop.decode(coder, bytes)
            try pace(coder, whole.meter)
            for number in places(whole.meter.polls) {
                var setup = DecodeSetup()
                setup.policy.stopsAtPoll = number
                let start = threadNanoseconds()
                let outcome = try workshop.decode(coder, bytes, setup)
                try judge(coder, number, outcome.failure, outcome.meter, since: start)
            }
        }
    }

    static let encoding = Check(
        "cancel.encode", "an encoder comes back soon, says CPI_CANCELLED and can be closed",
        needs: ["lifecycle.encode", "memory.released"]
    ) { workshop throws(Stop) in
        try workshop.eachEncoder { coder throws(Stop) in
            var setup = EncodeSetup()
            setup.options = workshop.quickOptions(coder.id)
            let pictures = workshop.pictures(coder, width: 200, height: 256)
            let whole = try workshop.encode(coder, pictures, setup)
            try pace(coder, whole.meter)
            for number in places(whole.meter.polls) {
                setup.policy.stopsAtPoll = number
                let start = threadNanoseconds()
                let outcome = try workshop.encode(coder, pictures, setup)
                try judge(coder, number, outcome.failure, outcome.meter, since: start)
            }
        }
    }

    private static func places(_ polls: Int) -> [Int] {
        polls == 0 ? [] : Array(Set([0, 1, polls / 2, polls - 1]).filter { $0 < polls }).sorted()
    }

    private static func pace(_ coder: Subject.Coder, _ meter: Services.Meter) throws(Stop) {
        if meter.longestGap > patience {
            throw .fault(
                "\(coder.id) worked \(meter.longestGap / 1_000_000) ms without asking; it asked \(meter.polls) times",
                .poll, try: "call poll every 64 rows")
        }
    }

    private static func judge(
        _ coder: Subject.Coder, _ number: Int, _ failure: Answer?, _ meter: Services.Meter, since start: UInt64
    ) throws(Stop) {
        // Another thread may have asked less often this time.
        if meter.stoppedAt == 0 { return }
        guard let failure else {
            throw .fault(
                "\(coder.id) went on to the end although poll number \(number) answered CPI_CANCELLED", .latency,
                try: "look at what poll answers")
        }
        if failure.status != CPI_CANCELLED {
            throw .fault(
                "\(coder.id), when poll number \(number) answered CPI_CANCELLED: \(failure.text)", .latency,
                try: "answer CPI_CANCELLED")
        }
        if meter.pollsAfterStop > 8 {
            throw .fault(
                "\(coder.id) asked \(meter.pollsAfterStop) times more after poll had answered CPI_CANCELLED", .latency,
                try: "leave at the first answer that is not CPI_CONTINUE")
        }
        try MemoryChecks.settled(meter, coder, "after a cancel")
    }
}
