import CCoderPlugin

/// A prompt return after a cancellation.
enum CancelChecks {
    static let all = [decoding, encoding]
    /// A cancelled call must return within 100 ms; the limit here is longer, for unoptimized builds and slow machines.
    private static let patience: UInt64 = 400_000_000

    static let decoding = Check(
        "cancel.decode", "a cancelled decoder returns CPI_CANCELLED promptly and can be closed",
        needs: ["lifecycle.decode", "memory.released"]
    ) { context throws(Stop) in
        try context.eachImage([.large, .small, .given]) { coder, bytes throws(Stop) in
            let whole = try context.decode(coder, bytes)
            try pace(coder, whole.meter)
            for number in places(whole.meter.polls.calls) {
                var setup = DecodeSetup()
                setup.policy.stopsAtPoll = number
                let start = threadNanoseconds()
                let outcome = try context.decode(coder, bytes, setup)
                try judge(coder, number, outcome.failure, outcome.meter, since: start)
            }
        }
    }

    static let encoding = Check(
        "cancel.encode", "a cancelled encoder returns CPI_CANCELLED promptly and can be closed",
        needs: ["lifecycle.encode", "memory.released"]
    ) { context throws(Stop) in
        try context.eachEncoder { coder throws(Stop) in
            var setup = EncodeSetup()
            setup.options = context.quickOptions(coder.id)
            let images = context.images(coder, width: 200, height: 256)
            let whole = try context.encode(coder, images, setup)
            try pace(coder, whole.meter)
            for number in places(whole.meter.polls.calls) {
                setup.policy.stopsAtPoll = number
                let start = threadNanoseconds()
                let outcome = try context.encode(coder, images, setup)
                try judge(coder, number, outcome.failure, outcome.meter, since: start)
            }
        }
    }

    private static func places(_ polls: Int) -> [Int] {
        polls == 0 ? [] : Array(Set([0, 1, polls / 2, polls - 1]).filter { $0 < polls }).sorted()
    }

    private static func pace(_ coder: Subject.Coder, _ meter: Services.Meter) throws(Stop) {
        if meter.polls.longestGap > patience {
            throw .fault(
                "\(coder.id) worked \(meter.polls.longestGap / 1_000_000) ms without polling; it polled \(meter.polls.calls) times",
                .poll, try: "call poll every 64 rows")
        }
    }

    private static func judge(
        _ coder: Subject.Coder, _ number: Int, _ failure: Answer?, _ meter: Services.Meter, since start: UInt64
    ) throws(Stop) {
        // Another thread may have polled less often this time.
        if meter.polls.stoppedAt == 0 { return }
        guard let failure else {
            throw .fault(
                "\(coder.id) went on to the end although poll number \(number) answered CPI_CANCELLED", .latency,
                try: "check the result of poll")
        }
        if failure.status != CPI_CANCELLED {
            throw .fault(
                "\(coder.id), when poll number \(number) answered CPI_CANCELLED: \(failure.text)", .latency,
                try: "answer CPI_CANCELLED")
        }
        if meter.polls.afterStop > 8 {
            throw .fault(
                "\(coder.id) polled \(meter.polls.afterStop) more times after poll had answered CPI_CANCELLED",
                .latency,
                try: "return at the first answer other than CPI_CONTINUE")
        }
        try MemoryChecks.settled(meter, coder, "after a cancel")
    }
}
