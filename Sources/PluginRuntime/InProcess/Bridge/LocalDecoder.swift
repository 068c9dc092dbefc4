import CCoderPlugin
import Glibc
import ImageModel
import ImageProcessing

/// A plugin's decoding session in this process.
@safe final class LocalDecoder: DecoderPort {
    private let plugin: LoadedPlugin
    private let api: cpi_decoder_api
    private let handle: OpaquePointer
    private let services: ServicesTable
    private let source: ImageSource
    private let sourceTable: UnsafeMutablePointer<cpi_source>
    let pool = PixelBufferPool.shared

    init(
        _ plugin: LoadedPlugin, coder id: String, source: ImageSource, context: SessionContext
    ) throws(CoderError) {
        guard let coder = plugin.coder(id), let api = coder.decoder else {
            throw CoderError(.misuse, "\(id) does not decode")
        }
        self.plugin = plugin
        self.api = api
        self.source = source
        services = ServicesTable(context)
        let table = services
        unsafe handle = unsafe try openSession(of: plugin, id, context) { options, opened, error in
            unsafe api.open(coder.pointer, table.servicesPointer, table.limitsPointer, options, opened, error)
        }
        unsafe sourceTable = .allocate(capacity: 1)
        unsafe sourceTable.initialize(to: source.storage.contract(ending: source.extensionHint))
        var call = ContractCall()
        let status = enter { unsafe api.set_source(handle, sourceTable, &call.error) }
        if let failure = call.failure(status, of: "set_source", coder: id) { throw failure }
    }

    deinit {
        enter { unsafe api.close(handle) }
        unsafe sourceTable.deallocate()
    }

    /// Calls the plugin, exclusively if it is serial.
    @inline(__always)
    private func enter<R>(_ body: () -> R) -> R { plugin.enter(services.context, body) }

    func readHeader(_ info: inout cpi_image_info, _ error: inout cpi_error) -> cpi_status {
        enter { unsafe api.read_header(handle, &info, &error) }
    }

    func blob(_ index: UInt32, most: Int, _ error: inout cpi_error) -> (cpi_status, PortBlob)? {
        guard let blob = unsafe api.blob else { return nil }
        var raw = unsafe cpi_blob()
        unsafe raw.size = UInt32(MemoryLayout<cpi_blob>.size)
        let status = enter { unsafe blob(handle, index, &raw, &error) }
        guard status == CPI_OK else { return (status, PortBlob()) }
        var result = unsafe PortBlob(kind: raw.kind, length: raw.bytes == nil ? 0 : Int(clamping: raw.length))
        if let key = unsafe raw.key {
            result.keyLength = unsafe strnlen(key, MetadataBudget.maxKeyBytes + 1)
            guard result.keyLength <= MetadataBudget.maxKeyBytes else { return (status, result) }
            let bytes = unsafe UnsafeRawBufferPointer(start: key, count: result.keyLength)
            result.key = unsafe String(decoding: bytes, as: UTF8.self)
        }
        if let start = unsafe raw.bytes, result.length <= most {
            result.bytes = unsafe Array(UnsafeBufferPointer(start: start, count: result.length))
        }
        return (status, result)
    }

    func offers(_ formats: inout [cpi_format_offer], _ error: inout cpi_error) -> cpi_status? {
        guard let ask = unsafe api.offer else { return nil }
        return collectFormats(&formats) { index, offer in
            enter { unsafe ask(handle, index, &offer, &error) }
        }
    }

    func scaledSize(_ width: inout UInt32, _ height: inout UInt32, _ error: inout cpi_error) -> cpi_status? {
        guard let reduce = unsafe api.scaled_size else { return nil }
        return enter { unsafe reduce(handle, &width, &height, &error) }
    }

    func nextFrame(_ frame: inout cpi_frame_info, _ error: inout cpi_error) -> cpi_status {
        enter { unsafe api.next_frame(handle, &frame, &error) }
    }

    func seek(_ index: inout UInt32, _ error: inout cpi_error) -> cpi_status? {
        guard let seek = unsafe api.seek_frame else { return nil }
        return enter { unsafe seek(handle, &index, &error) }
    }

