import HostSystem
import ImageModel
import ImageProcessing
import PluginRuntime

/// Passes the rows of an image to an encoder in bands.
///
/// If the encoder's session may use several threads, a second thread decodes the next band in the meantime.
// Sendable because: each side is used by one thread at a time, and shared state is handed over between steps.
final class BandPipeline: @unchecked Sendable {
    private let rows: any RowSource
    private let encoder: any FrameEncoder
    private let plan: EncodingPlan
    private let context: SessionContext
    /// The number of rows in every band but the last.
    private let step: Int
    private let decodesAhead: Bool
    /// The first row that is not decoded yet.
    private var y = 0

    /// - Parameter multiple: the row count of every band but the last is a multiple of this.
    init(
        _ rows: any RowSource, multiple: Int, to encoder: any FrameEncoder, _ plan: EncodingPlan,
        _ context: SessionContext
    ) {
        self.rows = rows
        self.encoder = encoder
        self.plan = plan
        self.context = context
        step = min(rows.size.height, max(1, RowImage.rowsPerBand(of: rows.size, rows.format) / multiple) * multiple)
        decodesAhead = context.threadHint > 1
    }

    /// Encodes all rows.
    func run() throws(CoderError) {
        var band = try decode(into: nil)
        var spare: PixelBuffer?
        while y < rows.size.height {
            guard decodesAhead else {
                try encode(band)
                band = try decode(into: band)
                continue
            }
            let next = try encode(band, decodingInto: spare)
            spare = band
            band = next
        }
        try encode(band)
    }

    /// Encodes a band while another thread decodes and returns the next one.
    private func encode(_ band: PixelBuffer, decodingInto spare: PixelBuffer?) throws(CoderError) -> PixelBuffer {
        let outcome = Mutex<(failure: CoderError?, next: Result<PixelBuffer, CoderError>)>((nil, .success(band)))
        runInParallel(2, threads: 2) { [self] index in
            if index == 0 {
                do throws(CoderError) { try encode(band) } catch { outcome.withLock { $0.failure = error } }
            } else {
                let next = Result { () throws(CoderError) in try decode(into: spare) }
                outcome.withLock { $0.next = next }
            }
        }
        let (failure, next) = outcome.withLock { $0 }
        // If both failed, throw the error of the earlier rows, like a single thread would.
        if let failure { throw failure }
        return try next.get()
    }

    private func encode(_ band: PixelBuffer) throws(CoderError) {
        let bytes = try plan.byteCount(with: band) + (decodesAhead ? band.byteCount : 0)
        try context.holding(pixelBytes: bytes) { () throws(CoderError) in
            try encoder.addRows(try plan.prepared(band))
        }
    }

    /// Decodes the next band, reusing the memory of an earlier one if it fits.
    private func decode(into spare: PixelBuffer?) throws(CoderError) -> PixelBuffer {
        let size = PixelSize(rows.size.width, min(step, rows.size.height - y))
        let band =
            if let spare, spare.size == size { spare } else {
                try PixelBufferPool.shared.take(size, rows.format, clean: false)
            }
        for row in 0..<size.height {
            try rows.withRow(y + row) { bytes throws(CoderError) in band.withMutableRow(row) { $0.copy(bytes) } }
        }
        y += size.height
        return band
    }
}
