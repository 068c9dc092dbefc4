import CoderPluginKit
import ImageModel

/// The facts that a rewrite needs before it writes the first byte.
struct WebPInventory {
    private(set) var canvas = PixelSize.zero
    /// Whether the image of a file without an extended header declares alpha.
    private(set) var hasAlpha = false
    /// The extended header, which is the first chunk if there is one.
    private(set) var extended: WebPChunk?
    private(set) var isAnimated = false
    /// The end that the file declares.
    private(set) var end = 0
    private var hasImage = false
    private var isFirst = true

    /// Reads the facts of a file.
    ///
    /// - Parameter visit: called with every chunk.
    /// - Throws: `.notMine`, `.corrupt`, `.truncated`, `.needsInput`.
    init(
        of source: ByteSource, host: HostServices, _ visit: (WebPChunk) throws(CoderError) -> Void
    ) throws(CoderError) {
        var walk = try WebPChunkWalk(source, host: host)
        end = walk.end
        while let chunk = try walk.next() {
            try note(chunk, in: source)
            try visit(chunk)
        }
        guard hasImage else { throw .corrupt("the file has no image", at: WebPChunkWalk.start) }
    }

    private mutating func note(_ chunk: WebPChunk, in source: ByteSource) throws(CoderError) {
        defer { isFirst = false }
        switch chunk.name {
        case .extended where isFirst:
            guard chunk.length >= 10 else { throw .corrupt("the extended header is too short", at: chunk.offset) }
            let fields = source.bytes(chunk.payload.prefix(10))
            canvas = PixelSize(Self.little(fields[4..<7]) + 1, Self.little(fields[7..<10]) + 1)
            isAnimated = fields[0] & 0x02 != 0
            extended = chunk
        case .lossy, .lossless:
            if extended == nil, !isFirst { return }
            hasImage = true
            if extended == nil { try readBitstream(chunk, source) }
        case .frame where extended != nil: hasImage = true
        default:
            // Without an extended header a file begins with its image.
            if isFirst { throw .corrupt("the file does not begin with an image", at: chunk.offset) }
        }
    }

    /// Returns the size of an image, and whether it declares alpha.
    ///
    /// - Source: RFC 6386 section 9.1; RFC 9649 section 3.4.
    private mutating func readBitstream(_ chunk: WebPChunk, _ source: ByteSource) throws(CoderError) {
        let damage = CoderError.corrupt("the header of the image is damaged", at: chunk.payload.lowerBound)
        if chunk.name == .lossless {
            let fields = source.bytes(chunk.payload.prefix(5))
            guard fields.count == 5, fields[0] == 0x2F, fields[4] >> 5 == 0 else { throw damage }
            let bits = Self.little(fields[1..<5])
            canvas = PixelSize(bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
            hasAlpha = bits >> 28 & 1 == 1
        } else {
            let fields = source.bytes(chunk.payload.prefix(10))
            guard fields.count == 10, fields[0] & 1 == 0, fields[3..<6] == [0x9D, 0x01, 0x2A] else { throw damage }
            canvas = PixelSize(Self.little(fields[6..<8]) & 0x3FFF, Self.little(fields[8..<10]) & 0x3FFF)
        }
        guard !canvas.isEmpty else { throw damage }
    }

    private static func little(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }
}
