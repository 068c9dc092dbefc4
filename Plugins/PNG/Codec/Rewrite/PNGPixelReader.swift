internal import CoderPluginKit
internal import ImageModel

/// Decodes images of a file into memory.
struct PNGPixelReader {
    /// The decoded bytes from which on the compression ratio is limited, as in the host.
    private static let smallBytes = 64 << 20

    private let file: PNGFile
    private let session: RewriteSession
    private let memory: MemoryReservation

    init(_ file: PNGFile, session: RewriteSession, memory: MemoryReservation) {
        self.file = file
        self.session = session
        self.memory = memory
    }

    /// Returns the pixels of the default image, in the format that keeps every sample, or in 8 bits.
    func decoded(bits: Int?) throws(CoderError) -> PixelBuffer {
        guard var format = file.pixelFormats.first, let position = file.firstData else {
            throw CoderError(.misuse, "the header was not read")
        }
        if let bits { format = PixelFormat(format.channels, bits: bits) }
        let size = try file.readHeader().size
        return try read(size, format, by: file.makeEngine(), PNGCursor(file.source, at: position))
    }

    /// Returns the samples of the default image as stored.
    func stored(_ inventory: PNGInventory) throws(CoderError) -> PixelBuffer {
        guard let position = file.firstData else { throw CoderError(.misuse, "the header was not read") }
        let cursor = PNGCursor(file.source, at: position, isFrame: inventory.isAnimated)
        return try stored(inventory.size, cursor)
    }

    /// Returns the samples of a frame as stored.
    func stored(_ size: PixelSize, _ cursor: PNGCursor) throws(CoderError) -> PixelBuffer {
        guard let format = file.storedFormat else { throw CoderError(.misuse, "the header was not read") }
        return try read(size, format, by: file.makeStoredEngine(), cursor)
    }

    private func read(
        _ size: PixelSize, _ format: PixelFormat, by engine: PNGEngine, _ cursor: PNGCursor
    ) throws(CoderError) -> PixelBuffer {
        let bytes = try PixelBuffer.layout(size: size, format: format).byteCount
        try check(size, bytes: bytes)
        try memory.add(bytes)
        let pixels = try PixelBuffer(size: size, format: format)
        let image = try PNGImage(
            cursor, of: file.source, by: engine, host: session.host, isInterlaced: file.isInterlaced, size: size,
            into: Surface(pixels), wantsPartial: false)
        guard try image.decode(wantsPartial: false) == .complete else { throw .truncated() }
        return pixels
    }

    private func check(_ size: PixelSize, bytes: Int) throws(CoderError) {
        let limits = session.limits
        let area = size.area ?? .max
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
        let ratio = bytes / max(1, file.source.available)
        if limits.maxRatio > 0, bytes > Self.smallBytes, ratio > limits.maxRatio {
            throw .limit("ratio", allowed: limits.maxRatio, requested: ratio)
        }
    }
}
