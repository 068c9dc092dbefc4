import CoderPluginKit
import ImageModel

/// Decompresses a zlib stream.
///
/// - Source: RFC 1950; RFC 1951.
struct Inflater {
    private static let lengthBases = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227,
        258,
    ]
    private static let lengthBits = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ]
    /// The order in which the lengths of the codes of code lengths are stored.
    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    /// The bytes between two polls.
    private static let step = 1 << 20

    private let host: HostServices
    private let start: Int
    private var input: BitInput
    private var output: [UInt8]
    private var count = 0
    private var nextPoll = 0

    /// - Parameters:
    ///   - start: the position of the stream.
    ///   - total: the number of bytes that are wanted; the rest of the stream is not read.
    private init(_ source: ByteSource, at start: Int, total: Int, _ host: HostServices) {
        (self.host, self.start) = (host, start)
        input = BitInput(source, at: start)
        output = [UInt8](repeating: 0, count: total)
    }

    /// Returns the first `total` bytes of a stream.
    ///
    /// - Throws: `.truncated` if the input ends before; `.corrupt`.
    static func bytes(
        _ source: ByteSource, at start: Int, total: Int, _ host: HostServices
    ) throws(CoderError) -> [UInt8] {
        var inflater = Inflater(source, at: start, total: total, host)
        try inflater.run()
        return inflater.output
    }

    private func damage(_ reason: String) -> CoderError {
        input.isBehindEnd ? .truncated() : .corrupt("the compressed composite is damaged: \(reason)", at: start)
    }

    private mutating func run() throws(CoderError) {
        input.fill()
        let header = input.take(8) << 8 | input.take(8)
        guard header % 31 == 0, header >> 8 & 15 == 8, header & 32 == 0 else { throw damage("invalid header") }
        var (isLast, blocks) = (false, 0)
        while count < output.count {
            // Blocks without bytes take time, too.
            blocks += 1
            if blocks % 256 == 0 { try host.checkCancellation() }
            guard !isLast else { throw damage("it ends too early") }
            input.fill()
            isLast = input.take(1) == 1
            switch input.take(2) {
            case 0: try copyStored()
            case 1:
                let lengths = (0..<288).map { UInt8($0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8) }
                try decode(lengths, [UInt8](repeating: 5, count: 30))
            case 2:
                let (literals, distances) = try readLengths()
                try decode(literals, distances)
            default: throw damage("unknown block")
            }
        }
    }

    private mutating func poll() throws(CoderError) {
        guard count >= nextPoll else { return }
        nextPoll = count + Self.step
        try host.checkCancellation()
    }

    private mutating func copyStored() throws(CoderError) {
        input.align()
        input.fill()
        let (length, check) = (input.take(16), input.take(16))
        guard length ^ check == 0xFFFF else { throw damage("invalid length") }
        for _ in 0..<min(length, output.count - count) {
            input.fill()
            output[count] = UInt8(truncatingIfNeeded: input.take(8))
            count += 1
        }
        if input.isBehindEnd { throw .truncated() }
        try poll()
    }

    /// Reads the lengths of the codes of a block.
    private mutating func readLengths() throws(CoderError) -> (literals: [UInt8], distances: [UInt8]) {
        input.fill()
        let (literals, distances, count) = (input.take(5) + 257, input.take(5) + 1, input.take(4) + 4)
        var lengths = [UInt8](repeating: 0, count: 19)
        for index in 0..<count {
            input.fill()
            lengths[Self.order[index]] = UInt8(input.take(3))
        }
        guard let code = PrefixCode(lengths) else { throw damage("too many codes") }
        var all: [UInt8] = []
        while all.count < literals + distances {
            input.fill()
            guard let symbol = code.read(&input) else { throw damage("unknown code") }
            switch symbol {
            case 16:
                guard let last = all.last else { throw damage("nothing to repeat") }
                all += [UInt8](repeating: last, count: 3 + input.take(2))
            case 17: all += [UInt8](repeating: 0, count: 3 + input.take(3))
            case 18: all += [UInt8](repeating: 0, count: 11 + input.take(7))
            default: all.append(UInt8(symbol))
            }
            if input.isBehindEnd { throw .truncated() }
        }
        guard all.count == literals + distances else { throw damage("too many lengths") }
        return (Array(all[..<literals]), Array(all[literals...]))
    }

    /// Decodes the symbols of a block.
    private mutating func decode(_ literals: [UInt8], _ distances: [UInt8]) throws(CoderError) {
        guard let literals = PrefixCode(literals), let distances = PrefixCode(distances) else {
            throw damage("too many codes")
        }
        while count < output.count {
            input.fill()
            guard let symbol = literals.read(&input) else { throw damage("unknown code") }
            if input.isBehindEnd { throw .truncated() }
            if symbol < 256 {
                output[count] = UInt8(symbol)
                count += 1
                continue
            }
            if symbol == 256 { break }
            guard symbol < 286 else { throw damage("unknown length") }
            let length = Self.lengthBases[symbol - 257] + input.take(Self.lengthBits[symbol - 257])
            guard let number = distances.read(&input), number < 30 else { throw damage("unknown distance") }
            // From 4 on, each pair of distances has one more bit.
            let bits = max(0, number / 2 - 1)
            let distance = number < 4 ? number + 1 : (2 + number % 2) << bits + 1 + input.take(bits)
            guard distance <= count else { throw damage("a distance behind the start") }
            for _ in 0..<min(length, output.count - count) {
                output[count] = output[count - distance]
                count += 1
            }
            try poll()
        }
        try poll()
    }
}
