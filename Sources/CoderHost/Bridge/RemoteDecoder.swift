import CCoderPlugin
import CIsolationWire
import ImageModel
import ImageProcessing

/// A plugin's decoding session in a worker.
final class RemoteDecoder: DecoderPort {
    private let session: WorkerSession
    private let optional: UInt32
    var pool: PixelBufferPool { session.worker.plugin.surfaces.pool }

    init(_ session: WorkerSession, coder id: String) throws(CoderError) {
        self.session = session
        optional = try session.open(ISO_OPEN_DECODER, coder: id)
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
        let reply = try bare(ISO_READ_HEADER, &error)
        info = unsafe reply.head.value.info
        return reply.head.status
    }

    func blob(
        _ index: UInt32, limit: Int, _ error: inout cpi_error
    ) throws(CoderError) -> (cpi_status, PortBlob)? {
        guard has(ISO_HAS_BLOB) else { return nil }
        let reply = try indexed(ISO_BLOB, index, &error)
        guard reply.head.status == CPI_OK else { return (reply.head.status, PortBlob()) }
        let head = unsafe reply.head.value.blob
        var blob = PortBlob(kind: head.kind, length: Int(clamping: head.length))
        // Only what came is used; what it says of itself may be anything.
        let keyCount = head.has_key != 0 ? min(Int(head.key_length), reply.rest.count) : 0
        if head.has_key != 0 { blob.key = String(decoding: reply.rest.prefix(keyCount), as: UTF8.self) }
        let start = min(reply.rest.count, head.has_key != 0 ? keyCount + 1 : 0)
        let bytes = reply.rest[start...]
        if limit == 0 || blob.length <= limit, bytes.count >= blob.length {
            blob.bytes = Array(bytes.prefix(blob.length))
        }
        return (reply.head.status, blob)
    }

    func offer(
        _ index: UInt32, _ offer: inout cpi_format_offer, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status? {
        guard has(ISO_HAS_OFFER) else { return nil }
        let reply = try indexed(ISO_OFFER, index, &error)
        offer = unsafe reply.head.value.offer
        return reply.head.status
    }

    func reducedSize(
        _ width: inout UInt32, _ height: inout UInt32, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status? {
        guard has(ISO_HAS_REDUCED_SIZE) else { return nil }
        var request = iso_size_request()
        request.input = session.input
        request.width = width
        request.height = height
        let reply = try session.ask(ISO_REDUCED_SIZE, wireBytes(request), &error)
        if reply.head.status == CPI_OK { unsafe (width, height) = reply.head.value.size }
        return reply.head.status
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
        return reply.head.status
    }

    func decode(
        _ request: FrameRequest, _ place: CanvasPlace, _ dirty: inout cpi_rect, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status {
        // A part that is already there has to be there for the plugin, too.
        let loan = try session.surface(place, copying: true)
        var message = iso_decode_request()
        message.input = session.input
        message.surface = loan.surface
        message.flags = request.wantsPartial ? CPI_DECODE_WANT_PARTIAL : 0
        message.region = request.region?.contract ?? cpi_rect()
        message.reduced_width = UInt32(clamping: request.reducedSize?.width ?? 0)
        message.reduced_height = UInt32(clamping: request.reducedSize?.height ?? 0)
        let reply = try session.ask(ISO_DECODE, wireBytes(message), descriptors: [loan.descriptor], &error)
        loan.settle()
        if reply.head.status == CPI_PARTIAL { dirty = unsafe reply.head.value.dirty }
        return reply.head.status
    }

    func thumbnail(
        _ index: UInt32, _ info: inout cpi_image_info, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status? {
        let reply = try indexed(ISO_THUMBNAIL_INFO, index, &error)
        info = unsafe reply.head.value.info
        return reply.head.status
    }

    func decodeThumbnail(
        _ index: UInt32, _ place: CanvasPlace, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status? {
        let loan = try session.surface(place, copying: false)
        var message = iso_decode_request()
        message.input = session.input
        message.surface = loan.surface
        message.index = index
        let reply = try session.ask(ISO_THUMBNAIL_DECODE, wireBytes(message), descriptors: [loan.descriptor], &error)
        loan.settle()
        return reply.head.status
    }
}
