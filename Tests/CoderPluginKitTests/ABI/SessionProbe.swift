import CCoderPlugin
import ImageModel

/// Memory for pixels with a guard margin after every row.
@safe final class Canvas {
    let size: PixelSize
    private let format: cpi_pixel_format
    private let stride: Int
    private let memory: UnsafeMutableBufferPointer<UInt8>
    private static var margin: Int { 5 }

    init(_ width: Int, _ height: Int, channels: UInt8 = CPI_CHANNELS_GRAY, bytesPerPixel: Int = 1) {
        size = PixelSize(width, height)
        format = cpi_pixel_format(
            channels: channels, numeric: CPI_NUMERIC_UNORM, bits: 8, alpha: 0, count: 0, layout: 0, reserved: 0)
        stride = width * bytesPerPixel + Self.margin
        unsafe memory = .allocate(capacity: max(1, stride * height))
        unsafe memory.initialize(repeating: 0xEE)
    }

    deinit { unsafe memory.deallocate() }

    /// Returns the surface as a host passes it; `missing` shortens its byte count for tests of wrong counts.
    func lend(missing: Int = 0, size structSize: Int = 48) -> SizedStruct<cpi_surface> {
        unsafe SizedStruct(
            cpi_surface(
                size: 0, flags: 0, format: format, width: UInt32(size.width), height: UInt32(size.height),
                stride: UInt64(stride), pixels: memory.baseAddress, byte_count: UInt64(memory.count - missing)),
            size: structSize)
    }

    func fill(_ samples: [UInt8]) {
        for (index, sample) in samples.enumerated() {
            unsafe memory[index / size.width * stride + index % size.width] = sample
        }
    }

    var rows: [[UInt8]] {
        (0..<size.height).map { y in unsafe Array(memory[y * stride..<(y + 1) * stride - Self.margin]) }
    }

    var marginsAreUntouched: Bool {
        (0..<size.height).allSatisfy { y in
            unsafe memory[((y + 1) * stride - Self.margin)..<(y + 1) * stride].allSatisfy { $0 == 0xEE }
        }
    }
}

/// One decoding session, called only through the C table.
@safe final class DecoderProbe {
    let error = SizedStruct<cpi_error>()
    private(set) var openStatus = CPI_OK
    private let api: cpi_decoder_api
    private var decoder: OpaquePointer?
    private let host: FakeHost
    private let limits: SizedStruct<cpi_limits>
    private var sources: [FakeSource] = []

    init(
        coder: UInt32 = 0, host: FakeHost = FakeHost(), limits: SizedStruct<cpi_limits> = FakeHost.limits(),
        options: FakeOptions? = nil
    ) {
        self.host = host
        self.limits = limits
        let coder = unsafe FakeHost.plugin()!.coder(coder)
        unsafe api = coder.pointee.decoder!.pointee
        openStatus = unsafe api.open(
            coder, host.services.pointer, limits.pointer, options.map { unsafe UnsafePointer($0.lend().pointer) },
            &decoder, error.pointer)
    }

    deinit { if let decoder = unsafe decoder { unsafe api.close(decoder) } }

    /// The table's size, as the plugin reports it.
    var tableSize: Int { Int(api.size) }
    private var session: OpaquePointer { unsafe decoder! }

    func setSource(_ source: FakeSource, size: Int = 64) -> cpi_status {
        sources.append(source)
        return unsafe api.set_source(session, source.lend(size: size).pointer, error.pointer)
    }

    func readHeader(_ info: SizedStruct<cpi_image_info> = SizedStruct(cpi_image_info())) -> cpi_status {
        unsafe api.read_header(session, info.pointer, error.pointer)
    }

    func offer(
        _ index: UInt32, _ offer: SizedStruct<cpi_format_offer> = SizedStruct(cpi_format_offer())
    ) -> cpi_status {
        unsafe api.offer!(session, index, offer.pointer, error.pointer)
    }

    func nextFrame(_ frame: SizedStruct<cpi_frame_info> = SizedStruct(cpi_frame_info())) -> cpi_status {
        unsafe api.next_frame(session, frame.pointer, error.pointer)
    }

