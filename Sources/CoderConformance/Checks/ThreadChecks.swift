import CCoderPlugin
import CoderHost

/// Sessions beside each other, and as many threads as declared.
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
            remedy: "keep everything of a session in the session, or declare CPI_CONCURRENCY_SERIAL")
    ) { workshop throws(Stop) in
        if try workshop.subject().concurrency == CPI_CONCURRENCY_SERIAL {
            throw .skip("it asks for one thread at a time")
        }
        try workshop.eachPicture { coder, bytes throws(Stop) in
            let wanted = try workshop.decode(coder, bytes).pixels
            var encoded = EncodeSetup()
            encoded.options = workshop.quickOptions(coder.id)
            let pictures = workshop.pictures(coder, width: 24, height: 16)
            let file = coder.encoder == nil ? [] : try workshop.encode(coder, pictures, encoded).bytes
            let faults = Threads.together(4) {
                for _ in 0..<workshop.effort.pick(6, 100) {
                    do throws(Stop) {
                        let outcome = try workshop.decode(coder, bytes)
                        if let place = outcome.failure?.text ?? Difference.first(wanted, outcome.pixels) {
                            return place
                        }
                        if coder.encoder != nil, try workshop.encode(coder, pictures, encoded).bytes != file {
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
                    try: "keep everything of a session in the session, or declare CPI_CONCURRENCY_SERIAL")
            }
        }
    }

    static let count = Check(
        "threads.count", "no more threads than the manifest declares", needs: ["lifecycle.decode"]
    ) { workshop throws(Stop) in
        _ = try workshop.subject()
        let before = ProcessState.threadCount
        var stop: Stop?
        let peak = Threads.peak {
            do throws(Stop) {
                for _ in 0..<3 {
                    try workshop.eachPicture([.large, .small, .given]) { coder, bytes throws(Stop) in
                        _ = try workshop.decode(coder, bytes)
                        guard coder.encoder != nil else { return }
                        var setup = EncodeSetup()
                        setup.options = workshop.quickOptions(coder.id)
                        _ = try workshop.encode(coder, workshop.pictures(coder, width: 120, height: 90), setup)
                    }
                }
            } catch {
                stop = error
            }
        }
        if let stop { throw stop }
        let declared = workshop.manifest.threads
        if peak - before > declared {
            throw .fault(
                "a session started \(peak - before) threads, and the manifest declares \(declared)", .ownThreads,
                try: "set isolation.threads, or start fewer")
        }
    }
}
