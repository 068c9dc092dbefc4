import CCoderPlugin

/// An encoding session in the plugin, call by call.
@safe final class Encoding: Session {
    private let api: cpi_encoder_api
    private let coder: Subject.Coder
    let services: Services
    private var handle: OpaquePointer?
    private(set) var output: Output?

    init?(_ coder: Subject.Coder, _ services: Services, _ board: Board, _ shape: Shape = .current) {
        guard let encoder = coder.encoder else { return nil }
        api = encoder
        self.coder = coder
        self.services = services
        super.init(board, shape)
    }

    deinit { close() }

    func open(_ options: [OptionValue] = []) -> Answer {
        var opened: OpaquePointer?
        let answer = unsafe withOptions(options, shape) { options in
            unsafe run("open (encoder)") { error in
                unsafe api.open(
                    coder.pointer, services.pointer, services.limitsPointer, options, &opened, error)
            }
        }
        unsafe handle = opened
        return answer
    }

    var isOpen: Bool { unsafe handle != nil }

    /// Ends the session; harmless when it has ended.
    func close() {
        guard let opened = unsafe handle else { return }
        unsafe handle = nil
        enter("close (encoder)") { unsafe api.close(opened) }
        services.close()
    }

    private func run(
        _ name: String, _ body: (OpaquePointer, UnsafeMutablePointer<cpi_error>) -> cpi_status
    ) -> Answer {
        guard let opened = unsafe handle else { return Answer(call: name, status: CPI_MISUSE) }
        return unsafe run(name) { error in unsafe body(opened, error) }
    }

    func accept(_ info: cpi_image_info, _ index: UInt32) -> (Answer, cpi_pixel_format) {
        let facts = Lent(info, shape, appended: \.thumbnail_count)
        let offer = Lent(cpi_format_offer(), shape)
        offer.clearFuture()
        let answer = unsafe run("accept") { handle, error in
            unsafe api.accept(handle, UnsafePointer(facts.pointer), index, offer.pointer, error)
        }
        if !offer.isKeptTo { note(overrun: "cpi_format_offer") }
        return (answer, offer.value.format)
    }

    func begin(_ info: cpi_image_info, _ output: Output) -> Answer {
        self.output = output
        let facts = Lent(info, shape, appended: \.thumbnail_count)
        return unsafe run("begin") { handle, error in
            unsafe api.begin(handle, UnsafePointer(facts.pointer), output.pointer, error)
        }
    }

    var hasBlobs: Bool { unsafe api.add_blob != nil }

    func add(_ blob: Blob) -> Answer {
        guard let add = unsafe api.add_blob else { return Answer(call: "add_blob", status: CPI_UNSUPPORTED) }
        // Memory of its own, gone after the call.
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, blob.bytes.count))
        _ = unsafe copy.initialize(from: blob.bytes)
        defer { unsafe copy.deallocate() }
        return unsafe (blob.key ?? "").withCString { key in
            let raw = unsafe Lent(
                cpi_blob(
                    size: 0, kind: blob.kind, key: blob.key == nil ? nil : key, bytes: UnsafePointer(copy.baseAddress),
                    length: UInt64(blob.bytes.count)), shape)
            return unsafe run("add_blob") { handle, error in
                unsafe add(handle, UnsafePointer(raw.pointer), error)
            }
        }
    }

    func add(_ frame: cpi_frame_info, _ surface: Surface) -> Answer {
        let facts = Lent(frame, shape)
        return unsafe run("add_frame") { handle, error in
            unsafe api.add_frame(handle, UnsafePointer(facts.pointer), surface.pointer, error)
        }
    }

    func finish() -> Answer { unsafe run("finish") { handle, error in unsafe api.finish(handle, error) } }

    /// Nil where the encoder has no `get`.
    func get(_ id: String) -> ExtensionAnswer? {
        guard let get = unsafe api.get, let opened = unsafe handle else { return nil }
        return enter("get (encoder)") { unsafe ExtensionAnswer(get(opened, id)) }
    }
}