    func decode(
        _ request: FrameRequest, _ place: CanvasPlace, _ dirty: inout cpi_rect, _ error: inout cpi_error
    ) -> cpi_status {
        let status = unsafe withSurface(place) { surface in
            var raw = unsafe cpi_decode_request(
                size: UInt32(MemoryLayout<cpi_decode_request>.size),
                flags: request.wantsPartial ? CPI_DECODE_WANT_PARTIAL : 0, surface: surface,
                region: request.region?.contract ?? cpi_rect(),
                scaled_width: UInt32(clamping: request.scaledSize?.width ?? 0),
                scaled_height: UInt32(clamping: request.scaledSize?.height ?? 0))
            return enter { unsafe api.decode(handle, &raw, &error) }
        }
        guard status == CPI_PARTIAL, let ask = unsafe api.dirty else { return status }
        let answer = enter { unsafe ask(handle, &dirty, &error) }
        // Positive statuses of decode are not valid for `dirty`.
        return answer == CPI_OK ? status : answer < 0 ? answer : CPI_INTERNAL
    }

    // MARK: Items

    /// Returns the table of the items extension; nil if the plugin has none or returns another table.
    private func items() -> cpi_items_api? {
        guard let get = unsafe api.get, let table = unsafe enter({ unsafe get(handle, CPI_EXT_ITEMS) })
        else { return nil }
        return unsafe importTable(table.assumingMemoryBound(to: cpi_items_api.self), tag: CPI_EXT_ITEMS_TAG)
    }

    func item(_ index: UInt32, _ item: inout PortItem, _ error: inout cpi_error) -> cpi_status? {
        guard let table = items(), let describe = unsafe given(table.describe) else { return nil }
        var raw = unsafe cpi_item()
        unsafe raw.size = UInt32(MemoryLayout<cpi_item>.size)
        let status = enter { unsafe describe(handle, index, &raw, &item.info, &error) }
        if status == CPI_OK {
            unsafe (item.flags, item.role, item.owner, item.group) = (raw.flags, raw.role, raw.of, raw.group)
            item.reserved = unsafe raw.reserved
            item.name = unsafe Self.text(raw.name)
            item.kind = unsafe Self.text(raw.kind)
        }
        return status
    }

    private static func text(_ start: UnsafePointer<CChar>?) -> String? {
        guard let start = unsafe start else { return nil }
        let count = unsafe strnlen(start, PortItem.maxTextBytes)
        return unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func select(_ index: UInt32, _ error: inout cpi_error) -> cpi_status? {
        guard let table = items(), let select = unsafe given(table.select) else { return nil }
        return enter { unsafe select(handle, index, &error) }
    }

    func itemCount(_ count: inout UInt32, _ error: inout cpi_error) -> cpi_status? {
        guard let table = items(), let ask = unsafe table.count else { return nil }
        return enter { unsafe ask(handle, &count, &error) }
    }
}

/// Opens a session of a plugin. After a failure, the plugin owns no resources, whatever `*opened` contains.
@unsafe
func openSession(
    of plugin: LoadedPlugin, _ id: String, _ context: SessionContext,
    _ open: (
        UnsafePointer<cpi_options>?, UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<cpi_error>
    ) -> cpi_status
) throws(CoderError) -> OpaquePointer {
    var call = ContractCall()
    var opened: OpaquePointer?
    let status = unsafe withOptions(of: context) { options in
        plugin.enter(context) { unsafe open(options, &opened, &call.error) }
    }
    if let failure = call.failure(status, of: "open", coder: id) { throw failure }
    guard let opened = unsafe opened else {
        throw CoderError(.pluginFault, "the plugin opened no session", coder: id)
    }
    return unsafe opened
}

/// Calls `body` with a rectangle of a buffer as a surface, valid during the call.
@discardableResult
func withSurface<R>(_ place: CanvasPlace, _ body: (UnsafePointer<cpi_surface>) -> R) -> R {
    let buffer = place.buffer
    return unsafe buffer.withUnsafeMutableBytes { bytes in
        let offset = place.rect.y * buffer.stride + place.rect.x * buffer.format.bytesPerPixel
        var surface = unsafe cpi_surface(
            size: UInt32(MemoryLayout<cpi_surface>.size), flags: 0, format: buffer.format.contract,
            width: UInt32(place.rect.width), height: UInt32(place.rect.height), stride: UInt64(buffer.stride),
            pixels: bytes.baseAddress!.assumingMemoryBound(to: UInt8.self) + offset,
            byte_count: UInt64(buffer.byteCount - offset))
        return unsafe body(&surface)
    }
}
