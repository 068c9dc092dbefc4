import CIsolationWire
import TestSupport

func readWhole(_ path: String) -> [UInt8]? { readFile(path) }

/// The pixels to decode into or to encode from.
struct Surface {
    var wire: iso_surface
    let memory: SharedMemory

    /// - Parameters:
    ///   - id: identifies the memory during a worker's lifetime, so it must be unique.
    ///   - padding: unused bytes after each row.
    init(
        id: UInt64 = .random(in: 0...(.max)), _ width: Int, _ height: Int, _ format: cpi_pixel_format, padding: Int = 0,
        pixels: [UInt8] = []
    ) throws {
        let channels = [0, 1, 2, 3, 4, 4, 4][Int(format.channels)]
        let stride = width * channels * Int(format.bits) / 8 + padding
        memory = try SharedMemory(pixels, capacity: max(1, stride * height))
        wire = iso_surface(
            id: id, map_bytes: UInt64(memory.count), offset: 0, byte_count: UInt64(memory.count),
            stride: UInt64(stride), width: UInt32(width), height: UInt32(height), format: format)
    }
}

extension cpi_pixel_format {
    static let rgb8 = cpi_pixel_format(channels: 3, numeric: 1, bits: 8, alpha: 0, count: 0, layout: 0, reserved: 0)
    static let rgba8 = cpi_pixel_format(channels: 4, numeric: 1, bits: 8, alpha: 1, count: 0, layout: 0, reserved: 0)
}

/// Returns an option in its wire format.
func option(_ key: String, _ type: UInt32, integer: Int64 = 0, text: String = "") -> [UInt8] {
    let head = iso_option(
        type: type, key_length: UInt32(key.utf8.count), integer: integer, real: Double(integer),
        length: UInt64(text.utf8.count))
    return bytes(of: head) + Array(key.utf8) + [0] + Array(text.utf8) + [0]
}

extension SealedWorker {
    static func open(_ count: Int, kind: UInt32, shown: Int? = nil, options: UInt32 = 0) -> iso_open {
        var open = iso_open()
        open.input = input(shown ?? count, isComplete: shown == nil)
        open.source_kind = kind
        open.capacity = UInt64(count)
        open.thread_hint = 3
        open.option_count = options
        open.limits.size = UInt32(MemoryLayout<cpi_limits>.size)
        open.limits.max_total_alloc = 1 << 20
        return open
    }

    static func input(_ count: Int, isComplete: Bool = true) -> iso_input {
        iso_input(available: UInt64(count), complete: isComplete ? 1 : 0, reserved: 0)
    }

    /// Opens a session on bytes.
    func openDecoder(
        _ content: [UInt8], kind: UInt32 = CPI_SOURCE_MEMORY, shown: Int? = nil, options: [[UInt8]] = []
    ) throws -> Reply {
        let memory = try SharedMemory(content)
        let open = Self.open(content.count, kind: kind, shown: shown, options: UInt32(options.count))
        return try reply(
            ISO_OPEN_DECODER, bytes(of: open) + options.flatMap(\.self), descriptors: [memory.descriptor])
    }

    /// Decodes a complete still: returns its facts, frame and pixels.
    func decodeStill(_ content: [UInt8], kind: UInt32 = CPI_SOURCE_MEMORY) throws -> (cpi_image_info, [UInt8]) {
        let opened = try openDecoder(content, kind: kind)
        if opened.status != CPI_OK { throw WorkerFailure(opened.message) }
        let input = bytes(of: Self.input(content.count))
        let header = try reply(ISO_READ_HEADER, input)
        if header.status != CPI_OK { throw WorkerFailure(header.message) }
        let info = try header.asked(cpi_image_info.self)
        let frame = try reply(ISO_NEXT_FRAME, input)
        if frame.status != CPI_OK { throw WorkerFailure(frame.message) }
        let surface = try Surface(Int(info.width), Int(info.height), info.native)
        let decoded = try decode(surface, content.count)
        if decoded.status != CPI_OK { throw WorkerFailure(decoded.message) }
        return (info, surface.memory.bytes)
    }

    func decode(_ surface: Surface, _ shown: Int, isComplete: Bool = true, flags: UInt32 = 0) throws -> Reply {
        var request = iso_decode_request()
        request.input = Self.input(shown, isComplete: isComplete)
        request.surface = surface.wire
        request.flags = flags
        return try reply(ISO_DECODE, bytes(of: request), descriptors: [surface.memory.descriptor])
    }

    /// Encodes a still; the written bytes are in `output`.
    func encodeStill(
        _ surface: Surface, seekable: Bool = false, options: [[UInt8]] = [], xmp: [UInt8]? = nil
    ) throws -> [Int32] {
        var statuses = [try openEncoder(options).status]
        var info = cpi_image_info()
        info.size = UInt32(MemoryLayout<cpi_image_info>.size)
        (info.width, info.height) = (surface.wire.width, surface.wire.height)
        info.bit_depth = UInt32(surface.wire.format.bits)
        info.frame_count = 1
        info.native = surface.wire.format
        var accept = iso_accept_request()
        accept.info = info
        statuses.append(try reply(ISO_ACCEPT, bytes(of: accept)).status)
        var begin = iso_begin_request()
        begin.info = info
        begin.sink_flags = seekable ? CPI_SINK_SEEKABLE : 0
        statuses.append(try reply(ISO_BEGIN, bytes(of: begin)).status)
        if let xmp {
            var blob = iso_blob_request()
            blob.blob.kind = CPI_BLOB_XMP
            blob.blob.length = UInt64(xmp.count)
            blob.blob.follows = 1
            statuses.append(try reply(ISO_ADD_BLOB, bytes(of: blob) + xmp).status)
        }
        var add = iso_frame_request()
        add.surface = surface.wire
        add.frame.size = UInt32(MemoryLayout<cpi_frame_info>.size)
        add.frame.rect = cpi_rect(x: 0, y: 0, width: surface.wire.width, height: surface.wire.height)
        statuses.append(
            try reply(ISO_ADD_FRAME, bytes(of: add), descriptors: [surface.memory.descriptor]).status)
        statuses.append(try reply(ISO_FINISH, bytes(of: iso_input())).status)
        return statuses
    }

    func openEncoder(_ options: [[UInt8]] = []) throws -> Reply {
        var open = Self.open(0, kind: 0, options: UInt32(options.count))
        open.input = iso_input()
        return try reply(ISO_OPEN_ENCODER, bytes(of: open) + options.flatMap(\.self))
    }

    func closeSession() throws { _ = try reply(ISO_CLOSE, bytes(of: iso_input())) }
}
