/// The same bytes every time.
enum DeterminismChecks {
    static let first = [runs]
    static let all = [encoding, threads, processes]

    static let encoding = Check(
        "determinism.encode", "an image encoded twice in one process gives the same file", needs: ["lifecycle.encode"]
    ) { context throws(Stop) in
        try context.eachEncoder { coder throws(Stop) in
            var setup = EncodeSetup()
            setup.options = context.quickOptions(coder.id)
            let images = context.images(coder, width: 37, height: 23)
            let first = try context.encode(coder, images, setup).bytes
            for _ in 0..<2 where try context.encode(coder, images, setup).bytes != first {
                throw .fault(
                    "\(coder.id) encodes the same image to other bytes the next time", .deterministic,
                    try: "look for unset memory, time stamps and state shared between sessions")
            }
        }
    }

    static let threads = Check(
        "determinism.threads", "with any number of threads, pixels and files are the same",
        needs: ["determinism.decode", "determinism.encode"]
    ) { context throws(Stop) in
        func judge(_ coder: Subject.Coder, _ threads: UInt32, _ what: String?) throws(Stop) {
            guard let what else { return }
            throw .fault(
                "\(coder.id), when thread_hint answers \(threads) instead of 1: \(what)", .deterministic,
                try: "divide the work so that its pieces do not depend on their number")
        }
        let counts: [UInt32] = [1, 2, 5, 16]
        try context.eachImage([.large, .small, .given]) { coder, bytes throws(Stop) in
            let all = try counts.map { count throws(Stop) in
                var setup = DecodeSetup()
                setup.policy.threads = count
                return try context.decode(coder, bytes, setup)
            }
            for (count, outcome) in zip(counts, all) {
                try judge(coder, count, outcome.failure?.text ?? Difference.first(all[0].pixels, outcome.pixels))
            }
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try context.eachEncoder { coder throws(Stop) in
                let images = context.images(coder, width: 200, height: 256)
                let all = try counts.map { count throws(Stop) in
                    var setup = EncodeSetup()
                    setup.options = context.quickOptions(coder.id)
                    setup.policy.threads = count
                    return try context.encode(coder, images, setup).bytes
                }
                for (count, bytes) in zip(counts, all) {
                    try judge(coder, count, bytes == all[0] ? nil : "it encodes to other bytes")
                }
            }
        }
    }

    /// The kit compares the notes of the processes.
    static let processes = Check(
        "determinism.processes", "another process gives the same results", needs: ["determinism.decode"],
        processes: 2
    ) { context throws(Stop) in
        var digest = Digest()
        try context.eachImage { coder, bytes throws(Stop) in
            for pixels in try context.decode(coder, bytes).pixels { digest.add(pixels) }
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try context.eachEncoder { coder throws(Stop) in
                var setup = EncodeSetup()
                setup.options = context.quickOptions(coder.id)
                digest.add(try context.encode(coder, context.images(coder, width: 37, height: 23), setup).bytes)
            }
        }
        context.findings.note = digest.text
    }

    static let runs = Check(
        "determinism.decode", "an image decoded twice in one process has the same pixels", needs: ["lifecycle.decode"]
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            let first = try context.decode(coder, bytes).pixels
            for _ in 0..<2 {
                if let place = Difference.first(first, try context.decode(coder, bytes).pixels) {
                    throw .fault(
                        "\(coder.id) decodes the same bytes to other pixels the next time: \(place)", .deterministic,
                        try: "look for unset memory and state shared between sessions")
                }
            }
        }
    }
}

/// Finds the first difference of frames.
enum Difference {
    static func first(_ a: [[UInt8]], _ b: [[UInt8]]) -> String? {
        if a == b { return nil }
        if a.count != b.count { return "\(a.count) frames, then \(b.count)" }
        for (index, (one, other)) in zip(a, b).enumerated() where one != other {
            if one.count != other.count { return "frame \(index) has \(one.count) bytes, then \(other.count)" }
            let at = zip(one, other).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? 0
            return "byte \(at) of frame \(index)"
        }
        return nil
    }
}

/// A hash of bytes: 64-bit FNV-1a.
struct Digest {
    private(set) var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: [UInt8]) {
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ UInt64(bytes.count)) &* 0x100_0000_01b3
    }

    var text: String { String(hash, radix: 16) }
}
