import CCoderPlugin
import ImageModel

/// A plugin's decoding session as Swift.
///
/// Every value that comes back is checked before it is used: a plugin may lie.
@safe final class ImportedDecoder: FrameDecoder {
    private let plugin: LoadedPlugin
    private let api: cpi_decoder_api
    private let id: String
    private let handle: OpaquePointer
    private let services: ServicesTable
    private let source: ImageSource
    private let sourceTable: UnsafeMutablePointer<cpi_source>
    private var info: ImageInfo?

    init(
        _ plugin: LoadedPlugin, coder id: String, source: ImageSource, context: SessionContext
    ) throws(CoderError) {
        guard let coder = plugin.coder(id), let api = coder.decoder else {
            throw CoderError(.misuse, "\(id) does not decode")
        }
        self.plugin = plugin
        self.api = api
        self.id = id
        self.source = source
        services = ServicesTable(context)
        let table = services
        unsafe handle = unsafe try openSession(of: plugin, id, context.options) { options, opened, error in
            unsafe api.open(coder.pointer, table.servicesPointer, table.limitsPointer, options, opened, error)
        } close: { opened in
            unsafe api.close(opened)
        }
        unsafe sourceTable = .allocate(capacity: 1)
        unsafe sourceTable.initialize(to: source.storage.contract())
        unsafe try run { error in unsafe self.api.set_source(self.handle, self.sourceTable, error) }
    }

    deinit {
        plugin.enter { unsafe api.close(handle) }
        unsafe sourceTable.deallocate()
    }

    /// Makes one call and throws what it answers below zero.
    @discardableResult
    private func run(_ body: (UnsafeMutablePointer<cpi_error>) -> cpi_status) throws(CoderError) -> cpi_status {
        var call = ContractCall()
        let status = plugin.enter { unsafe body(&call.error) }
        if let failure = call.failure(status, coder: id) { throw failure }
        return status
    }

    private func fault(_ message: String) -> CoderError { CoderError(.pluginFault, message, coder: id) }

