import CCoderPlugin
import ImageModel

/// The rewriting functions of a plugin in this process.
@safe final class LocalRewriter: RewritePort {
    private let plugin: LoadedPlugin
    private let coder: LoadedPlugin.Coder
    private let services: ServicesTable
    private let source: ImageSource
    private let context: SessionContext

    init(
        _ plugin: LoadedPlugin, coder id: String, source: ImageSource, context: SessionContext
    ) throws(CoderError) {
        guard let coder = plugin.coder(id) else { throw CoderError(.misuse, "there is no coder \(id)") }
        self.plugin = plugin
        self.coder = coder
        self.source = source
        self.context = context
        services = ServicesTable(context)
    }

    private func table<T>(_ type: T.Type, _ id: String, _ tag: UInt64) -> T? {
        guard let table = unsafe plugin.table(id) else { return nil }
        return unsafe importTable(table.assumingMemoryBound(to: T.self), tag: tag)
    }

    func rewrite(
        _ request: RewriteRequest, _ sink: PluginSink, _ outcome: inout cpi_rewrite_outcome, _ error: inout cpi_error
    ) -> cpi_status? {
        guard let table = table(cpi_rewrite_api.self, CPI_EXT_REWRITE, CPI_EXT_REWRITE_TAG),
            let rewrite = unsafe given(table.rewrite)
        else { return nil }
        var input = unsafe source.storage.contract(ending: source.extensionHint)
        return unsafe withBlobs(request.replaced) { blobs in
            var raw = unsafe cpi_rewrite_request(
                size: UInt32(MemoryLayout<cpi_rewrite_request>.size), flags: request.flags, remove: request.removedBits,
                orientation: UInt32(request.transform.rawValue), crop: request.crop?.contract ?? cpi_rect(),
                blobs: blobs.baseAddress, blob_stride: UInt64(MemoryLayout<cpi_blob>.stride),
                blob_count: UInt32(blobs.count), reserved: 0)
            return unsafe withOptions(of: context) { options in
                plugin.enter(context) {
                    unsafe rewrite(
                        coder.pointer, services.servicesPointer, services.limitsPointer, options, &raw, &input,
                        sink.pointer, &outcome, &error)
                }
            }
        }
    }

    func transcode(
        _ direction: TranscodeDirection, _ format: ImageFormat, _ sink: PluginSink, _ error: inout cpi_error
    ) -> cpi_status? {
        guard let table = table(cpi_transcode_api.self, CPI_EXT_TRANSCODE, CPI_EXT_TRANSCODE_TAG),
            let transcode = unsafe given(table.transcode)
        else { return nil }
        var input = unsafe source.storage.contract(ending: source.extensionHint)
        return unsafe withOptions(of: context) { options in
            plugin.enter(context) {
                unsafe transcode(
                    coder.pointer, services.servicesPointer, services.limitsPointer, options, direction.rawValue,
                    format.id, &input, sink.pointer, &error)
            }
        }
    }
}

/// Calls `body` with metadata in the form of the contract, valid during the call.
@unsafe
private func withBlobs<R>(_ blobs: [MetadataBlob], _ body: (UnsafeBufferPointer<cpi_blob>) -> R) -> R {
    var arena: [UnsafeMutableBufferPointer<UInt8>] = unsafe []
    defer { unsafe arena.forEach { unsafe $0.deallocate() } }
    func copy(_ bytes: [UInt8]) -> UnsafePointer<UInt8>? {
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
        _ = unsafe memory.initialize(from: bytes)
        unsafe arena.append(memory)
        return unsafe UnsafePointer(memory.baseAddress)
    }
    let items = unsafe blobs.map { blob in
        unsafe cpi_blob(
            size: UInt32(MemoryLayout<cpi_blob>.size), kind: blob.kind.rawValue,
            key: blob.key.flatMap { key in
                unsafe copy(Array(key.utf8) + [0]).map {
                    unsafe UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self)
                }
            }, bytes: copy(blob.bytes), length: UInt64(blob.bytes.count))
    }
    return unsafe items.withUnsafeBufferPointer { unsafe body($0) }
}
