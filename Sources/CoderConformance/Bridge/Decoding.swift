import CCoderPlugin

/// Metadata as delivered by a plugin.
struct Blob: Hashable {
    var kind: UInt32
    var key: String?
    var bytes: [UInt8]
}

/// An item as a plugin describes it.
struct Item {
    var flags: UInt32
    var role: UInt32
    var of: UInt32
    var reserved: UInt32
}

/// A decoding session in the plugin, call by call.
@safe final class Decoding: Session {
    private let api: cpi_decoder_api
    private var input: Input?

    init?(_ coder: Subject.Coder, _ services: Services, _ board: Board, _ shape: StructVersion = .current) {
        guard let decoder = coder.decoder else { return nil }
        api = decoder
        unsafe super.init(
            Functions(open: decoder.open, close: decoder.close, get: decoder.get, suffix: ""),
            coder, services, board, shape)
    }

    deinit { close() }

    func setSource(_ input: Input) -> Answer {
        self.input = input
        input.name(endingIn: coder.ending)
        return unsafe run("set_source") { handle, error in unsafe api.set_source(handle, input.pointer, error) }
    }

    func readHeader() -> (Answer, cpi_image_info) {
        let info = GuardedStruct(cpi_image_info(), shape, isAnswer: true)
        info.clearFuture()
        let answer = unsafe run("read_header") { handle, error in unsafe api.read_header(handle, info.pointer, error) }
        check(info, "cpi_image_info")
        var facts = info.value
        // Surfaces do not support some formats of files; the plugin must then offer another one.
        if answer.status == CPI_OK, facts.native.objection != nil, Values.objection(facts.native) == nil {
            for index in 0..<UInt32(40) {
                let (answer, offer) = offer(index)
                if answer.status != CPI_OK { break }
                if offer.format.objection != nil { continue }
                facts.native = offer.format
                break
            }
        }
        return (answer, facts)
    }

    private func check<T>(_ lent: GuardedStruct<T>, _ name: String) {
        if !lent.hasIntactGuard { note(overrun: name) }
        if !lent.hasValidSize { note(overrun: "\(name).size") }
    }

    var hasBlobs: Bool { unsafe api.blob != nil }

    func blob(_ index: UInt32) -> (Answer, Blob?) {
        guard let get = unsafe api.blob else { return (Answer(call: "blob", status: CPI_END), nil) }
        let blob = unsafe GuardedStruct(cpi_blob(), shape)
        let answer = unsafe run("blob") { handle, error in unsafe get(handle, index, blob.pointer, error) }
        unsafe check(blob, "cpi_blob")
        guard answer.status == CPI_OK else { return (answer, nil) }
        let raw = unsafe blob.value
        let bytes = unsafe raw.bytes.map { start in
            unsafe Array(UnsafeBufferPointer(start: start, count: Int(clamping: min(raw.length, 1 << 26))))
        }
        return unsafe (
            answer, Blob(kind: raw.kind, key: raw.key.map { unsafe String(cString: $0) }, bytes: bytes ?? [])
        )
    }

    var hasOffers: Bool { unsafe api.offer != nil }

    func offer(_ index: UInt32) -> (Answer, cpi_format_offer) {
        guard let get = unsafe api.offer else { return (Answer(call: "offer", status: CPI_END), cpi_format_offer()) }
        let offer = GuardedStruct(cpi_format_offer(), shape, isAnswer: true)
        let answer = unsafe run("offer") { handle, error in unsafe get(handle, index, offer.pointer, error) }
        check(offer, "cpi_format_offer")
        return (answer, offer.value)
    }

    /// Returns nil if the decoder has no such function.
    func scaledSize(_ width: UInt32, _ height: UInt32) -> (Answer, UInt32, UInt32)? {
        guard let reduce = unsafe api.scaled_size else { return nil }
        var size = (width, height)
        let answer = unsafe run("scaled_size") { handle, error in unsafe reduce(handle, &size.0, &size.1, error) }
        return (answer, size.0, size.1)
    }

    func nextFrame() -> (Answer, cpi_frame_info) {
        let frame = GuardedStruct(cpi_frame_info(), shape, isAnswer: true)
        frame.clearFuture()
        let answer = unsafe run("next_frame") { handle, error in unsafe api.next_frame(handle, frame.pointer, error) }
        check(frame, "cpi_frame_info")
        return (answer, frame.value)
    }

    /// Returns nil if the decoder has no such function.
    func seek(_ index: UInt32) -> (Answer, UInt32)? {
        guard let seek = unsafe api.seek_frame else { return nil }
        var place = index
        let answer = unsafe run("seek_frame") { handle, error in unsafe seek(handle, &place, error) }
        return (answer, place)
    }

    func decode(
        _ surface: Surface, flags: UInt32 = 0, region: cpi_rect = cpi_rect(), scaled: (UInt32, UInt32) = (0, 0)
    ) -> Answer {
        let request = unsafe GuardedStruct(
            cpi_decode_request(
                size: 0, flags: flags, surface: surface.pointer, region: region, scaled_width: scaled.0,
                scaled_height: scaled.1), shape)
        return unsafe run("decode") { handle, error in
            unsafe api.decode(handle, UnsafePointer(request.pointer), error)
        }
    }

    /// Describes an item; returns nil if the decoder has no items.
    func item(_ index: UInt32) -> (Answer, Item, cpi_image_info)? {
        guard let items else { return nil }
        let item = unsafe GuardedStruct(cpi_item(), shape, isAnswer: true)
        let info = GuardedStruct(cpi_image_info(), shape, isAnswer: true)
        unsafe item.clearFuture()
        info.clearFuture()
        let answer = unsafe run("describe") { handle, error in
            unsafe items.describe(handle, index, item.pointer, info.pointer, error)
        }
        unsafe check(item, "cpi_item")
        check(info, "cpi_image_info")
        let raw = unsafe item.value
        let facts = unsafe Item(flags: raw.flags, role: raw.role, of: raw.of, reserved: raw.reserved)
        return (answer, facts, info.value)
    }

    /// The items table; nil if it lacks `describe` or `select`.
    private var items: cpi_items_api? {
        table(CPI_EXT_ITEMS, as: cpi_items_api.self, least: MemoryLayout<cpi_table>.size + 2 * MemoryLayout<UInt>.size)
    }

    /// Selects an item; returns nil if the decoder has no items.
    func select(_ index: UInt32) -> Answer? {
        guard let items else { return nil }
        return unsafe run("select") { handle, error in unsafe items.select(handle, index, error) }
    }

    /// Returns the item count; nil if only `item` can find it.
    func itemCount() -> (Answer, UInt32)? {
        guard let count = unsafe items?.count else { return nil }
        var number: UInt32 = 0
        let answer = unsafe run("count") { handle, error in unsafe count(handle, &number, error) }
        return (answer, number)
    }

    var hasDirty: Bool { unsafe api.dirty != nil }

    /// Returns the changed part; nil if the decoder does not report it.
    func dirty() -> (Answer, cpi_rect)? {
        guard let dirty = unsafe api.dirty else { return nil }
        var rect = cpi_rect()
        let answer = unsafe run("dirty") { handle, error in unsafe dirty(handle, &rect, error) }
        return (answer, rect)
    }
}
