internal import CoderPluginKit
internal import ImageModel

/// Decodes parts of one page from its strips or tiles.
final class PageReader {
    private let file: TIFFFile
    private let size: PixelSize
    private let page: Page.Storage
    private let form: PageForm
    private let converter: RowConverter
    private let session: DecoderSession
    /// Decoded blocks that reach below the last band.
    private var kept: [Int: [UInt8]] = [:]
    private var scratch: [[UInt8]] = []
    private var line = Line()
    private var reserved = 0

    /// The state of a strip that is read row by row.
    private struct Line {
        var bytes: [UInt8] = []
        /// The row after the last one.
        var next = -1
    }

    /// A block above this size is decoded row by row, so that bands need little memory.
    private static let largeBlock = 8 << 20

    /// - Parameter file: has selected the page.
    /// - Throws: `.limitExceeded` if the blocks need too much memory.
    init(
        _ file: TIFFFile, _ page: Page, _ form: PageForm, map: ColorMap?, _ session: DecoderSession
    ) throws(CoderError) {
        self.file = file
        self.page = page.storage
        size = page.size
        self.form = form
        self.session = session
        converter = RowConverter(form, map: map)
        let (least, overflow) = self.page.rowBytes.multipliedReportingOverflow(
            by: self.page.isTiled ? self.page.block.height : 1)
        guard !block.isEmpty, self.page.blockCount > 0, self.page.rowBytes > 0, self.page.blockBytes < .max / 8,
            !overflow, self.page.needsConversion || least <= self.page.blockBytes && hasRoom
        else { throw .corrupt("the strips or tiles have no valid size") }
        if self.page.blockCount < neededBlocks {
            throw .corrupt("there are fewer strips or tiles than the image needs")
        }
    }

    deinit { release() }

    /// Frees the reported memory.
    func release() {
        if reserved > 0 { try? session.host.reserve(bytes: -reserved) }
        reserved = 0
    }

    // MARK: Geometry

    private var block: PixelSize { page.block }
    private var across: Int { (size.width - 1) / block.width + 1 }
    private var down: Int { (size.height - 1) / block.height + 1 }
    private var planes: Int { page.isPlanar && !page.needsConversion ? form.samples : 1 }
    private var unit: String { page.isTiled ? "tiles" : "strips" }

    private var neededBlocks: Int {
        let (count, overflow) = across.multipliedReportingOverflow(by: down)
        let (all, more) = count.multipliedReportingOverflow(by: planes)
        return overflow || more ? .max : all
    }

    /// Whether a row of a block holds its pixels.
    private var hasRoom: Bool {
        let samples = planes > 1 ? 1 : form.samples
        let (bits, overflow) = (block.width * samples).multipliedReportingOverflow(by: form.bits)
        return !overflow && (bits + 7) / 8 <= page.rowBytes
    }

    /// The number of bytes of the rows of a block.
    private func byteCount(rows: Int) -> Int {
        page.isTiled ? page.blockBytes : rows * page.rowBytes
    }

    private func reserve(_ bytes: Int) throws(CoderError) {
        guard bytes > reserved else { return }
        try session.host.reserve(bytes: bytes - reserved)
        reserved = bytes
    }

    // MARK: Decoding

    /// Fills the surface with a part of the page.
    func decode(_ region: PixelRect, _ request: DecodeRequest, into surface: borrowing Surface)
        throws(CoderError) -> DecodeOutcome
    {
        var findings = Findings()
        let isLarge = page.blockBytes > Self.largeBlock && !page.isTiled && planes == 1 && !page.needsConversion
        for row in region.y / block.height...(region.y + region.height - 1) / block.height {
            try session.host.checkCancellation()
            let part = region.intersection(
                PixelRect(x: 0, y: row * block.height, width: size.width, height: block.height))
            if page.needsConversion {
                try convertRow(row, part, region, into: surface, &findings)
            } else if isDirect(row, part, region, surface) {
                readDirectly(row, part, region, into: surface, &findings)
            } else if isLarge {
                try readRows(part, region, into: surface, &findings)
            } else {
                try readBlocks(row, part, region, into: surface, &findings)
            }
            session.host.progress(part.y + part.height, of: size.height)
        }
        file.reportWarnings()
        if converter.cut.isCut {
            session.host.warn("samples below 0 or above 1 are cut off; tiff.float=true keeps them")
            converter.cut.isCut = false
        }
        return try findings.conclude(unit, request, surface.size, session.host)
    }

