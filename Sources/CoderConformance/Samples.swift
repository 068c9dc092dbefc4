/// An image in the plugin's format.
struct Sample: Hashable {
    enum Kind: String, CaseIterable {
        /// A still of a few hundred pixels, made by the plugin's own encoder.
        case small
        /// A still of some ten thousand pixels.
        case large
        /// A few frames.
        case animation
        /// A file given by the user.
        case given
    }

    var coder: String
    var kind: Kind
    var bytes: [UInt8]
}

/// Encodes samples for the memory that the processes share: each part is preceded by its length in 4 bytes.
enum SampleArchive {
    static func pack(_ samples: [Sample]) -> [UInt8] {
        var result: [UInt8] = []
        func add(_ bytes: some Collection<UInt8>) {
            for shift in [0, 8, 16, 24] { result.append(UInt8(truncatingIfNeeded: bytes.count >> shift)) }
            result += bytes
        }
        for sample in samples {
            add(sample.coder.utf8)
            add(sample.kind.rawValue.utf8)
            add(sample.bytes)
        }
        return result
    }

    static func unpack(_ bytes: [UInt8]) -> [Sample] {
        var at = 0
        func part() -> [UInt8]? {
            guard bytes.count - at >= 4 else { return nil }
            let count = (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
            at += 4
            guard count <= bytes.count - at else { return nil }
            defer { at += count }
            return Array(bytes[at..<at + count])
        }
        var result: [Sample] = []
        while let coder = part(), let word = part(), let data = part() {
            guard let kind = Sample.Kind(rawValue: String(decoding: word, as: UTF8.self)) else { break }
            result.append(Sample(coder: String(decoding: coder, as: UTF8.self), kind: kind, bytes: data))
        }
        return result
    }
}
