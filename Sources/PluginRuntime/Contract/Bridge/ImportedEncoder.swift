import CCoderPlugin
import HostSystem
import ImageModel
import ImageProcessing

/// A Swift interface to a plugin's encoding session.
final class ImportedEncoder: FrameEncoder {
    private let port: any EncoderPort
    private let id: String
    private var sink: PluginSink?
    /// The row alignment of a surface in bytes, by format.
    private var alignments: [PixelFormat: Int] = [:]

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
        // The sink's own error is more specific than the plugin's.
        if status < 0, let error = sink?.error { throw error }
        if let failure = contract.failure(status, of: call, coder: id) { throw failure }
        return status
    }

    func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        var facts = info.contract
        var accepted: [cpi_format_offer] = []
        try run("accept") { error throws(CoderError) in try port.accept(&facts, &accepted, &error) }
        for offer in accepted {
            try offer.requireUnderstood()
            guard RowAlignment.isLegal(offer.row_align) else { throw .undefined("row_align", offer.row_align) }
            if let format = PixelFormat(offer.format) { alignments[format] = Int(offer.row_align) }
        }
        let result = PixelFormat.distinct(accepted.map(\.format))
        guard !result.isEmpty else { throw CoderError(.pluginFault, "the plugin accepts no pixel format", coder: id) }
        return result
    }

    func beginItem(_ item: ItemDescription) throws(CoderError) {
        var contract = ContractCall()
        guard let status = try port.nextItem(item, &contract.error) else {
            throw CoderError(.refused, "\(id) writes one image", coder: id)
        }
        if status < 0, let error = sink?.error { throw error }
        if let failure = contract.failure(status, of: "next_item", notes: [CPI_REFUSED], coder: id) { throw failure }
        if status == CPI_REFUSED {
            var refusal = contract.refusal(coder: id)
            if refusal.message.isEmpty { refusal.message = "the encoder refuses a further image" }
            throw refusal
        }
    }

    func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError) {
        // Items of one output have one sink, which the plugin may have kept.
        let table = self.sink ?? PluginSink(sink)
        self.sink = table
        var facts = info.contract
        try run("begin") { error throws(CoderError) in try port.begin(&facts, table, &error) }
    }

    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        try offered("add_blob") { error throws(CoderError) in try port.add(blob, &error) }
    }

    func addThumbnail(_ pixels: PixelBuffer) throws(CoderError) -> Bool {
        try offered("the thumbnail's add") { error throws(CoderError) in
            try port.addThumbnail(CanvasPlace(pixels), &error)
        }
    }

    /// Passes optional content; returns whether the format can store it.
    private func offered(
        _ call: String, _ body: (inout cpi_error) throws(CoderError) -> cpi_status?
    ) throws(CoderError) -> Bool {
        var contract = ContractCall()
        guard let status = try body(&contract.error) else { return false }
        if let failure = contract.failure(status, of: call, notes: [CPI_REFUSED], coder: id) { throw failure }
        return status == CPI_OK
    }

    // MARK: Rows

    func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int? {
        var facts = frame.contract
        var rows: UInt32 = 0
        let takesRows = try offered("begin_rows") { error throws(CoderError) in
            try port.beginRows(&facts, &rows, &error)
        }
        if !takesRows { return nil }
        guard rows > 0 else { throw CoderError(.pluginFault, "the plugin requests bands of 0 rows", coder: id) }
        return Int(rows)
    }

    func addRows(_ pixels: PixelBuffer) throws(CoderError) {
        let place = try aligned(pixels)
        try run("add_rows") { error throws(CoderError) in try port.addRows(place, &error) }
    }

    /// Returns the pixels with the row alignment that the plugin requires.
    private func aligned(_ pixels: PixelBuffer) throws(CoderError) -> CanvasPlace {
        guard let rowAlign = alignments[pixels.format], rowAlign > 1 else { return CanvasPlace(pixels) }
        return try RowAlignment.aligned(pixels, rowAlign, .shared)
    }

    func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError) {
        var facts = frame.contract
        let place = try aligned(pixels)
        try run("add_frame") { error throws(CoderError) in try port.add(&facts, place, &error) }
    }

    func finish() throws(CoderError) {
        try run("finish") { error throws(CoderError) in try port.finish(&error) }
        if let error = sink?.error { throw error }
    }
}
