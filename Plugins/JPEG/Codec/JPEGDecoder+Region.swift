import CoderPluginKit
import ImageModel

extension JPEGDecoder {
    /// Decodes a part of the image; its pixels equal those of the full image exactly.
    ///
    /// In a single-scan image, rows below the part are not read, and rows above it are not transformed. In a multi-scan
    /// image all coefficients are read, once for any number of parts.
    ///
    /// - Parameter part: the part in pixels of the scaled image.
    /// - Throws: `.needsInput` until the source is complete.
    func decodeRegion(
        _ part: PixelRect, _ output: OutputForm, _ request: DecodeRequest, _ surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let image = try facts()
        guard session.source.isComplete else { throw .needsInput }
        try leaveRun(for: output)
        let (decompressor, header) = try begin()
        if run == nil { try beginRun(output, decompressor, header, image) }
        try decompressor.start(run?.format ?? output.format, scale: run?.scale ?? output.scale)
        if header.isMultiScan {
            guard try absorb(decompressor) else { throw .needsInput }
            try decompressor.beginPass(.best, scale: output.scale, for: surface)
        }
        try decompressor.beginPart(part)
        let rows = try fill(surface, decompressor)
        if header.isMultiScan {
            try decompressor.endPass()
            if !decompressor.isTruncated { return .complete }
        } else {
            if rows == part.height, let warning = decompressor.warning { session.host.warn(warning) }
            close()
            if rows == part.height { return .complete }
        }
        if request.wantsPartial, rows > 0 { return .partial(PixelRect(x: 0, y: 0, width: part.width, height: rows)) }
        throw .truncated("the image ends at row \(rows) of the \(part.height) rows of the region")
    }

    /// Ends a run that cannot continue: rows of one scan come once, from the first on.
    private func leaveRun(for output: OutputForm) throws(CoderError) {
        guard let run else { return }
        if try begin().header.isMultiScan {
            try endBands()
            if run.isSkimmed, run.scale != output.scale { close() }
        } else {
            close()
        }
    }

    /// Fills the surface and returns the number of complete rows.
    private func fill(_ surface: borrowing Surface, _ decompressor: JPEGDecompressor) throws(CoderError) -> Int {
        var row = 0
        while true {
            try session.host.checkCancellation()
            switch try decompressor.partRows(into: surface, row: &row) {
            case .done: return row
            case .truncated: return row
            case .more: session.host.progress(row, of: surface.size.height)
            case .needsInput: throw CoderError(.misuse, "a complete source asked for more input")
            }
        }
    }
}
