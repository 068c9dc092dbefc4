enum DeterminismChecks {
    static let first = [runs]

    static let runs = Check(
        "determinism.decode", "decoded twice in one process, a picture has the same pixels", needs: ["lifecycle.decode"]
    ) { workshop throws(Stop) in
        try workshop.eachPicture { coder, bytes throws(Stop) in
            let first = try workshop.decode(coder, bytes).pixels
            for _ in 0..<2 {
                if let place = Difference.first(first, try workshop.decode(coder, bytes).pixels) {
                    throw .fault(
                        "\(coder.id) decodes the same bytes to other pixels the next time: \(place)", .sameBytes,
                        try: "look for memory that is not set, and for what one session leaves to the next")
                }
            }
        }
    }
}

/// Where frames differ.
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
