import CCoderPlugin
import CoderHost

/// Sessions in parallel, and no more threads than declared.
enum ThreadChecks {
    static let all = [together, count]
    private static let needs = [
        "lifecycle.decode", "lifecycle.interleaved", "determinism.decode", "determinism.encode", "frames.facts",
        "memory.growth",
    ]

    static let together = Check(
        "threads.together", "sessions on four threads give the same bytes", needs: needs,
        crash: Fault(
            what: "four sessions ran on four threads", rule: .concurrency,
            remedy: "keep all state of a session in the session, or declare CPI_CONCURRENCY_SERIAL")
    ) { context throws(Stop) in
        if try context.subject().facts.concurrency == CPI_CONCURRENCY_SERIAL {
            throw .skip("it permits only one thread at a time")
        }
        try context.eachImage { coder, bytes throws(Stop) in
            let wanted = try context.decode(coder, bytes).pixels
            var encoded = EncodeSetup()
            encoded.options = context.quickOptions(coder.id)
            let images = context.images(coder, width: 24, height: 16)
            let file = coder.encoder == nil ? [] : try context.encode(coder, images, encoded).bytes
            let faults = Threads.together(4) {
                for _ in 0..<context.effort.pick(6, 100) {
                    do throws(Stop) {
                        let outcome = try context.decode(coder, bytes)
                        if let place = outcome.failure?.text ?? Difference.first(wanted, outcome.pixels) {
                            return place
                        }
                        if coder.encoder != nil, try context.encode(coder, images, encoded).bytes != file {
                            return "it encodes to other bytes"
                        }
                    } catch {
                        return "\(error)"
                    }
                }
                return nil
            }
            if let place = faults.first {
                throw .fault(
                    "\(coder.id), on four threads: \(place)", .concurrency,
                    try: "keep all state of a session in the session, or declare CPI_CONCURRENCY_SERIAL")
            }
        }
    }

    static let count = Check(
        "threads.count", "no more threads than the manifest declares", needs: ["lifecycle.decode"]
    ) { context throws(Stop) in
        _ = try context.subject()
        let before = ProcessState.threadCount
        var stop: Stop?
        let peak = Threads.peak {
            do throws(Stop) {
                for _ in 0..<3 {
                    try context.eachImage([.large, .small, .given]) { coder, bytes throws(Stop) in
                        _ = try context.decode(coder, bytes)
                        guard coder.encoder != nil else { return }
                        var setup = EncodeSetup()
                        setup.options = context.quickOptions(coder.id)
                        _ = try context.encode(coder, context.images(coder, width: 120, height: 90), setup)
                    }
                }
            } catch {
                stop = error
            }
        }
        if let stop { throw stop }
        let declared = context.manifest.isolation.threads
        if peak - before > declared {
            throw .fault(
                "a session started \(peak - before) threads, and the manifest declares \(declared)", .ownThreads,
                try: "set isolation.threads, or start fewer")
        }
    }
}
