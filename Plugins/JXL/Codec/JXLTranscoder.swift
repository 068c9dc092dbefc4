public import CoderPluginKit
public import ImageModel

/// Packs JPEG streams without loss, and restores them byte by byte.
///
/// - Source: ISO/IEC 18181-2, the box `jbrd`.
public enum JXLTranscoder: ImageTranscoder {
    /// libjxl's own default.
    private static let effort = 7
    private static let pieceCount = 256 << 10

    public static func transcode(
        _ direction: TranscodeDirection, _ format: ImageFormat, _ session: RewriteSession
    ) throws(CoderError) {
        guard format == "jpeg" else { throw .refused("JPEG XL packs JPEG only") }
        switch direction {
        case .pack: try pack(session)
        case .unpack:
            try unpack(session.source, session.host) { bytes throws(CoderError) in try session.sink.write(bytes) }
        }
    }

    private static func pack(_ session: RewriteSession) throws(CoderError) {
        let source = session.source
        let writer = try JXLWriter(session.host)
        try writer.add(jpeg: source, effort: session.options.integer(OptionKey.effort).map { max(1, $0) } ?? effort)
        writer.close()
        var packed: [UInt8] = []
        try writer.write { bytes throws(CoderError) in
            packed += bytes
            if packed.count > source.available + 1 << 20 { throw .refused("the packed JPEG would be larger") }
        }
        // libjxl promises to restore the stream; this proves it for this one.
        var position = 0
        do throws(CoderError) {
            try unpack(ByteSource(packed), session.host) { bytes throws(CoderError) in
                guard source.available - position >= bytes.count,
                    source.bytes(position..<position + bytes.count) == bytes
                else { throw .refused("libjxl would not restore this JPEG byte by byte") }
                position += bytes.count
            }
        } catch {
            if error.code == .corrupt { throw .refused("libjxl would not restore this JPEG") }
            throw error
        }
        guard position == source.available else { throw .refused("libjxl would not restore the whole JPEG") }
        try session.sink.write(packed)
    }

    /// Hands out the JPEG stream from which a file was packed.
    private static func unpack(
        _ source: ByteSource, _ host: HostServices, _ body: ([UInt8]) throws(CoderError) -> Void
    ) throws(CoderError) {
        let stream = try JXLStream(source, host, [.jpeg, .pixels])
        let memory = FilledMemory(pieceCount)
        var isPacked = false
        while true {
            switch try stream.next() {
            case .jpeg:
                isPacked = true
                try stream.lendJPEG(memory)
            case .jpegFull:
                try body(stream.takeJPEG(memory))
                try stream.lendJPEG(memory)
            case .image where isPacked:
                return try body(stream.takeJPEG(memory))
            case .needsTarget, .image, .end: throw .refused("this JPEG XL was not packed from JPEG")
            default: continue
            }
        }
    }
}