    /// Whether a strip can be decoded into the surface itself.
    private func isDirect(
        _ row: Int, _ part: PixelRect, _ region: PixelRect, _ surface: borrowing Surface
    ) -> Bool {
        form.isCopy && planes == 1 && !page.isTiled && region.width == size.width
            && part.height == min(block.height, size.height - row * block.height)
            && surface.stride == page.rowBytes
    }

    private func readDirectly(
        _ row: Int, _ part: PixelRect, _ region: PixelRect, into surface: borrowing Surface, _ findings: inout Findings
    ) {
        if file.read(block: row, into: surface, row: part.y - region.y, rows: part.height) {
            return findings.note(intact: 1)
        }
        var bytes = [UInt8](repeating: 0, count: part.height * surface.stride)
        for y in 0..<part.height {
            surface.withRow(part.y - region.y + y) { source in
                RowCopy.copy(source, 0, source.byteCount, to: &bytes, at: y * surface.stride)
            }
        }
        guard recover(row, &bytes, bytes.count, &findings) else { return }
        let recovered = bytes
        for y in 0..<part.height {
            surface.withMutableRow(part.y - region.y + y) { target in
                RowCopy.copy(recovered, y * page.rowBytes, target.byteCount, to: &target, at: 0)
            }
        }
    }

    /// Classifies a damaged block, and decodes the bytes that the file has; returns whether `target` was replaced.
    private func recover(_ block: Int, _ target: inout [UInt8], _ count: Int, _ findings: inout Findings) -> Bool {
        let message = file.message
        let end = session.source.available
        guard let place = file.place(of: block) else {
            findings.noteDefect(message, isMissing: false, hasPixels: false)
            return false
        }
        if place.isEmpty {
            findings.noteAbsent()
            return false
        }
        guard place.upperBound > end else {
            // The library stops at the first damaged code; samples behind it are 0.
            findings.noteDefect(message, isMissing: false, hasPixels: target.contains { $0 != 0 })
            return false
        }
        let hasBytes = place.lowerBound < end
        findings.noteDefect(message, isMissing: true, hasPixels: hasBytes)
        if hasBytes {
            _ = file.decode(session.source.bytes(place.lowerBound..<end), block: block, into: &target, count: count)
        }
        return hasBytes
    }

    // MARK: Blocks

    private func readBlocks(
        _ row: Int, _ part: PixelRect, _ region: PixelRect, into surface: borrowing Surface, _ findings: inout Findings
    ) throws(CoderError) {
        let top = row * block.height
        let rows = min(block.height, size.height - top)
        let count = byteCount(rows: rows)
        let below = part.y + part.height < top + rows && region.height < size.height
        // The library may hold the coded bytes of a block, too.
        try reserve(page.blockBytes * (planes + 1 + (below || !kept.isEmpty ? across * planes : 0)))
        kept = kept.filter { $0.key % (across * down) / across == row }
        for column in part.x / block.width...(part.x + part.width - 1) / block.width {
            let inner = part.intersection(
                PixelRect(x: column * block.width, y: top, width: block.width, height: block.height))
            var blocks: [[UInt8]] = []
            for plane in 0..<planes {
                blocks.append(try block(row * across + column + plane * across * down, plane, count, &findings))
            }
            let columns = inner.x - column * block.width..<inner.x - column * block.width + inner.width
            for y in inner.rows {
                surface.withMutableRow(y - region.y) { target in
                    converter.convert(
                        blocks, from: (y - top) * page.rowBytes, columns: columns, into: &target,
                        at: inner.x - region.x)
                }
            }
            for (plane, bytes) in blocks.enumerated() {
                let number = row * across + column + plane * across * down
                if below { kept[number] = bytes } else { give(bytes) }
            }
        }
    }

