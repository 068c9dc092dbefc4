public import CoderPluginKit
public import ImageModel

/// Encodes BMP from the bottom row up: 8 bits for gray, 24 for colors, 32 with alpha; with an embedded profile.
///
/// Writes the header of 124 bytes if there is alpha or a profile, otherwise that of 40 bytes, which everything reads.
public final class BMPEncoder: ImageEncoder {
    private let session: EncoderSession
    private var sink: ByteSink?
    private var info: ImageInfo?
    private var profile: [UInt8] = []

    public init(_ session: EncoderSession) { self.session = session }

    public func acceptedFormats(for info: ImageInfo) -> [PixelFormat] {
        if info.nativeFormat.hasTransparency { return [.bgra8] }
        return info.nativeFormat.channels == .gray ? [.gray8] : [.rgb8]
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        self.sink = sink
        self.info = info
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        guard blob.kind == .icc else { return false }
        profile = blob.bytes
        return true
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        guard let sink, let info else { throw CoderError(.misuse, "begin comes first") }
        let writer = BMPWriter(size: surface.size, format: surface.format, profile: profile, info: info)
        try sink.write(try writer.header())
        var row = [UInt8](repeating: 0, count: writer.rowBytes)
        for y in stride(from: surface.size.height - 1, through: 0, by: -1) {
            if y % 64 == 0 { try session.host.checkCancellation() }
            surface.withRow(y) { writer.fill(&row, $0) }
            try sink.write(row)
        }
        try sink.write(profile)
    }

    /// Nothing to do: all rows are written already.
    public func finish() {}
}
