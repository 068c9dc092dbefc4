internal import CoderPluginKit
internal import ImageModel
internal import Light

/// Decodes one level of a part from its chunks: tiles, or groups of rows.
final class PartReader {
    private let source: Source
    private let form: PartForm
    private let session: DecoderSession
    /// The pixels that are stored, on the canvas.
    private let place: PixelRect
    private let block: PixelSize
    private var rows: SampleRows
    private let planes: [EXRFile.Plane]
    private var memory: Memory
    private var lines: LineReader?
    private var reserved = 0

    /// A level of a part, and its file.
    struct Source {
        let file: EXRFile
        let part: Part
        let level: Int
        /// Tells which chunks the file lacks; nil if it is unknown.
        let places: ChunkPlaces?
    }

    /// Samples of chunks.
    private struct Memory {
        /// Samples that no channel has: 0, and 1 for alpha.
        let blank: [UInt8]
        /// Decoded chunks that reach below the last band.
        var kept: [Int: [UInt8]] = [:]
        var scratch: [[UInt8]] = []
    }

    /// - Throws: `.limitExceeded` if the chunks need too much memory.
    init(_ source: Source, _ form: PartForm, curve: LightCurve?, _ session: DecoderSession) throws(CoderError) {
        (self.source, self.form, self.session) = (source, form, session)
        let (part, level) = (source.part, source.level)
        let size = part.storage.levels[level]
        place = PixelRect(
            x: level == 0 ? part.origin.x : 0, y: level == 0 ? part.origin.y : 0, width: size.width,
            height: size.height)
        let tile = part.storage.tile ?? PixelSize(size.width, part.storage.rows)
        block = PixelSize(min(tile.width, size.width), min(tile.height, size.height))
        let pixel = form.channels.count * form.sampleBytes
        guard !block.isEmpty, let area = block.area, area < 1 << 40, block.width < 1 << 26 else {
            throw .corrupt("the chunks have no valid size")
        }
        let across = (size.width - 1) / block.width + 1
        let (library, overflow) = part.storage.chunkBytes.multipliedReportingOverflow(by: 4)
        guard !overflow, library < 1 << 48 else { throw .corrupt("the chunks have no valid size") }
        // A row of tiles may be kept for the next band.
        reserved = library + area * pixel * (across + 1)
        // Some rows of floats around the current one.
        if form.isSubsampled { reserved += 16 * size.width * (2 * block.height + 3 * LineReader.mostPixels) }
        do throws(CoderError) { try session.host.reserve(bytes: reserved) } catch {
            reserved = 0
            throw error
        }
        let sources = form.plan.colors + (form.formats[0].hasTransparency ? [form.plan.alpha] : [])
        planes = sources.enumerated().compactMap { number, channel in
            channel.map {
                EXRFile.Plane(
                    channel: $0, offset: number * form.sampleBytes, pixelStride: pixel,
                    rowStride: pixel * tile.width, sampleBytes: form.sampleBytes)
            }
        }
        rows = SampleRows(form, curve)
        var blank = [UInt8](repeating: 0, count: area * pixel)
        if form.formats[0].hasTransparency, form.plan.alpha == nil {
            // 1 as a half or a float: its two high bytes.
            let one: [UInt8] = form.sampleBytes == 2 ? [0, 0x3C] : [0x80, 0x3F]
            for at in stride(from: pixel - 2, to: blank.count, by: pixel) {
                (blank[at], blank[at + 1]) = (one[0], one[1])
            }
        }
        memory = Memory(blank: blank)
    }

    deinit { release() }

    /// Frees the reported memory.
    func release() {
        if reserved > 0 { try? session.host.reserve(bytes: -reserved) }
        reserved = 0
    }

    // MARK: Decoding

    /// Fills the surface with a part of the canvas.
    func decode(
        _ region: PixelRect, _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        var findings = Findings()
        let visible = region.intersection(place)
        if visible != region { clear(surface, PixelRect(surface.size)) }
        guard !visible.isEmpty else { return .complete }
        let wanted = PixelRect(
            x: visible.x - place.x, y: visible.y - place.y, width: visible.width, height: visible.height)
        let target = Target(wanted: wanted, x: visible.x - region.x, y: visible.y - region.y)
        if form.isSubsampled {
            try decodeLines(target, into: surface, &findings)
        } else {
            for row in wanted.y / block.height...(wanted.y + wanted.height - 1) / block.height {
                try session.host.checkCancellation()
                memory.kept = memory.kept.filter { $0.key / across == row }
                for column in wanted.x / block.width...(wanted.x + wanted.width - 1) / block.width {
                    try decodeChunk(row, column, target, into: surface, &findings)
                }
                session.host.progress(
                    region.y + target.y + min((row + 1) * block.height - wanted.y, wanted.height), of: place.height)
            }
        }
        for warning in rows.takeWarnings() { session.host.warn(warning) }
        return try findings.conclude(
            source.part.storage.tile == nil ? "chunks" : "tiles", request, surface.size, session.host)
    }

