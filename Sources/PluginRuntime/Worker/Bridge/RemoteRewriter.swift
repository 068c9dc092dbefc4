import CCoderPlugin
import CIsolationWire
import ImageModel

/// The rewriting functions of a plugin in a worker.
final class RemoteRewriter: RewritePort {
    private let session: WorkerSession
    private let id: String

    init(_ session: WorkerSession, coder id: String) {
        self.session = session
        self.id = id
    }

    func rewrite(
        _ request: RewriteRequest, _ sink: PluginSink, _ outcome: inout cpi_rewrite_outcome, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status? {
        var message = iso_rewrite_request()
        message.flags = request.flags
        message.remove = request.removedBits
        message.orientation = UInt32(request.transform.rawValue)
        message.crop = request.crop?.contract ?? cpi_rect()
        let reply = try ask(ISO_REWRITE, &message, request.replaced, sink, &error)
        if reply.head.status == CPI_OK { outcome = unsafe reply.head.value.outcome }
        return reply.head.absent != 0 ? nil : reply.head.status
    }

    func transcode(
        _ direction: TranscodeDirection, _ format: ImageFormat, _ sink: PluginSink, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status? {
        var message = iso_rewrite_request()
        message.direction = direction.rawValue
        setWireText(&message.format, format.id)
        let reply = try ask(ISO_TRANSCODE, &message, [], sink, &error)
        return reply.head.absent != 0 ? nil : reply.head.status
    }

    private func ask(
        _ type: Int32, _ message: inout iso_rewrite_request, _ blobs: [MetadataBlob], _ sink: PluginSink,
        _ error: inout cpi_error
    ) throws(CoderError) -> Worker.Reply {
        let (open, descriptors) = try session.opening(coder: id)
        let options = WireOptions.bytes(of: session.context)
        message.open = open.request
        message.open.reads_header = 0
        message.sink_flags = sink.isSeekable ? CPI_SINK_SEEKABLE : 0
        message.option_bytes = UInt32(options.count)
        message.blob_count = UInt32(blobs.count)
        session.sink = sink
        let body = wireBytes(message, options + blobs.flatMap(Self.bytes))
        guard body.count <= Int(ISO_MESSAGE_LIMIT) else {
            throw .limit("metadata", allowed: Int(ISO_MESSAGE_LIMIT), requested: body.count)
        }
        return try session.ask(type, body, descriptors: descriptors, &error)
    }

    private static func bytes(_ blob: MetadataBlob) -> [UInt8] {
        let key = blob.key.map { Array($0.utf8) }
        let head = iso_blob(
            kind: blob.kind.rawValue, has_key: key == nil ? 0 : 1, key_length: UInt32(key?.count ?? 0), follows: 1,
            length: UInt64(blob.bytes.count))
        return wireBytes(head, (key.map { $0 + [0] } ?? []) + blob.bytes)
    }
}
