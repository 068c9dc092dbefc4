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

    deinit { plugin.enter { unsafe api.close(handle) } }

    func accept(
        _ info: inout cpi_image_info, _ formats: inout [cpi_format_offer], _ error: inout cpi_error
    ) -> cpi_status {
        collectFormats(&formats) { index, offer in
            plugin.enter { unsafe api.accept(handle, &info, index, &offer, &error) }
        }
    }

    func begin(_ info: inout cpi_image_info, _ sink: PluginSink, _ error: inout cpi_error) -> cpi_status {
        self.sink = sink
        return plugin.enter { unsafe api.begin(handle, &info, sink.pointer, &error) }
    }

    func add(_ blob: MetadataBlob, _ error: inout cpi_error) -> cpi_status? {
        guard let add = unsafe api.add_blob else { return nil }
        return unsafe blob.bytes.withUnsafeBufferPointer { bytes in
            unsafe (blob.key ?? "").withCString { key in
                var raw = unsafe cpi_blob(
                    size: UInt32(MemoryLayout<cpi_blob>.size), kind: blob.kind.rawValue,
                    key: blob.key == nil ? nil : key, bytes: bytes.baseAddress, length: UInt64(bytes.count))
                return plugin.enter { unsafe add(handle, &raw, &error) }
            }
        }
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

    func addThumbnail(_ pixels: PixelBuffer, _ error: inout cpi_error) -> cpi_status? {
        guard let table = thumbnailTable() else { return nil }
        return unsafe withSurface(CanvasPlace(pixels)) { surface in
            plugin.enter { unsafe table.add(handle, surface, &error) }
        }
    }

    func add(_ frame: inout cpi_frame_info, _ pixels: PixelBuffer, _ error: inout cpi_error) -> cpi_status {
        unsafe withSurface(CanvasPlace(pixels)) { surface in
            plugin.enter { unsafe api.add_frame(handle, &frame, surface, &error) }
        }
    }

    func finish(_ error: inout cpi_error) -> cpi_status { plugin.enter { unsafe api.finish(handle, &error) } }
}
