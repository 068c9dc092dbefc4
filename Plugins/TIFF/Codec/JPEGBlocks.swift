internal import CoderPluginKit
internal import ImageModel
internal import JPEGCodec

/// Decodes JPEG strips or tiles at 1/8, 1/4 or 1/2 of their size, with the codec of the JPEG plugin.
struct JPEGBlocks {
    private let file: TIFFFile
    private let page: Page
    private let session: DecoderSession
    private let format: PixelFormat
    private let tables: [UInt8]

    /// Returns nil unless blocks can be reduced one by one.
    init?(_ file: TIFFFile, _ page: Page, _ form: PageForm, _ session: DecoderSession) {
        let storage = page.storage
        guard storage.compression == 7, form.isCopy, form.format == .gray8 || form.format == .rgb8, !storage.isPlanar,
            storage.block.height % 8 == 0 || storage.block.height >= page.size.height,
            storage.block.width % 8 == 0 || !storage.isTiled
        else { return nil }
        self.file = file
        self.page = page
        self.session = session
        format = form.format
        tables = file.jpegTables
    }

    /// Returns the size of the page at `eighths` of its sides.
    static func size(_ page: Page, eighths: Int) -> PixelSize {
        PixelSize((page.size.width * eighths + 7) / 8, (page.size.height * eighths + 7) / 8)
    }

    /// Fills the surface with a part of the reduced page.
    func decode(_ region: PixelRect, eighths: Int, _ request: DecodeRequest, into surface: borrowing Surface)
        throws(CoderError) -> DecodeOutcome
    {
        var findings = Findings()
        let whole = Self.size(page, eighths: eighths)
        let stored = page.storage.block
        let isWhole = stored.height >= page.size.height && !page.storage.isTiled
        let block = PixelSize(
            page.storage.isTiled ? stored.width * eighths / 8 : whole.width,
            isWhole ? whole.height : stored.height * eighths / 8)
        let across = (page.size.width - 1) / stored.width + 1
        for row in region.y / block.height...(region.y + region.height - 1) / block.height {
            try session.host.checkCancellation()
            for column in region.x / block.width...(region.x + region.width - 1) / block.width {
                let place = PixelRect(
                    x: column * block.width, y: row * block.height, width: block.width, height: block.height)
                try fill(
                    region.intersection(place), of: place, row * across + column, eighths, region, surface, &findings)
            }
            session.host.progress(min(whole.height, (row + 1) * block.height), of: whole.height)
        }
        let unit = page.storage.isTiled ? "tiles" : "strips"
        return try findings.conclude(unit, request, surface.size, session.host)
    }

    private func fill(
        _ part: PixelRect, of place: PixelRect, _ number: Int, _ eighths: Int, _ region: PixelRect,
        _ surface: borrowing Surface, _ findings: inout Findings
    ) throws(CoderError) {
        guard let bytes = file.place(of: number), !bytes.isEmpty else { return findings.noteAbsent() }
        guard bytes.upperBound <= session.source.available else {
            return findings.noteDefect("", isMissing: true, hasPixels: false)
        }
        let pixels: PixelBuffer
        do throws(CoderError) {
            pixels = try decoded(session.source.bytes(bytes), eighths, within: place.size)
        } catch {
            if error.code == .limitExceeded || error.code == .outOfMemory { throw error }
            return findings.noteDefect(error.message, isMissing: false, hasPixels: false)
        }
        findings.note(intact: 1)
        let columns = min(part.x + part.width - place.x, pixels.size.width) - (part.x - place.x)
        guard columns > 0 else { return }
        let width = format.bytesPerPixel
        for y in part.rows where y - place.y < pixels.size.height {
            pixels.withRow(y - place.y) { source in
                surface.withMutableRow(y - region.y) { target in
                    RowCopy.copy(
                        source, (part.x - place.x) * width, columns * width, to: &target,
                        at: (part.x - region.x) * width)
                }
            }
        }
    }

    private func decoded(
        _ bytes: [UInt8], _ eighths: Int, within place: PixelSize
    ) throws(CoderError) -> PixelBuffer {
        // No services: the rows of one block are no progress of the image.
        let decoder = try JPEGDecoder(
            DecoderSession(source: ByteSource(stream(bytes)), options: [:], limits: session.limits))
        let size = try decoder.readHeader().size
        let reduced = PixelSize((size.width * eighths + 7) / 8, (size.height * eighths + 7) / 8)
        guard reduced.width <= place.width + 1, reduced.height <= place.height + 8 else {
            throw .corrupt("a JPEG of \(size) pixels is larger than its place")
        }
        let buffer = try PixelBuffer(size: reduced, format: format)
        _ = try decoder.decode(
            DecodeRequest(scaledSize: reduced, wantsPartial: true), into: Surface(buffer))
        return buffer
    }

    /// Returns a complete JPEG: a marker that names the color transform, the shared tables, the block.
    private func stream(_ block: [UInt8]) -> [UInt8] {
        guard block.count > 2, block[0] == 0xFF, block[1] == 0xD8 else { return block }
        var stream: [UInt8] = [0xFF, 0xD8]
        if format == .rgb8 {
            // APP14 "Adobe", version 100, flags, transform: 1 is YCbCr.
            stream +=
                [0xFF, 0xEE, 0, 14] + Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, page.meaning.isConverted ? 1 : 0]
        }
        if tables.count > 4 { stream += tables[2..<tables.count - 2] }
        return stream + block[2...]
    }
}
