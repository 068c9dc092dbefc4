import CCoderPlugin
import CIsolationWire
import ImageModel
import ImageProcessing

/// A plugin's encoding session in a worker.
final class RemoteEncoder: EncoderPort {
    private let session: WorkerSession

    init(_ session: WorkerSession, coder id: String) throws(CoderError) {
        self.session = session
        try session.open(ISO_OPEN_ENCODER, coder: id)
    }

    func accept(
        _ info: inout cpi_image_info, _ formats: inout [cpi_format_offer], _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status {
        var request = iso_accept_request()
        request.input = session.input
        request.info = info
        let reply = try session.ask(ISO_ACCEPT, wireBytes(request), &error)
        formats = unsafe reply.head.value.formats.list
        return reply.head.status
    }

    func begin(
        _ info: inout cpi_image_info, _ sink: PluginSink, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status {
        session.sink = sink
        var request = iso_begin_request()
        request.input = session.input
        request.sink_flags = sink.isSeekable ? CPI_SINK_SEEKABLE : 0
        request.info = info
        return try session.ask(ISO_BEGIN, wireBytes(request), &error).head.status
    }

    func add(_ blob: MetadataBlob, _ error: inout cpi_error) throws(CoderError) -> cpi_status? {
        var request = iso_blob_request()
        request.input = session.input
        let key = blob.key.map { Array($0.utf8) }
        request.blob = iso_blob(
            kind: blob.kind.rawValue, has_key: key == nil ? 0 : 1, key_length: UInt32(key?.count ?? 0), follows: 1,
            length: UInt64(blob.bytes.count))
        let rest = (key.map { $0 + [0] } ?? []) + blob.bytes
        let reply = try session.ask(ISO_ADD_BLOB, wireBytes(request, rest), &error)
        return reply.head.absent != 0 ? nil : reply.head.status
    }

    func nextItem(_ item: ItemDescription, _ error: inout cpi_error) throws(CoderError) -> cpi_status? {
        var request = iso_item_request()
        request.input = session.input
        request.item.role = item.role.rawValue
        request.item.of = item.contractOwner
        request.item.group = UInt32(clamping: item.group ?? 0)
        if let name = item.name {
            request.item.has_name = 1
            setWireText(&request.item.name, name)
        }
        if let kind = item.kind {
            request.item.has_kind = 1
            setWireText(&request.item.kind, kind)
        }
        let reply = try session.ask(ISO_NEXT_ITEM, wireBytes(request), &error)
        return reply.head.absent != 0 ? nil : reply.head.status
    }

    func addThumbnail(_ place: CanvasPlace, _ error: inout cpi_error) throws(CoderError) -> cpi_status? {
        let reply = try add(ISO_ADD_THUMBNAIL, cpi_frame_info(), place, &error)
        return reply.head.absent != 0 ? nil : reply.head.status
    }

    func add(
        _ frame: inout cpi_frame_info, _ place: CanvasPlace, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status {
        try add(ISO_ADD_FRAME, frame, place, &error).head.status
    }

    func beginRows(
        _ frame: inout cpi_frame_info, _ rows: inout UInt32, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status? {
        var request = iso_frame_request()
        request.input = session.input
        request.frame = frame
        let reply = try session.ask(ISO_BEGIN_ROWS, wireBytes(request), &error)
        if reply.head.status == CPI_OK { rows = unsafe reply.head.value.number }
        return reply.head.absent != 0 ? nil : reply.head.status
    }

    func addRows(_ place: CanvasPlace, _ error: inout cpi_error) throws(CoderError) -> cpi_status? {
        let reply = try add(ISO_ADD_ROWS, cpi_frame_info(), place, &error)
        return reply.head.absent != 0 ? nil : reply.head.status
    }

    private func add(
        _ type: Int32, _ frame: cpi_frame_info, _ place: CanvasPlace, _ error: inout cpi_error
    ) throws(CoderError) -> Worker.Reply {
        let loan = try session.surface(place, copying: true)
        var request = iso_frame_request()
        request.input = session.input
        request.surface = loan.surface
        request.frame = frame
        return try session.ask(type, wireBytes(request), descriptors: [loan.descriptor], &error)
    }

    func finish(_ error: inout cpi_error) throws(CoderError) -> cpi_status {
        try session.ask(ISO_FINISH, wireBytes(session.input), &error).head.status
    }
}