    func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        var raw = cpi_image_info()
        raw.size = UInt32(MemoryLayout<cpi_image_info>.size)
        unsafe try run { error in unsafe self.api.read_header(self.handle, &raw, error) }
        let result = try ImageInfo(raw)
        info = result
        return result
    }

    func metadata() throws(CoderError) -> [MetadataBlob] {
        guard let blob = unsafe api.blob else { return [] }
        let limit = services.context.limits.maxMetadataBytes
        var result: [MetadataBlob] = []
        for index in 0..<UInt32(256) {
            var raw = unsafe cpi_blob()
            unsafe raw.size = UInt32(MemoryLayout<cpi_blob>.size)
            let status = unsafe try run { error in unsafe blob(self.handle, index, &raw, error) }
            if status == CPI_END { break }
            guard let kind = unsafe MetadataBlob.Kind(rawValue: raw.kind) else { continue }
            let length = unsafe Int(clamping: raw.length)
            if limit > 0 && length > limit {
                services.context.warn("\(kind) metadata of \(length) bytes is above the limit of \(limit) and left out")
                continue
            }
            guard let start = unsafe raw.bytes, length > 0 else { continue }
            let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: length))
            let key = unsafe raw.key.map { unsafe String(cString: $0) }
            result.append(MetadataBlob(kind, bytes, key: key))
        }
        return result
    }

    func pixelFormats() throws(CoderError) -> [PixelFormat] {
        let native = try readHeader().nativeFormat
        guard let offer = unsafe api.offer else { return [native] }
        var result: [PixelFormat] = []
        for index in 0..<UInt32(32) {
            var raw = cpi_format_offer()
            raw.size = UInt32(MemoryLayout<cpi_format_offer>.size)
            let status = unsafe try run { error in unsafe offer(self.handle, index, &raw, error) }
            if status == CPI_END { break }
            if let format = PixelFormat(raw.format), !result.contains(format) { result.append(format) }
        }
        return result.isEmpty ? [native] : result
    }

    func reducedSize(atLeast wanted: PixelSize) throws(CoderError) -> PixelSize {
        let full = try readHeader().size
        guard let reduce = unsafe api.reduced_size else { return full }
        var width = UInt32(clamping: wanted.width)
        var height = UInt32(clamping: wanted.height)
        unsafe try run { error in unsafe reduce(self.handle, &width, &height, error) }
        let size = PixelSize(Int(width), Int(height))
        guard !size.isEmpty, size.width <= full.width, size.height <= full.height else {
            throw fault("the plugin reduces \(full) to \(size)")
        }
        return size
    }

    func nextFrame() throws(CoderError) -> FrameInfo? {
        var raw = cpi_frame_info()
        raw.size = UInt32(MemoryLayout<cpi_frame_info>.size)
        let status = unsafe try run { error in unsafe self.api.next_frame(self.handle, &raw, error) }
        return status == CPI_END ? nil : try FrameInfo(raw)
    }

    func seek(toFrame index: Int) throws(CoderError) -> Int {
        guard let seek = unsafe api.seek_frame, let wanted = UInt32(exactly: index) else {
            throw CoderError(.unsupportedFeature, "the coder cannot go to frame \(index)", coder: id)
        }
        var answer = wanted
        unsafe try run { error in unsafe seek(self.handle, &answer, error) }
        guard answer <= wanted else { throw fault("asked for frame \(index), the plugin goes to \(answer)") }
        return Int(answer)
    }

    func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome {
        let status = unsafe try withSurface(place) { surface throws(CoderError) in
            var raw = unsafe cpi_decode_request(
                size: UInt32(MemoryLayout<cpi_decode_request>.size),
                flags: request.wantsPartial ? CPI_DECODE_WANT_PARTIAL : 0, surface: surface,
                region: request.region?.contract ?? cpi_rect(),
                reduced_width: UInt32(clamping: request.reducedSize?.width ?? 0),
                reduced_height: UInt32(clamping: request.reducedSize?.height ?? 0))
            return unsafe try run { error in unsafe self.api.decode(self.handle, &raw, error) }
        }
        return status == CPI_PARTIAL ? .partial(try changed(in: place.rect.size)) : .complete
    }

    /// What the last `decode` changed; everything where the plugin does not say.
    private func changed(in size: PixelSize) throws(CoderError) -> PixelRect {
        guard let dirty = unsafe api.dirty else { return PixelRect(size) }
        var raw = cpi_rect()
        unsafe try run { error in unsafe dirty(self.handle, &raw, error) }
        return PixelRect(raw).intersection(PixelRect(size))
    }

    // MARK: Thumbnails

    /// The extension's table; nil where the plugin has none, or answers with another table.
    private func thumbnailTable() -> cpi_thumbnail_api? {
        guard let get = unsafe api.get, let table = unsafe plugin.enter({ unsafe get(handle, CPI_EXT_THUMBNAIL) })
        else { return nil }
        let head = unsafe table.load(as: cpi_table.self)
        guard head.tag == CPI_EXT_THUMBNAIL_TAG, Int(head.size) >= MemoryLayout<cpi_thumbnail_api>.size else {
            return nil
        }
        return unsafe table.load(as: cpi_thumbnail_api.self)
    }

    func thumbnail(at index: Int) throws(CoderError) -> ImageInfo? {
        guard let table = thumbnailTable(), let number = UInt32(exactly: index) else { return nil }
        var raw = cpi_image_info()
        raw.size = UInt32(MemoryLayout<cpi_image_info>.size)
        let status = unsafe try run { error in unsafe table.info(self.handle, number, &raw, error) }
        return status == CPI_END ? nil : try ImageInfo(raw)
    }

    func decodeThumbnail(at index: Int, into place: CanvasPlace) throws(CoderError) {
        guard let table = thumbnailTable(), let number = UInt32(exactly: index) else {
            throw .invalidArgument("there is no thumbnail \(index)")
        }
        unsafe try withSurface(place) { surface throws(CoderError) in
            unsafe try run { error in unsafe table.decode(self.handle, number, surface, error) }
        }
    }
}

/// Opens a session of a plugin, and closes what it opened although it failed.
@unsafe
func openSession(
    of plugin: LoadedPlugin, _ id: String, _ options: CoderOptions,
    _ open: (
        UnsafePointer<cpi_options>?, UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<cpi_error>
    ) -> cpi_status,
    close: (OpaquePointer) -> Void
) throws(CoderError) -> OpaquePointer {
    var call = ContractCall()
    var opened: OpaquePointer?
    let status = unsafe withOptions(options) { options in
        plugin.enter { unsafe open(options, &opened, &call.error) }
    }
    if let failure = call.failure(status, coder: id) {
        if let opened = unsafe opened { plugin.enter { unsafe close(opened) } }
        throw failure
    }
    guard let opened = unsafe opened else {
        throw CoderError(.pluginFault, "the plugin opened no session", coder: id)
    }
    return unsafe opened
}

/// Lends a rectangle of a buffer to a plugin for one call.
@discardableResult
func withSurface<R>(
    _ place: CanvasPlace, _ body: (UnsafePointer<cpi_surface>) throws(CoderError) -> R
) throws(CoderError) -> R {
    let buffer = place.buffer
    return try unsafe buffer.withUnsafeMutableBytes { bytes throws(CoderError) in
        let offset = place.rect.y * buffer.stride + place.rect.x * buffer.format.bytesPerPixel
        var surface = unsafe cpi_surface(
            size: UInt32(MemoryLayout<cpi_surface>.size), flags: 0, format: buffer.format.contract,
            width: UInt32(place.rect.width), height: UInt32(place.rect.height), stride: UInt64(buffer.stride),
            pixels: bytes.baseAddress!.assumingMemoryBound(to: UInt8.self) + offset,
            byte_count: UInt64(buffer.byteCount - offset))
        return try unsafe body(&surface)
    }
}
