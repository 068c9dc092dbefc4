import CCoderPlugin
import ImageModel

/// A plugin's encoding session as Swift.
@safe final class ImportedEncoder: FrameEncoder {
    private let plugin: LoadedPlugin
    private let api: cpi_encoder_api
    private let id: String
    private let handle: OpaquePointer
    private let services: ServicesTable
    private var sink: SinkTable?

    init(_ plugin: LoadedPlugin, coder id: String, context: SessionContext) throws(CoderError) {
        guard let coder = plugin.coder(id), let api = coder.encoder else {
            throw CoderError(.misuse, "\(id) does not encode")
        }
        self.plugin = plugin
        self.api = api
        self.id = id
        services = ServicesTable(context)
        let table = services
        unsafe handle = unsafe try openSession(of: plugin, id, context.options) { options, opened, error in
            unsafe api.open(coder.pointer, table.servicesPointer, table.limitsPointer, options, opened, error)
        } close: { opened in
            unsafe api.close(opened)
        }
    }

    deinit { plugin.enter { unsafe api.close(handle) } }

    @discardableResult
    private func run(_ body: (UnsafeMutablePointer<cpi_error>) -> cpi_status) throws(CoderError) -> cpi_status {
        var call = ContractCall()
        let status = plugin.enter { unsafe body(&call.error) }
        // The sink's own error says more than the plugin's.
        if status < 0, let error = sink?.error { throw error }
        if let failure = call.failure(status, coder: id) { throw failure }
        return status
    }

    func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        var facts = info.contract
        var result: [PixelFormat] = []
        for index in 0..<UInt32(32) {
            var raw = cpi_format_offer()
            raw.size = UInt32(MemoryLayout<cpi_format_offer>.size)
            let status = unsafe try run { error in unsafe self.api.accept(self.handle, &facts, index, &raw, error) }
            if status == CPI_END { break }
            if let format = PixelFormat(raw.format), !result.contains(format) { result.append(format) }
        }
        guard !result.isEmpty else { throw CoderError(.pluginFault, "the plugin accepts no pixel format", coder: id) }
        return result
    }

    func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError) {
        let table = SinkTable(sink)
        self.sink = table
        var facts = info.contract
        unsafe try run { error in unsafe self.api.begin(self.handle, &facts, table.pointer, error) }
    }

    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        guard let add = unsafe api.add_blob else { return false }
        var call = ContractCall()
        let status = unsafe blob.bytes.withUnsafeBufferPointer { bytes in
            unsafe (blob.key ?? "").withCString { key in
                var raw = unsafe cpi_blob(
                    size: UInt32(MemoryLayout<cpi_blob>.size), kind: blob.kind.rawValue,
                    key: blob.key == nil ? nil : key, bytes: bytes.baseAddress, length: UInt64(bytes.count))
                return plugin.enter { unsafe add(handle, &raw, &call.error) }
            }
        }
        if status == CPI_UNSUPPORTED { return false }
        if let failure = call.failure(status, coder: id) { throw failure }
        return true
    }

    /// The extension's table; nil where the plugin has none, or answers with another table.
    private func thumbnailTable() -> cpi_thumbnail_encode_api? {
        guard let get = unsafe api.get,
            let table = unsafe plugin.enter({ unsafe get(handle, CPI_EXT_THUMBNAIL_ENCODE) })
        else { return nil }
        let head = unsafe table.load(as: cpi_table.self)
        guard head.tag == CPI_EXT_THUMBNAIL_ENCODE_TAG, Int(head.size) >= MemoryLayout<cpi_thumbnail_encode_api>.size
        else { return nil }
        return unsafe table.load(as: cpi_thumbnail_encode_api.self)
    }

    func addThumbnail(_ pixels: PixelBuffer) throws(CoderError) -> Bool {
        guard let table = thumbnailTable() else { return false }
        var call = ContractCall()
        let status = unsafe try withSurface(CanvasPlace(pixels)) { surface throws(CoderError) in
            plugin.enter { unsafe table.add(handle, surface, &call.error) }
        }
        if status == CPI_UNSUPPORTED { return false }
        if let failure = call.failure(status, coder: id) { throw failure }
        return true
    }

    func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError) {
        var facts = frame.contract
        unsafe try withSurface(CanvasPlace(pixels)) { surface throws(CoderError) in
            unsafe try run { error in unsafe self.api.add_frame(self.handle, &facts, surface, error) }
        }
    }

    func finish() throws(CoderError) {
        let status = unsafe try run { error in unsafe self.api.finish(self.handle, error) }
        guard status == CPI_OK else {
            throw CoderError(.pluginFault, "the plugin did not finish its output", coder: id)
        }
        if let error = sink?.error { throw error }
    }
}

/// An output sink as a plugin sees it, at an address that stays valid as long as this object lives.
@safe final class SinkTable {
    private let sink: any OutputSink
    private let table: UnsafeMutablePointer<cpi_sink>
    /// What the sink threw; a plugin only passes on a number.
    private(set) var error: CoderError?

    var pointer: UnsafePointer<cpi_sink> { unsafe UnsafePointer(table) }

    init(_ sink: any OutputSink) {
        self.sink = sink
        unsafe table = .allocate(capacity: 1)
        unsafe table.initialize(
            to: cpi_sink(
                size: UInt32(MemoryLayout<cpi_sink>.size), flags: sink.isSeekable ? CPI_SINK_SEEKABLE : 0,
                ctx: Unmanaged.passUnretained(self).toOpaque(),
                write: { ctx, bytes, count in
                    let table = unsafe Unmanaged<SinkTable>.fromOpaque(ctx!).takeUnretainedValue()
                    guard let length = Int(exactly: count) else { return CPI_IO }
                    let span = unsafe UnsafeRawBufferPointer(start: bytes, count: length)
                    return table.answer { () throws(CoderError) in try unsafe table.sink.write(span.bytes) }
                },
                write_at: !sink.isSeekable
                    ? nil
                    : { ctx, offset, bytes, count in
                        let table = unsafe Unmanaged<SinkTable>.fromOpaque(ctx!).takeUnretainedValue()
                        guard let length = Int(exactly: count), let at = Int(exactly: offset) else { return CPI_IO }
                        let span = unsafe UnsafeRawBufferPointer(start: bytes, count: length)
                        return table.answer { () throws(CoderError) in
                            try unsafe table.sink.overwrite(span.bytes, at: at)
                        }
                    }))
    }

    deinit { unsafe table.deallocate() }

    /// Keeps what the sink throws and makes a number of it.
    private func answer(_ body: () throws(CoderError) -> Void) -> cpi_status {
        do throws(CoderError) {
            try body()
            return CPI_OK
        } catch {
            if self.error == nil { self.error = error }
            return error.code == .limitExceeded ? CPI_LIMIT : CPI_IO
        }
    }
}
