import CCoderPlugin
import HostSystem
package import ImageModel
package import ImageProcessing

/// A Swift interface to a plugin's decoding session.
///
/// Validates every value that the plugin returns.
package final class ImportedDecoder: FrameDecoder {
    private let port: any DecoderPort
    private let id: String
    private let context: SessionContext
    private var info: ImageInfo?
    /// The formats that the plugin offers for the selected item; asked for once, because a worker needs a message.
    private var formats: [PixelFormat]?
    /// The row alignment of a surface in bytes, by format.
    private var alignments: [PixelFormat: Int] = [:]
    private var aligned = RowAlignment()

    init(_ port: any DecoderPort, coder id: String, context: SessionContext) {
        self.port = port
        self.id = id
        self.context = context
    }

    package var pool: PixelBufferPool { port.pool }

    /// Makes one call and throws unless it returns success or one of `notes`; returns nil if the plugin does not
    /// implement the function.
    @discardableResult
    private func run(
        _ call: String, _ notes: [cpi_status] = [], _ body: (inout cpi_error) throws(CoderError) -> cpi_status?
    ) throws(CoderError) -> cpi_status? {
        var contract = ContractCall()
        guard let status = try body(&contract.error) else { return nil }
        if let failure = contract.failure(status, of: call, notes: notes, coder: id) { throw failure }
        reason = status == CPI_REFUSED ? contract.refusal(coder: id) : nil
        return status
    }

    /// The message of the last `CPI_REFUSED`.
    private var reason: CoderError?

    private func refusal(_ what: String) -> CoderError {
        var error = reason ?? CoderError(.refused, "", coder: id)
        error.message = error.message.isEmpty ? what : "\(what): \(error.message)"
        return error
    }

    private func fault(_ message: String) -> CoderError { CoderError(.pluginFault, message, coder: id) }

    package func readHeader() throws(CoderError) -> ImageInfo {
        if let info { return info }
        var raw = cpi_image_info()
        raw.size = UInt32(MemoryLayout<cpi_image_info>.size)
        try run("read_header", [CPI_NEED_INPUT]) { error throws(CoderError) in try port.readHeader(&raw, &error) }
        let result = try ImageInfo(raw, native: try known(raw.native))
        info = result
        return result
    }

    /// Returns a format of the plugin; replaces an unknown format with the best one offered.
    private func known(_ native: cpi_pixel_format) throws(CoderError) -> PixelFormat {
        if let format = PixelFormat(native) { return format }
        let known = PixelFormat.distinct(try offers())
        guard let format = known.first else { throw .unknown(native) }
        formats = known
        if let stored = native.description { context.warn("\(stored) become \(format)") }
        return format
    }

    private func offers() throws(CoderError) -> [cpi_pixel_format] {
        alignments = [:]
        var offers: [cpi_format_offer] = []
        try run("offer") { error throws(CoderError) in try port.offers(&offers, &error) }
        for offer in offers {
            try offer.requireUnderstood()
            guard RowAlignment.isLegal(offer.row_align) else { throw .undefined("row_align", offer.row_align) }
            if let format = PixelFormat(offer.format) { alignments[format] = Int(offer.row_align) }
        }
        return offers.map(\.format)
    }

    package func metadata() throws(CoderError) -> [MetadataBlob] {
        var budget = MetadataBudget(context.limits)
        var result: [MetadataBlob] = []
        // A file with many texts must not fill the warnings: one line names the first and counts the others.
        var refused: [(cause: String, first: String, kind: MetadataBlob.Kind, count: Int)] = []
        defer {
            for (_, first, kind, count) in refused {
                let others = count == 2 ? "; 1 more piece of \(kind) too" : "; \(count - 1) more pieces of \(kind) too"
                context.warn(first + (count == 1 ? "" : others))
            }
        }
        // Reads one more than the limit to detect excess metadata.
        for index in 0...UInt32(MetadataBudget.maxCount) {
            var blob = PortBlob()
            let status = try run("blob", [CPI_END, CPI_NEED_INPUT, CPI_REFUSED]) { error throws(CoderError) in
                guard let (status, answer) = try port.blob(index, most: budget.room, &error) else { return nil }
                blob = answer
                return status
            }
            if status == nil || status == CPI_END { break }
            if status == CPI_REFUSED {
                context.warn(refusal("damaged metadata is left out").message)
                continue
            }
            if index == MetadataBudget.maxCount {
                context.warn("the metadata after the first \(MetadataBudget.maxCount) blobs is left out")
                break
            }
            guard let kind = MetadataBlob.Kind(rawValue: blob.kind) else {
                throw .undefined("cpi_blob.kind", blob.kind)
            }
            if let reason = budget.refusal(of: "\(kind)", bytes: blob.length, keyBytes: blob.keyLength) {
                // Refusals for one cause differ only in their numbers.
                let cause = reason.filter { !$0.isNumber }
                if let place = refused.firstIndex(where: { $0.cause == cause }) {
                    refused[place].count += 1
                } else {
                    refused.append((cause, reason, kind, 1))
                }
                continue
            }
            if blob.bytes.isEmpty { continue }
            result.append(MetadataBlob(kind, blob.bytes, key: blob.key))
        }
        return result
    }

    package func pixelFormats() throws(CoderError) -> [PixelFormat] {
        if let formats { return formats }
        let native = try readHeader().nativeFormat
        let known = PixelFormat.distinct(try offers())
        let result = known.isEmpty ? [native] : known
        formats = result
        return result
    }

    package func scaledSize(atLeast wanted: PixelSize) throws(CoderError) -> PixelSize {
        let full = try readHeader().size
        var width = UInt32(clamping: wanted.width)
        var height = UInt32(clamping: wanted.height)
        let status = try run("scaled_size", [CPI_REFUSED]) { error throws(CoderError) in
            try port.scaledSize(&width, &height, &error)
        }
        if status == nil || status == CPI_REFUSED { return full }
        let size = PixelSize(Int(width), Int(height))
        if try readHeader().isScalable {
            guard size == wanted else { throw fault("the plugin scales vectors to \(size) instead of \(wanted)") }
            return size
        }
        let least = PixelSize(min(wanted.width, full.width), min(wanted.height, full.height))
        guard !size.isEmpty, PixelRect(full).contains(PixelRect(size)), PixelRect(size).contains(PixelRect(least))
        else {
            throw fault("the plugin scales \(full) to \(size) instead of at least \(wanted)")
        }
        return size
    }

    package func nextFrame() throws(CoderError) -> FrameInfo? {
        var raw = cpi_frame_info()
        raw.size = UInt32(MemoryLayout<cpi_frame_info>.size)
        let status = try run("next_frame", [CPI_END, CPI_NEED_INPUT]) { error throws(CoderError) in
            try port.nextFrame(&raw, &error)
        }
        return status == CPI_END ? nil : try FrameInfo(raw)
    }

    package func seek(toFrame index: Int) throws(CoderError) -> Int {
        let unable = CoderError(.unsupportedFeature, "the coder cannot seek to frame \(index)", coder: id)
        guard let wanted = UInt32(exactly: index) else { throw unable }
        var answer = wanted
        let status = try run("seek_frame", [CPI_NEED_INPUT, CPI_REFUSED]) { error throws(CoderError) in
            try port.seek(&answer, &error)
        }
        if status == nil || status == CPI_REFUSED { throw unable }
        guard answer <= wanted else { throw fault("the plugin seeks to frame \(answer) instead of \(index)") }
        return Int(answer)
    }

    package func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome {
        let size = PixelRect(place.rect.size)
        let target = try aligned.surface(
            for: place, request, rowAlign: try rowAlign(of: place.buffer.format), port.pool)
        // The whole area, unless the plugin reports a smaller one.
        var dirty = size.contract
        let status = try run("decode", [CPI_PARTIAL, CPI_NEED_INPUT, CPI_REFUSED]) { error throws(CoderError) in
            try port.decode(request, target, &dirty, &error)
        }
        if status == CPI_REFUSED {
            guard request.region != nil || request.scaledSize != nil else {
                throw fault("the plugin refuses to decode a whole frame at its full size")
            }
            throw refusal("the plugin does not decode this part or size")
        }
        aligned.settle(place, isComplete: status == CPI_OK)
        return status == CPI_PARTIAL ? .partial(PixelRect(dirty).intersection(size)) : .complete
    }

    private func rowAlign(of format: PixelFormat) throws(CoderError) -> Int {
        _ = try pixelFormats()
        return alignments[format] ?? 1
    }

    // MARK: Items

    package func itemCount() throws(CoderError) -> Int? {
        var count: UInt32 = 0
        let status = try run("count", [CPI_NEED_INPUT, CPI_REFUSED]) { error throws(CoderError) in
            try port.itemCount(&count, &error)
        }
        return status == CPI_OK ? Int(count) : nil
    }

    package func item(at index: Int) throws(CoderError) -> ImageItem? {
        guard let number = UInt32(exactly: index) else { return nil }
        var raw = PortItem()
        let status = try run("describe", [CPI_END, CPI_NEED_INPUT, CPI_REFUSED]) { error throws(CoderError) in
            try port.item(number, &raw, &error)
        }
        if status == nil || status == CPI_END { return nil }
        if status == CPI_REFUSED { throw refusal("item \(index) cannot be read") }
        try raw.requireUnderstood()
        guard let role = ImageItem.Role(rawValue: raw.role) else { throw .undefined("cpi_item.role", raw.role) }
        // The formats of another item are queried after it is selected.
        let native = PixelFormat(raw.info.native) ?? .rgb8
        return ImageItem(
            role, info: try ImageInfo(raw.info, native: native),
            owner: raw.owner == CPI_ITEM_NONE ? nil : Int(raw.owner), group: raw.group == 0 ? nil : Int(raw.group),
            name: raw.name, kind: raw.kind)
    }

    package func select(item index: Int) throws(CoderError) {
        let absent = CoderError.refused("there is no item \(index)")
        guard let number = UInt32(exactly: index), let item = try item(at: index) else { throw absent }
        let status = try run("select", [CPI_NEED_INPUT, CPI_REFUSED]) { error throws(CoderError) in
            try port.select(number, &error)
        }
        if status == nil { throw absent }
        if status == CPI_REFUSED { throw refusal("item \(index) cannot be decoded") }
        formats = nil
        info = item.info
        var selected = item.info
        selected.nativeFormat = try pixelFormats()[0]
        info = selected
    }
}