    /// Returns the decoded bytes of a block.
    private func block(
        _ number: Int, _ plane: Int, _ count: Int, _ findings: inout Findings
    ) throws(CoderError) -> [UInt8] {
        if let bytes = kept.removeValue(forKey: number) {
            findings.note(intact: 1)
            return bytes
        }
        try session.host.checkCancellation()
        var bytes = scratch.popLast() ?? [UInt8](repeating: 0, count: page.blockBytes)
        if file.read(block: number, into: &bytes, count: count) {
            findings.note(intact: 1)
        } else {
            _ = recover(number, &bytes, count, &findings)
        }
        return bytes
    }

    /// Keeps the memory of a block for the next one.
    private func give(_ bytes: consuming [UInt8]) { scratch.append(bytes) }

    // MARK: Large strips

    /// Reads a strip row by row; rows before the part are decoded and dropped.
    private func readRows(
        _ part: PixelRect, _ region: PixelRect, into surface: borrowing Surface, _ findings: inout Findings
    ) throws(CoderError) {
        let rowBytes = page.rowBytes
        // The library holds the coded bytes if they are not mapped.
        let strip = file.place(of: part.y / block.height)
        try reserve(rowBytes + (session.source.isContiguous ? 0 : strip?.count ?? 0))
        if line.bytes.count != rowBytes { line.bytes = [UInt8](repeating: 0, count: rowBytes) }
        let top = part.y / block.height * block.height
        let isNext = line.next == part.y
        for y in (isNext ? part.y : top)..<part.y + part.height {
            if y % 64 == 0 { try session.host.checkCancellation() }
            let isIntact = file.read(row: y, into: &line.bytes)
            if y >= part.y {
                let planes = [line.bytes]
                surface.withMutableRow(y - region.y) { target in
                    converter.convert(
                        planes, from: 0, columns: part.x..<part.x + part.width, into: &target, at: part.x - region.x)
                }
            }
            guard isIntact else {
                line.next = -1
                let isMissing = (strip?.upperBound ?? 0) > session.source.available
                return findings.noteDefect(
                    "\(file.message) (row \(y))", isMissing: isMissing, hasPixels: y > part.y)
            }
        }
        line.next = part.y + part.height
        findings.note(intact: 1)
    }

    // MARK: YCbCr

    /// Lets the library convert a row of blocks to RGB.
    private func convertRow(
        _ row: Int, _ part: PixelRect, _ region: PixelRect, into surface: borrowing Surface, _ findings: inout Findings
    ) throws(CoderError) {
        guard let count = block.area, count < .max / 16 else { throw .corrupt("the strips have no valid size") }
        try reserve(count * 4 + 3 * page.blockBytes)
        var pixels = [UInt32](repeating: 0, count: count)
        for column in part.x / block.width...(part.x + part.width - 1) / block.width {
            let inner = part.intersection(
                PixelRect(x: column * block.width, y: part.y, width: block.width, height: part.height))
            let number = row * across + column
            if file.readRGBA(block: number, into: &pixels) {
                findings.note(intact: 1)
            } else {
                let isMissing = (file.place(of: number)?.upperBound ?? 0) > session.source.available
                findings.noteDefect(file.message, isMissing: isMissing, hasPixels: pixels.contains { $0 != 0 })
            }
            for y in inner.rows {
                let start = (y - row * block.height) * block.width + inner.x - column * block.width
                surface.withMutableRow(y - region.y) { target in
                    for x in 0..<inner.width {
                        let pixel = pixels[start + x]
                        for channel in 0..<3 {
                            target.storeBytes(
                                of: UInt8(truncatingIfNeeded: pixel >> (8 * channel)),
                                toByteOffset: 3 * (inner.x - region.x + x) + channel, as: UInt8.self)
                        }
                    }
                }
            }
        }
    }
}
