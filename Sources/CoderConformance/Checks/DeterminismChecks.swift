/// The same bytes every time.
enum DeterminismChecks {
    static let first = [runs]
    static let all = [encoding, processes]

    static let encoding = Check(
        "determinism.encode", "encoded twice in one process, a picture is the same file", needs: ["lifecycle.encode"]
    ) { workshop throws(Stop) in
        try workshop.eachEncoder { coder throws(Stop) in
            var setup = EncodeSetup()
            setup.options = workshop.quickOptions(coder.id)
            let pictures = workshop.pictures(coder, width: 37, height: 23)
            let first = try workshop.encode(coder, pictures, setup).bytes
            for _ in 0..<2 where try workshop.encode(coder, pictures, setup).bytes != first {
                throw .fault(
                    "\(coder.id) encodes the same picture to other bytes the next time", .sameBytes,
                    try: "look for memory that is not set, for time stamps and for what one session leaves to the next")
            }
        }
    }

    /// What is noted is compared by the kit.
    static let processes = Check(
        "determinism.processes", "in another process everything is the same", needs: ["determinism.decode"],
        processes: 2
    ) { workshop throws(Stop) in
        var digest = Digest()
        try workshop.eachPicture { coder, bytes throws(Stop) in
            for pixels in try workshop.decode(coder, bytes).pixels { digest.add(pixels) }
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try workshop.eachEncoder { coder throws(Stop) in
                var setup = EncodeSetup()
                setup.options = workshop.quickOptions(coder.id)
                digest.add(try workshop.encode(coder, workshop.pictures(coder, width: 37, height: 23), setup).bytes)
            }
        }
        workshop.note = digest.text
    }

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

/// A number for bytes: 64-bit FNV-1a.
struct Digest {
    private var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func add(_ bytes: [UInt8]) {
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        hash = (hash ^ UInt64(bytes.count)) &* 0x100_0000_01b3
    }

    var text: String { String(hash, radix: 16) }
}
