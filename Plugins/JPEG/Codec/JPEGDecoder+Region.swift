import CoderPluginKit
import ImageModel

extension JPEGDecoder {
    /// Decodes a part of the image, to the bit as it is in the whole.
    ///
    /// Of one scan, rows below the part are not read and rows above it are not made into samples. Coefficients of several
    /// scans are all read, once for any number of parts.
    ///
    /// - Parameter part: in pixels of the scaled image, within it.
    /// - Throws: `.needsInput` until the source is complete.
    func decodeRegion(
        _ part: PixelRect, _ picture: Picture, _ request: DecodeRequest, _ surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let image = try facts()
        guard session.source.isComplete else { throw .needsInput }
        try leaveRun(for: picture)
        let (decompressor, header) = try begin()
        if run == nil { try beginRun(picture, decompressor, header, image) }
        try decompressor.start(run?.format ?? picture.format, scale: run?.scale ?? picture.scale)
        if header.isMultiScan {
            guard try absorb(decompressor) else { throw .needsInput }
            try decompressor.beginPass(.best, scale: picture.scale, for: surface)
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

    /// Ends a run that cannot be gone on with: rows of one scan come once, from the first on.
    private func leaveRun(for picture: Picture) throws(CoderError) {
        guard let run else { return }
        if try begin().header.isMultiScan {
            try endBands()
            if run.isSkimmed, run.scale != picture.scale { close() }
        } else {
            close()
        }
    }

    /// Fills the surface and answers how many of its rows are whole.
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
