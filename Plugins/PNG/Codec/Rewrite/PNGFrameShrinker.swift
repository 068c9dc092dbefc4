internal import CoderPluginKit
internal import ImageModel

/// Compresses the frames of an animation into fewer bytes, one after another, without changing their sample form.
struct PNGFrameShrinker {
    private let session: RewriteSession
    private let inventory: PNGInventory
    private let file: PNGFile
    private let shrinking: PNGShrinking

    private var numbers = Numbers()
    private var frameCount = 0
    private var frame: Frame
    private var hasDefaultImage = false
    /// The strategies that were best for the last frames.
    private var favorites: [RowShrinker.Strategy] = []

    /// The number of frames after which all strategies are tried again, not only the recent best ones.
    private static let thoroughEvery = 16
    private static let mostFavorites = 2

    /// The numbers of the next chunk.
    private struct Numbers {
        var source: UInt32 = 0
        var output: UInt32 = 0
    }

    /// The current frame.
    private struct Frame {
        /// The size in the last control chunk.
        var size: PixelSize
        /// The handling of its chunks; nil in front of the first one.
        var isShrunk: Bool?
        var isDefaultImage = false
    }

    init(_ session: RewriteSession, _ inventory: PNGInventory) throws(CoderError) {
        self.session = session
        self.inventory = inventory
        file = PNGFile(
            DecoderSession(
                source: session.source, options: session.options, limits: session.limits, host: session.host))
        _ = try file.readHeader()
        shrinking = try PNGShrinking(session.host)
        frame = Frame(size: inventory.size)
    }

    /// Writes a chunk of a frame; for its first chunk, possibly the whole frame.
    ///
    /// - Throws: `.corrupt` if the order or the numbers of chunks are wrong.
    mutating func write(_ chunk: PNGChunk, to writer: inout PNGChunkWriter) throws(CoderError) {
        switch chunk.kind {
        case .fcTL:
            try begin(chunk)
            var fields = session.source.bytes(chunk.data)
            fields.replaceSubrange(0..<4, with: bigEndian(next()))
            try writer.write(.fcTL, fields)
        case .fdAT:
            try checkNumber(chunk)
            try writeData(chunk, to: &writer)
        default:
            if hasDefaultImage || frame.isShrunk != nil, !frame.isDefaultImage { throw misplaced(chunk) }
            frame.isDefaultImage = true
            hasDefaultImage = true
            try writeData(chunk, to: &writer)
        }
    }

    private mutating func writeData(_ chunk: PNGChunk, to writer: inout PNGChunkWriter) throws(CoderError) {
        if chunk.kind == .fdAT, frame.isDefaultImage || frameCount == 0 { throw misplaced(chunk) }
        if frame.isShrunk == nil {
            let stream = try shrunk(chunk)
            frame.isShrunk = stream != nil
            if let stream {
                if chunk.kind == .imageData {
                    try writer.write(.imageData, stream)
                } else {
                    try writer.write(.fdAT, bigEndian(next()) + stream)
                }
            }
        }
        guard frame.isShrunk == false else { return }
        if chunk.kind == .imageData { try writer.copy(chunk) } else { try writer.copy(chunk, number: next()) }
    }

    // MARK: Frames

    private mutating func begin(_ chunk: PNGChunk) throws(CoderError) {
        guard chunk.length == 26, chunk.isIntact(in: session.source) else {
            throw .corrupt("the control chunk of a frame is damaged", at: chunk.offset)
        }
        try checkNumber(chunk)
        frameCount += 1
        let limits = session.limits
        if limits.maxFrames > 0, frameCount > limits.maxFrames {
            throw .limit("frames", allowed: limits.maxFrames, requested: frameCount)
        }
        let (total, overflow) = frameCount.multipliedReportingOverflow(by: inventory.size.area ?? .max)
        if limits.maxTotalPixels > 0, overflow || total > limits.maxTotalPixels {
            throw .limit("total", allowed: limits.maxTotalPixels, requested: overflow ? .max : total)
        }
        var fields = ByteReader(session.source, at: chunk.data.lowerBound + 4)
        let size = PixelSize(Int(try fields.u32BE()), Int(try fields.u32BE()))
        let (x, y) = (Int(try fields.u32BE()), Int(try fields.u32BE()))
        let rect = PixelRect(x: x, y: y, width: size.width, height: size.height)
        guard !rect.isEmpty, PixelRect(inventory.size).contains(rect) else {
            throw .corrupt("a frame is empty or reaches outside the canvas", at: chunk.offset)
        }
        frame = Frame(size: size)
    }

    /// Returns the frame that begins with this chunk, if it becomes shorter.
    private mutating func shrunk(_ chunk: PNGChunk) throws(CoderError) -> [UInt8]? {
        let reader = PNGPixelReader(file, session: session, memory: MemoryReservation(session.host))
        let cursor = PNGCursor(session.source, at: chunk.offset, kind: chunk.kind, isFrame: true)
        let pixels = try reader.stored(chunk.kind == .imageData ? inventory.size : frame.size, cursor)
        let layout = PNGLayout(colorType: inventory.colorType, depth: inventory.depth)
        let isThorough = frameCount % Self.thoroughEvery == 1 || favorites.isEmpty
        let best = try shrinking.shortest(
            [PNGCandidate(pixels, layout)], strategies: isThorough ? nil : favorites
        ) { _ in 0 }
        guard let best else { return nil }
        favorites.removeAll { $0 == best.strategy }
        favorites = [best.strategy] + favorites.prefix(Self.mostFavorites - 1)
        return best.stream.count < (try dataLength(from: chunk)) ? best.stream : nil
    }

    /// Returns the bytes of the compressed data of a frame, from its first chunk on, including the further chunk
    /// headers.
    private func dataLength(from first: PNGChunk) throws(CoderError) -> Int {
        let numberLength = first.kind == .fdAT ? 4 : 0
        var sum = -12 - numberLength
        var position = first.offset
        while position < inventory.end {
            let chunk = try PNGChunk(at: position, in: session.source)
            if chunk.kind == .fcTL { break }
            if chunk.kind == first.kind { sum += chunk.range.count }
            position = chunk.range.upperBound
        }
        return sum
    }

    private mutating func checkNumber(_ chunk: PNGChunk) throws(CoderError) {
        guard chunk.length >= 4 else {
            throw .corrupt("the data chunk of a frame has no sequence number", at: chunk.offset)
        }
        var fields = ByteReader(session.source, at: chunk.data.lowerBound)
        let found = try fields.u32BE()
        guard found == numbers.source else {
            throw .corrupt("found chunk number \(found) instead of number \(numbers.source)", at: chunk.offset)
        }
        numbers.source &+= 1
    }

    private mutating func next() -> UInt32 {
        defer { numbers.output &+= 1 }
        return numbers.output
    }

    private func misplaced(_ chunk: PNGChunk) -> CoderError {
        .corrupt("the data of a frame is out of place", at: chunk.offset)
    }
}
