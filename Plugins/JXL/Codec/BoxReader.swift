internal import CoderPluginKit
internal import ImageModel

/// Reads the metadata boxes of a file, in front of the image and behind it; the library unpacks packed ones.
///
/// - Source: ISO/IEC 18181-2: `Exif`, `xml `, `jumb`, `brob`; 21496-1: `jhgm`.
struct BoxReader {
    private let session: DecoderSession

    init(_ session: DecoderSession) { self.session = session }

    /// Returns the metadata that has arrived.
    func blobs() throws(CoderError) -> [MetadataBlob] {
        let stream = try JXLStream(session.source, session.host, .boxes)
        var blobs: [MetadataBlob] = []
        var open: Box?
        var total = 0
        while true {
            let event: JXLStream.Event
            do throws(CoderError) {
                event = try stream.next()
            } catch {
                switch error.code {
                case .needsInput: return blobs
                case .truncated, .corrupt:
                    // The end of the file ends a box without a size.
                    if error.code == .truncated {
                        try open.map { box throws(CoderError) in blobs += try close(box, stream, &total) }
                    }
                    if error.code == .corrupt { session.host.warn("the metadata behind a damaged box is not read") }
                    return blobs
                default: throw error
                }
            }
            switch event {
            case .box:
                if let box = open { blobs += try close(box, stream, &total) }
                open = nil
                if let kind = Box.Kind(rawValue: stream.boxType()) {
                    let box = Box(kind)
                    try stream.lendBox(box.memory)
                    open = box
                }
            case .boxFull:
                guard var box = open else { throw .corrupt("a box is damaged") }
                box.bytes += stream.takeBox(box.memory)
                try check(box.bytes.count, total)
                try stream.lendBox(box.memory)
                open = box
            case .end:
                if let box = open { blobs += try close(box, stream, &total) }
                return blobs
            default: continue
            }
        }
    }

    /// A box in progress.
    private struct Box {
        enum Kind: String {
            case exif = "Exif"
            case xmp = "xml "
            case provenance = "jumb"
            case gainMap = "jhgm"
        }

        let kind: Kind
        let memory = FilledMemory(64 << 10)
        var bytes: [UInt8] = []

        init(_ kind: Kind) { self.kind = kind }
    }

    private func check(_ count: Int, _ total: Int) throws(CoderError) {
        let limits = session.limits
        if limits.maxMetadataBytes > 0, count > limits.maxMetadataBytes {
            throw .limit("metadata", allowed: limits.maxMetadataBytes, requested: count)
        }
        if limits.maxTotalMetadataBytes > 0, total + count > limits.maxTotalMetadataBytes {
            throw .limit("metadata", allowed: limits.maxTotalMetadataBytes, requested: total + count)
        }
    }

    private func close(_ box: Box, _ stream: JXLStream, _ total: inout Int) throws(CoderError) -> [MetadataBlob] {
        let bytes = box.bytes + stream.takeBox(box.memory)
        try check(bytes.count, total)
        total += bytes.count
        switch box.kind {
        case .xmp: return [MetadataBlob(.xmp, bytes)]
        case .provenance, .gainMap: return [MetadataBlob(.raw, bytes, key: box.kind.rawValue)]
        case .exif:
            // Four bytes state how far behind them the TIFF header begins.
            let skipped = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard bytes.count > 4, skipped < bytes.count - 4 else {
                session.host.warn("ignored Exif data without a TIFF header")
                return []
            }
            return [MetadataBlob(.exif, Array(bytes[(4 + skipped)...]))]
        }
    }
}