    func seek(_ index: inout UInt32) -> cpi_status { unsafe api.seek_frame!(session, &index, error.pointer) }

    func reduce(_ width: inout UInt32, _ height: inout UInt32) -> cpi_status {
        unsafe api.scaled_size!(session, &width, &height, error.pointer)
    }

    /// Decodes. The surface lacks `missing` bytes, and both structs may be shorter or longer than in this version.
    func decode(
        _ canvas: Canvas, flags: UInt32 = 0, region: cpi_rect = cpi_rect(), reduced: PixelSize = .zero,
        missing: Int = 0, surfaceSize: Int = 48, requestSize: Int = 40
    ) -> cpi_status {
        let surface = unsafe canvas.lend(missing: missing, size: surfaceSize)
        let request = unsafe SizedStruct(
            cpi_decode_request(
                size: 0, flags: flags, surface: surface.pointer, region: region,
                scaled_width: UInt32(reduced.width), scaled_height: UInt32(reduced.height)),
            size: requestSize)
        return unsafe withExtendedLifetime(surface) { unsafe api.decode(session, request.pointer, error.pointer) }
    }

    func dirty(_ rect: inout cpi_rect) -> cpi_status { unsafe api.dirty!(session, &rect, error.pointer) }

    /// Returns metadata as key and text, up to the first status other than CPI_OK.
    func blobs() -> (texts: [String], status: cpi_status) {
        var texts: [String] = []
        while true {
            let blob = unsafe SizedStruct(cpi_blob())
            let status = unsafe api.blob!(session, UInt32(texts.count), blob.pointer, error.pointer)
            guard status == CPI_OK else { return (texts, status) }
            let bytes = unsafe UnsafeBufferPointer(start: blob[\.bytes], count: Int(blob[\.length]))
            let key = unsafe blob[\.key].map { unsafe String(cString: $0) }
            texts.append("\(key ?? "-"): \(unsafe String(decoding: bytes, as: UTF8.self))")
        }
    }

    func knows(_ id: String) -> Bool { unsafe api.get!(session, id) != nil }

    /// The table of items, validated as a host does.
    private var items: UnsafePointer<cpi_items_api>? {
        guard let table = unsafe api.get!(session, CPI_EXT_ITEMS)?.assumingMemoryBound(to: cpi_items_api.self),
            unsafe table.pointee.table.tag == CPI_EXT_ITEMS_TAG, unsafe table.pointee.table.rev == 1,
            unsafe table.pointee.table.size == MemoryLayout<cpi_items_api>.size
        else { return nil }
        return unsafe table
    }

    func describe(_ index: UInt32, _ item: SizedStruct<cpi_item>, _ info: SizedStruct<cpi_image_info>) -> cpi_status? {
        unsafe items?.pointee.describe(session, index, item.pointer, info.pointer, error.pointer)
    }

    func select(_ index: UInt32) -> cpi_status? { unsafe items?.pointee.select(session, index, error.pointer) }

    /// Calls a function of the table by its index, with NULL for every pointer.
    func callWithNull(_ function: Int, session hasSession: Bool = true) -> cpi_status {
        let session = unsafe hasSession ? session : null()
        let error: UnsafeMutablePointer<cpi_error> = unsafe null()
        return switch function {
        case 0: unsafe api.set_source(session, null(), error)
        case 1: unsafe api.read_header(session, null(), error)
        case 2: unsafe api.blob!(session, 0, null(), error)
        case 3: unsafe api.offer!(session, 0, null(), error)
        case 4: unsafe api.scaled_size!(session, null(), null(), error)
        case 5: unsafe api.next_frame(session, null(), error)
        case 6: unsafe api.seek_frame!(session, null(), error)
        case 7: unsafe api.decode(session, null(), error)
        default: unsafe api.dirty!(session, null(), error)
        }
    }

    /// Closes NULL, which must not crash.
    func closeNull() { unsafe api.close(null()) }

    /// Looks up NULL without and with a session.
    var knowsNull: Bool { unsafe api.get!(null(), CPI_EXT_ITEMS) != nil || api.get!(session, null()) != nil }

