import CCoderPlugin
import HostSystem
import ImageModel

/// A Swift interface to a plugin's rewriting functions.
struct ImportedRewriter {
    private let port: any RewritePort
    private let id: String

    init(_ port: any RewritePort, coder id: String) {
        self.port = port
        self.id = id
    }

    private func run(
        _ call: String, to sink: any OutputSink,
        _ body: (PluginSink, inout cpi_error) throws(CoderError) -> cpi_status?
    ) throws(CoderError) {
        let table = PluginSink(sink)
        var contract = ContractCall()
        let status = try body(table, &contract.error)
        // The sink's own error is more specific than the plugin's.
        if let error = table.error { throw error }
        guard let status else { throw CoderError(.refused, "the plugin has no table for \(call)", coder: id) }
        if let failure = contract.failure(status, of: call, notes: [CPI_REFUSED], coder: id) { throw failure }
        if status == CPI_REFUSED { throw contract.refusal(coder: id) }
    }

    func rewrite(_ request: RewriteRequest, to sink: any OutputSink) throws(CoderError) -> RewriteOutcome {
        var raw = cpi_rewrite_outcome()
        raw.size = UInt32(MemoryLayout<cpi_rewrite_outcome>.size)
        try run("rewrite", to: sink) { sink, error throws(CoderError) in
            try port.rewrite(request, sink, &raw, &error)
        }
        try raw.requireUnderstood()
        return RewriteOutcome(
            kept: PixelRect(raw.kept), droppedItems: raw.flags & CPI_REWRITE_DROPPED_ITEMS != 0,
            droppedThumbnails: raw.flags & CPI_REWRITE_DROPPED_THUMBNAILS != 0)
    }

    func transcode(
        _ direction: TranscodeDirection, _ format: ImageFormat, to sink: any OutputSink
    ) throws(CoderError) {
        try run("transcode", to: sink) { sink, error throws(CoderError) in
            try port.transcode(direction, format, sink, &error)
        }
    }
}

extension RewriteRequest {
    /// The flags word of the contract.
    var flags: UInt32 {
        (optimizes ? CPI_REWRITE_OPTIMIZE : 0) | (isPerfect ? CPI_REWRITE_PERFECT : 0)
            | (removesThumbnails ? CPI_REWRITE_THUMBNAILS : 0)
    }
    /// The metadata kinds to remove, one bit each.
    var removedBits: UInt32 { removed.reduce(0) { $0 | 1 << $1.rawValue } }
}
