public import CoderPluginKit
public import ImageModel

/// Encodes farbfeld, which has no options.
public final class FarbfeldEncoder: ImageEncoder {
    private let session: EncoderSession
    private var sink: ByteSink?

    public init(_ session: EncoderSession) { self.session = session }

    public func acceptedFormats(for info: ImageInfo) -> [PixelFormat] { [.rgba16] }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        guard let width = UInt32(exactly: info.size.width), let height = UInt32(exactly: info.size.height) else {
            throw .invalidArgument("a farbfeld side must fit 32 bits")
        }
        self.sink = sink
        try sink.write(FarbfeldDecoder.magic + Self.bytes(width) + Self.bytes(height))
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        var row: [UInt8] = []
        for y in 0..<surface.size.height {
            if y % 64 == 0 { try session.host.checkCancellation() }
            surface.readRow(y, bigEndian16: &row)
            try sink?.write(row)
        }
    }

    /// Nothing to do: all rows are written already.
    public func finish() {}

    private static func bytes(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
