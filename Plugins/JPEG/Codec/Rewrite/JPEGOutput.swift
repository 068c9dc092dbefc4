import CoderPluginKit
import ImageModel

/// The output of a rewrite: a sink, or only a count.
struct JPEGOutput {
    private let sink: ByteSink?
    private let host: HostServices
    private(set) var count = 0

    /// The number of bytes copied at once.
    private static let chunk = 1 << 18

    /// - Parameter sink: nil to only count.
    init(_ sink: ByteSink?, _ host: HostServices) {
        self.sink = sink
        self.host = host
    }

    mutating func write(_ bytes: [UInt8]) throws(CoderError) {
        count += bytes.count
        try sink?.write(bytes)
    }

    mutating func copy(_ range: Range<Int>, of source: JPEGSource) throws(CoderError) {
        count += range.count
        guard let sink else { return }
        var start = range.lowerBound
        while start < range.upperBound {
            try host.checkCancellation()
            let end = min(range.upperBound, start + Self.chunk)
            if source.source.isContiguous {
                try source.source.withBytes(start..<end) { (bytes) throws(CoderError) in try sink.write(bytes) }
            } else {
                try sink.write(try source.bytes(start..<end))
            }
            start = end
        }
    }
}

/// The compressed image of a new file, kept in memory until it is known to be the smallest.
final class JPEGBody {
    private(set) var chunks: [[UInt8]] = []
    private(set) var count = 0
    private let host: HostServices
    private let limit: Int
    private var skipped = 0
    private var reserved = 0
    /// Whether the limit is reached.
    private(set) var isFull = false

    /// The bytes of the start marker, which every file has before its metadata.
    static let head = 2

    /// A body of fewer than `limit` bytes.
    init(below limit: Int, _ host: HostServices) {
        self.limit = limit
        self.host = host
    }

    /// Appends the output of a compressor.
    ///
    /// - Throws: `.limitExceeded`; `.refused` if the limit is reached.
    func append(_ bytes: [UInt8]) throws(CoderError) {
        let new = Array(bytes.dropFirst(Self.head - skipped))
        skipped += bytes.count - new.count
        isFull = new.count >= limit - count
        if isFull { throw .refused("the result is larger than the source") }
        try host.reserve(bytes: new.count)
        reserved += new.count
        count += new.count
        chunks.append(new)
    }

    /// Frees the memory.
    func release() {
        chunks = []
        if reserved > 0 { try? host.reserve(bytes: -reserved) }
        reserved = 0
    }
}