    /// Opens sessions with NULL for one of the arguments each.
    static func openStatusesWithNull() -> [cpi_status] {
        let host = FakeHost()
        let limits = FakeHost.limits()
        let coder = unsafe FakeHost.plugin()!.coder(0)
        let api = unsafe coder.pointee.decoder!.pointee
        var decoder: OpaquePointer?
        return unsafe [
            api.open(null(), host.services.pointer, limits.pointer, nil, &decoder, null()),
            api.open(coder, null(), limits.pointer, nil, &decoder, null()),
            api.open(coder, host.services.pointer, null(), nil, &decoder, null()),
            api.open(coder, host.services.pointer, limits.pointer, nil, null(), null()),
        ]
    }
}

/// One encoding session, called only through the C table.
@safe final class EncoderProbe {
    let error = SizedStruct<cpi_error>()
    private let api: cpi_encoder_api
    private var encoder: OpaquePointer?
    private let host = FakeHost()
    private let limits = FakeHost.limits()
    private let sink: FakeSink

    init(_ sink: FakeSink) {
        self.sink = sink
        let coder = unsafe FakeHost.plugin()!.coder(0)
        unsafe api = coder.pointee.encoder!.pointee
        _ = unsafe api.open(coder, host.services.pointer, limits.pointer, nil, &encoder, error.pointer)
    }

    deinit { if let encoder = unsafe encoder { unsafe api.close(encoder) } }

    private var session: OpaquePointer { unsafe encoder! }

    static func info(_ width: UInt32, _ height: UInt32, flags: UInt32 = 0) -> SizedStruct<cpi_image_info> {
        var info = cpi_image_info()
        (info.width, info.height, info.flags) = (width, height, flags)
        info.native = cpi_pixel_format(
            channels: CPI_CHANNELS_GRAY, numeric: CPI_NUMERIC_UNORM, bits: 8, alpha: CPI_ALPHA_NONE,
            count: 0, layout: 0, reserved: 0)
        return SizedStruct(info)
    }

    func accept(
        _ info: SizedStruct<cpi_image_info>, _ index: UInt32, _ offer: SizedStruct<cpi_format_offer>
    ) -> cpi_status {
        unsafe api.accept(session, info.pointer, index, offer.pointer, error.pointer)
    }

    func begin(_ info: SizedStruct<cpi_image_info>) -> cpi_status {
        unsafe api.begin(session, info.pointer, sink.lend().pointer, error.pointer)
    }

    func addBlob(_ kind: UInt32, _ bytes: [UInt8] = [], key: String = "note") -> cpi_status {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe key.withCString { key in
                let blob = unsafe SizedStruct(
                    cpi_blob(size: 0, kind: kind, key: key, bytes: bytes.baseAddress, length: UInt64(bytes.count)))
                return unsafe api.add_blob!(session, blob.pointer, error.pointer)
            }
        }
    }

    /// Adds a thumbnail through a table validated as a host does.
    func addThumbnail(_ canvas: Canvas) -> cpi_status? {
        guard
            let table = unsafe api.get!(session, CPI_EXT_THUMBNAIL_ENCODE)?
                .assumingMemoryBound(to: cpi_thumbnail_encode_api.self),
            unsafe table.pointee.table.tag == 0x1d71_351a_85f4_03bf, unsafe table.pointee.table.rev == 1,
            unsafe table.pointee.table.size == 24
        else { return nil }
        return unsafe table.pointee.add(session, canvas.lend().pointer, error.pointer)
    }

    /// Begins an item through a table validated as a host does.
    func nextItem(_ role: UInt32, of owner: UInt32 = CPI_ITEM_NONE, name: String = "n") -> cpi_status? {
        guard
            let table = unsafe api.get!(session, CPI_EXT_ENCODE_ITEMS)?
                .assumingMemoryBound(to: cpi_encode_items_api.self),
            unsafe table.pointee.table.tag == 0x09d4_db27_72f7_d725, unsafe table.pointee.table.rev == 1,
            unsafe table.pointee.table.size == 24
        else { return nil }
        return unsafe name.withCString { name in
            let item = unsafe SizedStruct(
                cpi_item(size: 0, flags: 0, role: role, of: owner, group: 0, reserved: 0, name: name, kind: nil))
            return unsafe table.pointee.next_item(session, item.pointer, error.pointer)
        }
    }

    func addFrame(_ canvas: Canvas) -> cpi_status {
        var frame = cpi_frame_info()
        frame.rect = cpi_rect(x: 0, y: 0, width: UInt32(canvas.size.width), height: UInt32(canvas.size.height))
        return unsafe api.add_frame(session, SizedStruct(frame).pointer, canvas.lend().pointer, error.pointer)
    }

    func finish() -> cpi_status { unsafe api.finish(session, error.pointer) }

    func knows(_ id: String) -> Bool { unsafe api.get!(session, id) != nil }

    /// Calls a function of the table by its index, with NULL for every pointer.
    func callWithNull(_ function: Int, session hasSession: Bool = true) -> cpi_status {
        let session = unsafe hasSession ? session : null()
        let error: UnsafeMutablePointer<cpi_error> = unsafe null()
        return switch function {
        case 0: unsafe api.accept(session, null(), 0, null(), error)
        case 1: unsafe api.begin(session, null(), null(), error)
        case 2: unsafe api.add_blob!(session, null(), error)
        default: unsafe api.add_frame(session, null(), null(), error)
        }
    }
}

