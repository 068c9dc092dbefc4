import CCoderPlugin
import ImageModel

/// A plugin's encoding session as Swift.
final class ImportedEncoder: FrameEncoder {
    private let port: any EncoderPort
    private let id: String
    private var sink: PluginSink?

    init(_ port: any EncoderPort, coder id: String) {
        self.port = port
        self.id = id
    }

    @discardableResult
    private func run(
        _ call: String, _ body: (inout cpi_error) throws(CoderError) -> cpi_status?
    ) throws(CoderError) -> cpi_status? {
        var contract = ContractCall()
        guard let status = try body(&contract.error) else { return nil }
        // The sink's own error says more than the plugin's.
        if status < 0, let error = sink?.error { throw error }
        if let failure = contract.failure(status, of: call, coder: id) { throw failure }
        return status
    }

    func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        var facts = info.contract
        var accepted: [cpi_format_offer] = []
        try run("accept") { error throws(CoderError) in try port.accept(&facts, &accepted, &error) }
        for offer in accepted { try offer.requireUnderstood() }
        let result = PixelFormat.distinct(accepted.map(\.format))
        guard !result.isEmpty else { throw CoderError(.pluginFault, "the plugin accepts no pixel format", coder: id) }
        return result
    }

    func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError) {
        let table = PluginSink(sink)
        self.sink = table
        var facts = info.contract
        try run("begin") { error throws(CoderError) in try port.begin(&facts, table, &error) }
    }

    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        try offered("add_blob") { error throws(CoderError) in try port.add(blob, &error) }
    }

    func addThumbnail(_ pixels: PixelBuffer) throws(CoderError) -> Bool {
        try offered("the thumbnail's add") { error throws(CoderError) in try port.addThumbnail(pixels, &error) }
    }

    /// Hands over what the format may have no place for.
    private func offered(
        _ call: String, _ body: (inout cpi_error) throws(CoderError) -> cpi_status?
    ) throws(CoderError) -> Bool {
        var contract = ContractCall()
        guard let status = try body(&contract.error), status != CPI_UNSUPPORTED else { return false }
        if let failure = contract.failure(status, of: call, coder: id) { throw failure }
        return true
    }

    func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError) {
        var facts = frame.contract
        try run("add_frame") { error throws(CoderError) in try port.add(&facts, pixels, &error) }
    }

    func finish() throws(CoderError) {
        try run("finish") { error throws(CoderError) in try port.finish(&error) }
        if let error = sink?.error { throw error }
    }
}