    /// A part of the stored pixels, and where it begins on the surface.
    struct Target {
        let wanted: PixelRect
        let x: Int
        let y: Int
    }

    private var across: Int { (place.width - 1) / block.width + 1 }

    // MARK: Chunks

    private func chunk(_ row: Int, _ column: Int) -> (EXRFile.Chunk, PixelRect) {
        let rect = PixelRect(
            x: column * block.width, y: row * block.height, width: block.width, height: block.height
        ).intersection(PixelRect(place.size))
        let isTile = source.part.storage.tile != nil
        let chunk = EXRFile.Chunk(
            part: source.part.index, isTile: isTile, x: isTile ? column : 0,
            y: isTile ? row : source.part.data.y + rect.y,
            level: source.level, size: rect.size)
        return (chunk, rect)
    }

    private func decodeChunk(
        _ row: Int, _ column: Int, _ target: Target, into surface: borrowing Surface, _ findings: inout Findings
    ) throws(CoderError) {
        let (chunk, rect) = chunk(row, column)
        let wanted = target.wanted
        let inner = rect.intersection(wanted)
        let (x, y) = (inner.x - wanted.x + target.x, inner.y - wanted.y + target.y)
        if form.isCopy, inner == rect, surface.stride < Int32.max {
            let direct = planes.map { $0.with(rowStride: surface.stride) }
            let outcome = try source.file.decode(chunk, direct, into: surface, x: x, y: y)
            note(outcome, chunk, &findings)
            if outcome != .intact { clear(surface, PixelRect(x: x, y: y, width: inner.width, height: inner.height)) }
            return
        }
        let bytes = try bytes(of: chunk, row * across + column, &findings)
        let pixel = form.channels.count * form.sampleBytes
        for line in 0..<inner.height {
            let start = ((inner.y - rect.y + line) * block.width + inner.x - rect.x) * pixel
            surface.withMutableRow(y + line) { span in
                rows.convert(bytes, from: start, count: inner.width, into: &span, surface.format, at: x)
            }
        }
        if inner.y + inner.height < rect.y + rect.height {
            memory.kept[row * across + column] = bytes
        } else {
            memory.scratch.append(bytes)
        }
    }

    private func note(_ outcome: EXRFile.Outcome, _ chunk: EXRFile.Chunk, _ findings: inout Findings) {
        let isMissing = outcome == .damaged && source.places?.isMissing(chunk, source.part) == true
        findings.note(isMissing ? .missing : outcome, outcome == .intact ? "" : source.file.message)
    }

    private func clear(_ surface: borrowing Surface, _ rect: PixelRect) {
        let pixel = surface.format.bytesPerPixel
        for y in rect.y..<rect.y + rect.height {
            surface.withMutableRow(y) { SampleRows.clear(rect.x * pixel..<(rect.x + rect.width) * pixel, of: &$0) }
        }
    }

    /// Returns the decoded samples of a chunk; zeros if it is damaged.
    private func bytes(
        of chunk: EXRFile.Chunk, _ number: Int, _ findings: inout Findings
    ) throws(CoderError) -> [UInt8] {
        if let bytes = memory.kept.removeValue(forKey: number) {
            findings.noteIntact()
            return bytes
        }
        var bytes = memory.scratch.popLast() ?? memory.blank
        let outcome = try source.file.decode(
            chunk, planes.map { $0.with(rowStride: $0.pixelStride * block.width) }, into: &bytes)
        note(outcome, chunk, &findings)
        if outcome == .intact { return bytes }
        // The scratch memory that a damaged chunk has filled is not used again.
        return [UInt8](repeating: 0, count: memory.blank.count)
    }

    // MARK: Channels with fewer samples

    private func decodeLines(
        _ target: Target, into surface: borrowing Surface, _ findings: inout Findings
    ) throws(CoderError) {
        let wanted = target.wanted
        let lines: LineReader
        if let known = self.lines {
            lines = known
        } else {
            lines = try LineReader(source, form, rowsPerChunk: block.height)
        }
        self.lines = lines
        for y in wanted.y..<wanted.y + wanted.height {
            if y % 16 == 0 { try session.host.checkCancellation() }
            let pixels = try lines.row(y, &findings)
            surface.withMutableRow(y - wanted.y + target.y) { span in
                rows.convert(
                    pixels, from: wanted.x * form.channels.count * 4, count: wanted.width, into: &span,
                    surface.format, at: target.x)
            }
        }
    }
}

extension EXRFile.Plane {
    func with(rowStride: Int) -> Self {
        EXRFile.Plane(
            channel: channel, offset: offset, pixelStride: pixelStride, rowStride: rowStride, sampleBytes: sampleBytes)
    }
}