/// Options as a host passes them; elements may be longer than in this version.
@safe final class FakeOptions {
    private var items: UnsafeMutableRawPointer
    private var keep: [UnsafeMutableRawPointer]
    private let stride: Int
    private var count = 0

    init(_ values: [(String, OptionValue)], elementSize: Int = 56) {
        stride = elementSize
        unsafe keep = []
        unsafe items = .allocate(byteCount: elementSize * 32, alignment: 16)
        unsafe items.initializeMemory(as: UInt8.self, repeating: 0xAA, count: elementSize * 32)
        for (key, value) in values { add(key, value) }
    }

    deinit {
        unsafe keep.forEach { unsafe $0.deallocate() }
        unsafe items.deallocate()
    }

    private func copy(_ bytes: [UInt8]) -> UnsafeMutableRawPointer {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes.count + 1, alignment: 1)
        for (index, byte) in (bytes + [0]).enumerated() {
            unsafe memory.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
        }
        unsafe keep.append(memory)
        return unsafe memory
    }

    /// Appends an option; `type` overrides the type of the value.
    func add(_ key: String, _ value: OptionValue, type: UInt32? = nil, flags: UInt32 = 0) {
        var raw = unsafe cpi_option(
            size: UInt32(stride), type: 0, flags: flags, reserved: 0,
            key: UnsafePointer(copy(Array(key.utf8)).assumingMemoryBound(to: CChar.self)), integer: 0, real: 0,
            bytes: nil, length: 0)
        func lend(_ bytes: [UInt8]) {
            unsafe raw.bytes = UnsafePointer(copy(bytes).assumingMemoryBound(to: UInt8.self))
            unsafe raw.length = UInt64(bytes.count)
        }
        switch value {
        case .bool(let value): unsafe (raw.type, raw.integer) = (CPI_OPTION_BOOL, value ? 1 : 0)
        case .integer(let value): unsafe (raw.type, raw.integer) = (CPI_OPTION_I64, value)
        case .real(let value): unsafe (raw.type, raw.real) = (CPI_OPTION_F64, value)
        case .string(let value):
            unsafe raw.type = CPI_OPTION_STRING
            lend(Array(value.utf8))
        case .bytes(let value):
            unsafe raw.type = CPI_OPTION_BYTES
            lend(value)
        }
        if let type { unsafe raw.type = type }
        unsafe (items + count * stride).copyMemory(from: &raw, byteCount: MemoryLayout<cpi_option>.size)
        count += 1
    }

    func lend() -> SizedStruct<cpi_options> {
        unsafe SizedStruct(
            cpi_options(
                size: 0, count: UInt32(count), stride: UInt64(stride),
                items: UnsafePointer(items.assumingMemoryBound(to: cpi_option.self))))
    }
}
