import CCoderPlugin

/// An encoding session in the plugin, call by call.
@safe final class Encoding: Session {
    private let api: cpi_encoder_api
    private(set) var output: Output?
    /// A description of the first offer with a value that the header does not define.
    private(set) var oddOffer: String?

    init?(_ coder: Subject.Coder, _ services: Services, _ board: Board, _ shape: StructVersion = .current) {
        guard let encoder = coder.encoder else { return nil }
        api = encoder
        unsafe super.init(
            Functions(open: encoder.open, close: encoder.close, get: encoder.get, suffix: " (encoder)"),
            coder, services, board, shape)
    }

    deinit { close() }

    func accept(_ info: cpi_image_info, _ index: UInt32) -> (Answer, cpi_pixel_format) {
        let facts = GuardedStruct(info, shape)
        let offer = GuardedStruct(cpi_format_offer(), shape, isAnswer: true)
        offer.clearFuture()
        let answer = unsafe run("accept") { handle, error in
            unsafe api.accept(handle, UnsafePointer(facts.pointer), index, offer.pointer, error)
        }
        if !offer.hasIntactGuard { note(overrun: "cpi_format_offer") }
        if answer.status == CPI_OK, oddOffer == nil { oddOffer = Values.objection(offer.value) }
        return (answer, offer.value.format)
    }

    func begin(_ info: cpi_image_info, _ output: Output) -> Answer {
        self.output = output
        let facts = GuardedStruct(info, shape)
        return unsafe run("begin") { handle, error in
            unsafe api.begin(handle, UnsafePointer(facts.pointer), output.pointer, error)
        }
    }

    var hasBlobs: Bool { unsafe api.add_blob != nil }

    func add(_ blob: Blob) -> Answer {
        guard let add = unsafe api.add_blob else { return Answer(call: "add_blob", status: CPI_REFUSED) }
        // Separate memory, freed after the call.
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, blob.bytes.count))
        _ = unsafe copy.initialize(from: blob.bytes)
        defer { unsafe copy.deallocate() }
        return unsafe (blob.key ?? "").withCString { key in
            let raw = unsafe GuardedStruct(
                cpi_blob(
                    size: 0, kind: blob.kind, key: blob.key == nil ? nil : key, bytes: UnsafePointer(copy.baseAddress),
                    length: UInt64(blob.bytes.count)), shape)
            return unsafe run("add_blob") { handle, error in
                unsafe add(handle, UnsafePointer(raw.pointer), error)
            }
        }
    }

    func add(_ frame: cpi_frame_info, _ surface: Surface) -> Answer {
        let facts = GuardedStruct(frame, shape)
        return unsafe run("add_frame") { handle, error in
            unsafe api.add_frame(handle, UnsafePointer(facts.pointer), surface.pointer, error)
        }
    }

    /// Begins a frame in bands and returns the row count for a band; nil if the encoder accepts no bands.
    func beginRows(_ frame: cpi_frame_info) -> (Answer, Int)? {
        guard let rows = rowsTable else { return nil }
        let facts = GuardedStruct(frame, shape)
        var count = UInt32(0)
        let answer = unsafe run("begin_rows") { handle, error in
            unsafe rows.begin_rows(handle, UnsafePointer(facts.pointer), &count, error)
        }
        return (answer, Int(count))
    }

    func addRows(_ surface: Surface) -> Answer {
        guard let rows = rowsTable else { return Answer(call: "add_rows", status: CPI_MISUSE) }
        return unsafe run("add_rows") { handle, error in unsafe rows.add_rows(handle, surface.pointer, error) }
    }

    /// Begins the next item of the output; nil if the encoder has no table for items.
    func nextItem(_ role: UInt32, of owner: UInt32) -> Answer? {
        guard
            let items = table(
                CPI_EXT_ENCODE_ITEMS, as: cpi_encode_items_api.self, least: MemoryLayout<cpi_encode_items_api>.size)
        else { return nil }
        let item = unsafe GuardedStruct(
            cpi_item(size: 0, flags: 0, role: role, of: owner, group: 0, reserved: 0, name: nil, kind: nil), shape)
        return unsafe run("next_item") { handle, error in
            unsafe items.next_item(handle, UnsafePointer(item.pointer), error)
        }
    }

    private var rowsTable: cpi_encode_rows_api? {
        table(CPI_EXT_ENCODE_ROWS, as: cpi_encode_rows_api.self, least: MemoryLayout<cpi_encode_rows_api>.size)
    }

    func finish() -> Answer { unsafe run("finish") { handle, error in unsafe api.finish(handle, error) } }
}
