import CCoderPlugin
import ImageModel

/// A plugin's encoding session in this process.
@safe final class LocalEncoder: EncoderPort {
    private let plugin: LoadedPlugin
    private let api: cpi_encoder_api
    private let handle: OpaquePointer
    private let services: ServicesTable
    private var sink: PluginSink?

    init(_ plugin: LoadedPlugin, coder id: String, context: SessionContext) throws(CoderError) {
        guard let coder = plugin.coder(id), let api = coder.encoder else {
            throw CoderError(.misuse, "\(id) does not encode")
        }
        self.plugin = plugin
        self.api = api
        services = ServicesTable(context)
        let table = services
        unsafe handle = unsafe try openSession(of: plugin, id, context) { options, opened, error in
            unsafe api.open(coder.pointer, table.servicesPointer, table.limitsPointer, options, opened, error)
        }
    }

    deinit { enter { unsafe api.close(handle) } }

    /// Calls the plugin, exclusively if it is serial.
    @inline(__always)
    private func enter<R>(_ body: () -> R) -> R { plugin.enter(services.context, body) }

    func accept(
        _ info: inout cpi_image_info, _ formats: inout [cpi_format_offer], _ error: inout cpi_error
    ) -> cpi_status {
        collectFormats(&formats) { index, offer in
            enter { unsafe api.accept(handle, &info, index, &offer, &error) }
        }
    }

    func begin(_ info: inout cpi_image_info, _ sink: PluginSink, _ error: inout cpi_error) -> cpi_status {
        self.sink = sink
        return enter { unsafe api.begin(handle, &info, sink.pointer, &error) }
    }

    func add(_ blob: MetadataBlob, _ error: inout cpi_error) -> cpi_status? {
        guard let add = unsafe api.add_blob else { return nil }
        return unsafe blob.bytes.withUnsafeBufferPointer { bytes in
            unsafe (blob.key ?? "").withCString { key in
                var raw = unsafe cpi_blob(
                    size: UInt32(MemoryLayout<cpi_blob>.size), kind: blob.kind.rawValue,
                    key: blob.key == nil ? nil : key, bytes: bytes.baseAddress, length: UInt64(bytes.count))
                return enter { unsafe add(handle, &raw, &error) }
            }
        }
    }

    /// Returns the table of an extension; nil if the plugin has none or returns another table.
    private func table<T>(_ type: T.Type, _ id: String, _ tag: UInt64) -> T? {
        guard let get = unsafe api.get, let table = unsafe enter({ unsafe get(handle, id) }) else { return nil }
        return unsafe importTable(table.assumingMemoryBound(to: T.self), tag: tag)
    }

    func addThumbnail(_ place: CanvasPlace, _ error: inout cpi_error) -> cpi_status? {
        let table = table(
            cpi_thumbnail_encode_api.self, CPI_EXT_THUMBNAIL_ENCODE, CPI_EXT_THUMBNAIL_ENCODE_TAG)
        guard let table, let add = unsafe given(table.add) else { return nil }
        return unsafe withSurface(place) { surface in
            enter { unsafe add(handle, surface, &error) }
        }
    }

    func nextItem(_ item: ItemDescription, _ error: inout cpi_error) -> cpi_status? {
        let table = table(cpi_encode_items_api.self, CPI_EXT_ENCODE_ITEMS, CPI_EXT_ENCODE_ITEMS_TAG)
        guard let table, let next = unsafe given(table.next_item) else { return nil }
        return unsafe (item.name ?? "").withCString { name in
            unsafe (item.kind ?? "").withCString { kind in
                var raw = unsafe cpi_item(
                    size: UInt32(MemoryLayout<cpi_item>.size), flags: 0, role: item.role.rawValue,
                    of: item.contractOwner, group: UInt32(clamping: item.group ?? 0), reserved: 0,
                    name: item.name == nil ? nil : name, kind: item.kind == nil ? nil : kind)
                return enter { unsafe next(handle, &raw, &error) }
            }
        }
    }

    private func rows() -> cpi_encode_rows_api? {
        table(cpi_encode_rows_api.self, CPI_EXT_ENCODE_ROWS, CPI_EXT_ENCODE_ROWS_TAG)
    }

    func beginRows(_ frame: inout cpi_frame_info, _ rows: inout UInt32, _ error: inout cpi_error) -> cpi_status? {
        guard let table = self.rows(), let begin = unsafe given(table.begin_rows),
            unsafe given(table.add_rows) != nil
        else { return nil }
        return enter { unsafe begin(handle, &frame, &rows, &error) }
    }

    func addRows(_ place: CanvasPlace, _ error: inout cpi_error) -> cpi_status? {
        guard let table = rows(), let add = unsafe given(table.add_rows) else { return nil }
        return unsafe withSurface(place) { surface in
            enter { unsafe add(handle, surface, &error) }
        }
    }

    func add(_ frame: inout cpi_frame_info, _ place: CanvasPlace, _ error: inout cpi_error) -> cpi_status {
        unsafe withSurface(place) { surface in
            enter { unsafe api.add_frame(handle, &frame, surface, &error) }
        }
    }

    func finish(_ error: inout cpi_error) -> cpi_status { enter { unsafe api.finish(handle, &error) } }
}
