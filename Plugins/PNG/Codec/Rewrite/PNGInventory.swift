internal import CoderPluginKit
internal import ImageModel

/// Walks over every chunk of a file, from the header to the end chunk.
struct PNGChunkWalk {
    /// The number of chunks between two polls.
    private static let patience = 256

    let source: ByteSource
    let host: HostServices
    private(set) var position = PNGCursor.signature.count
    private(set) var count = 0
    private var isFinished = false

    init(_ source: ByteSource, host: HostServices) {
        self.source = source
        self.host = host
    }

    /// Returns the next complete chunk; nil behind the end chunk.
    ///
    /// - Throws: `.corrupt`, `.truncated`, `.needsInput`; `.unsupported` for the variant of Apple's tools.
    mutating func next() throws(CoderError) -> PNGChunk? {
        if isFinished { return nil }
        if count % Self.patience == 0 { try host.checkCancellation() }
        let chunk = try PNGChunk(at: position, in: source)
        if count == 0 {
            if chunk.kind == .cgBI { throw .unsupported("the CgBI variant of PNG") }
            guard chunk.kind == .imageHeader, chunk.length == 13 else {
                throw .corrupt("the file does not begin with an image header", at: position)
            }
        } else if chunk.kind == .imageHeader {
            throw .corrupt("the file has a second image header", at: position)
        }
        try ByteReader(source, at: position).require(chunk.range.count)
        position = chunk.range.upperBound
        count += 1
        isFinished = chunk.kind == .imageEnd
        return chunk
    }
}

/// The facts that a rewrite needs before it writes the first byte.
struct PNGInventory {
    /// The data of the image header.
    private(set) var header: [UInt8] = []
    private(set) var size = PixelSize.zero
    /// The first chunk of each kind that may appear only once.
    private(set) var single: [PNGChunk.Kind: PNGChunk] = [:]
    /// The bytes of all chunks of the default image.
    private(set) var pixelBytes = 0
    /// Whether there are private chunks that may depend on the pixels.
    private(set) var hasUnsafeChunks = false
    /// The end of the end chunk.
    private(set) var end = 0

    var depth: Int { Int(header[8]) }
    var colorType: UInt8 { header[9] }
    var isInterlaced: Bool { header[12] != 0 }
    var isColor: Bool { colorType & 2 != 0 }
    var isAnimated: Bool { single[.acTL] != nil }

    /// Reads the facts of a file.
    ///
    /// - Parameter visit: called with every chunk.
    /// - Throws: `.notMine`, `.corrupt`, `.truncated`, `.needsInput`.
    init(
        of source: ByteSource, host: HostServices, _ visit: (PNGChunk) throws(CoderError) -> Void
    ) throws(CoderError) {
        var start = ByteReader(source)
        guard try start.consume(PNGCursor.signature) else { throw .notMine() }
        var walk = PNGChunkWalk(source, host: host)
        while let chunk = try walk.next() {
            try note(chunk, in: source)
            try visit(chunk)
        }
        end = walk.position
        if pixelBytes == 0 { throw .corrupt("the file has no pixels", at: end) }
    }

    private mutating func note(_ chunk: PNGChunk, in source: ByteSource) throws(CoderError) {
        switch chunk.kind {
        case .imageHeader:
            header = source.bytes(chunk.data)
            guard chunk.isIntact(in: source) else {
                throw .corrupt("the checksum of the image header is wrong", at: chunk.offset)
            }
            let sides = [0, 4].map { header[$0..<$0 + 4].reduce(0) { $0 << 8 | Int($1) } }
            size = PixelSize(sides[0], sides[1])
            guard !size.isEmpty, sides.allSatisfy({ $0 < 1 << 31 }) else {
                throw .corrupt("invalid image size \(size)", at: chunk.offset)
            }
        case .imageData: pixelBytes += chunk.range.count
        case .acTL where pixelBytes > 0: break
        case .palette, .tRNS, .bKGD, .sBIT, .hIST, .sPLT, .acTL, .iCCP:
            if single[chunk.kind] == nil { single[chunk.kind] = chunk }
        default:
            if chunk.kind.isAncillary, !chunk.kind.isSafeToCopy, !Self.isIndependent(chunk.kind) {
                hasUnsafeChunks = true
            }
        }
    }

    /// Whether an unsafe-to-copy chunk keeps its meaning if the samples change their form.
    private static func isIndependent(_ kind: PNGChunk.Kind) -> Bool {
        if kind.concernsMetadata || PNGMetadataKind.concernsLook(kind) || kind == .iDOT { return true }
        // The time of the last change, the size of the subject, a stereo pair.
        return ["tIME", "sCAL", "sTER"].contains(kind.name)
    }
}
