import CCoderPlugin
import CIsolationWire
import ImageModel
import ImageProcessing

/// A plugin's decoding session in a worker.
final class RemoteDecoder: DecoderPort {
    private let session: WorkerSession
    private let optional: UInt32
    /// The header that the plugin returned when the session was opened.
    private var header: Worker.Reply?
    var pool: PixelBufferPool { session.worker.plugin.surfaces.pool }

    init(_ session: WorkerSession, coder id: String) throws(CoderError) {
        self.session = session
        (optional, header) = try session.open(ISO_OPEN_DECODER, coder: id)
    }

    private func has(_ part: Int32) -> Bool { optional & UInt32(part) != 0 }

    private func bare(_ type: Int32, _ error: inout cpi_error) throws(CoderError) -> Worker.Reply {
        try session.ask(type, wireBytes(session.input), &error)
    }

    private func indexed(_ type: Int32, _ index: UInt32, _ error: inout cpi_error) throws(CoderError) -> Worker.Reply {
        var request = iso_index_request()
        request.input = session.input
        request.index = index
        return try session.ask(type, wireBytes(request), &error)
    }

    func readHeader(_ info: inout cpi_image_info, _ error: inout cpi_error) throws(CoderError) -> cpi_status {
        let reply: Worker.Reply
        if let known = header.take() {
            (reply, error) = (known, known.head.error)
        } else {
            reply = try bare(ISO_READ_HEADER, &error)
        }
        info = unsafe reply.head.value.info
        return reply.head.status
    }

    /// Returns the status of a reply; nil if the plugin does not implement the function.
    private func status(_ reply: Worker.Reply) -> cpi_status? { reply.head.absent != 0 ? nil : reply.head.status }

    func blob(
        _ index: UInt32, most: Int, _ error: inout cpi_error
    ) throws(CoderError) -> (cpi_status, PortBlob)? {
        guard has(ISO_HAS_BLOB) else { return nil }
        var query = iso_blob_query()
        query.input = session.input
        query.index = index
        query.most_key = UInt32(MetadataBudget.maxKeyBytes)
        query.most = UInt64(most)
        let reply = try session.ask(ISO_BLOB, wireBytes(query), &error)
        guard let status = status(reply) else { return nil }
        guard status == CPI_OK else { return (status, PortBlob()) }
        let head = unsafe reply.head.value.blob
        var blob = PortBlob(
            kind: head.kind, keyLength: min(Int(head.key_length), MetadataBudget.maxKeyBytes + 1),
            length: Int(clamping: head.length))
        let isWanted = blob.keyLength <= MetadataBudget.maxKeyBytes && blob.length <= most
        let keyCount = head.has_key != 0 ? blob.keyLength + 1 : 0
        guard (head.follows != 0) == isWanted, reply.rest.count == (isWanted ? keyCount + blob.length : 0) else {
            throw session.worker.breach("metadata with a wrong length")
        }
        guard isWanted else { return (status, blob) }
        if head.has_key != 0 { blob.key = String(decoding: reply.rest.prefix(blob.keyLength), as: UTF8.self) }
        blob.bytes = Array(reply.rest[keyCount...])
        return (status, blob)
    }

    func offers(_ formats: inout [cpi_format_offer], _ error: inout cpi_error) throws(CoderError) -> cpi_status? {
        guard has(ISO_HAS_OFFER) else { return nil }
        let reply = try bare(ISO_OFFER, &error)
        formats = unsafe reply.head.value.formats.list
        return status(reply)
    }

    func scaledSize(
        _ width: inout UInt32, _ height: inout UInt32, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status? {
        guard has(ISO_HAS_SCALED_SIZE) else { return nil }
        var request = iso_size_request()
        request.input = session.input
        request.width = width
        request.height = height
        let reply = try session.ask(ISO_SCALED_SIZE, wireBytes(request), &error)
        if reply.head.status == CPI_OK { unsafe (width, height) = reply.head.value.size }
        return status(reply)
    }

    func nextFrame(_ frame: inout cpi_frame_info, _ error: inout cpi_error) throws(CoderError) -> cpi_status {
        let reply = try bare(ISO_NEXT_FRAME, &error)
        frame = unsafe reply.head.value.frame
        return reply.head.status
    }

    func seek(_ index: inout UInt32, _ error: inout cpi_error) throws(CoderError) -> cpi_status? {
        guard has(ISO_HAS_SEEK) else { return nil }
        let reply = try indexed(ISO_SEEK_FRAME, index, &error)
        if reply.head.status == CPI_OK { index = unsafe reply.head.value.number }
        return status(reply)
    }

    func decode(
        _ request: FrameRequest, _ place: CanvasPlace, _ dirty: inout cpi_rect, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status {
        // The plugin needs the pixels that are already decoded.
        let loan = try session.surface(place, copying: true)
        var message = iso_decode_request()
        message.input = session.input
        message.surface = loan.surface
        message.flags = request.wantsPartial ? CPI_DECODE_WANT_PARTIAL : 0
        message.region = request.region?.contract ?? cpi_rect()
        message.scaled_width = UInt32(clamping: request.scaledSize?.width ?? 0)
        message.scaled_height = UInt32(clamping: request.scaledSize?.height ?? 0)
        let reply = try session.ask(ISO_DECODE, wireBytes(message), descriptors: [loan.descriptor], &error)
        loan.settle()
        if reply.head.status == CPI_PARTIAL { dirty = unsafe reply.head.value.dirty }
        return reply.head.status
    }

    func item(_ index: UInt32, _ item: inout PortItem, _ error: inout cpi_error) throws(CoderError) -> cpi_status? {
        let reply = try indexed(ISO_ITEM_DESCRIBE, index, &error)
        if reply.head.status == CPI_OK, reply.head.absent == 0 {
            let told = unsafe reply.head.value.item
            (item.flags, item.role, item.owner, item.group) = (told.flags, told.role, told.of, told.group)
            item.reserved = told.reserved
            item.info = told.info
            item.name = told.has_name != 0 ? wireText(told.name) : nil
            item.kind = told.has_kind != 0 ? wireText(told.kind) : nil
        }
        return status(reply)
    }

    func select(_ index: UInt32, _ error: inout cpi_error) throws(CoderError) -> cpi_status? {
        status(try indexed(ISO_ITEM_SELECT, index, &error))
    }

    func itemCount(_ count: inout UInt32, _ error: inout cpi_error) throws(CoderError) -> cpi_status? {
        let reply = try bare(ISO_ITEM_COUNT, &error)
        if reply.head.status == CPI_OK { count = unsafe reply.head.value.number }
        return status(reply)
    }
}
