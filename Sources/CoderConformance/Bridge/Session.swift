import CCoderPlugin
import Glibc

/// The result of one call.
struct Answer {
    var call: String
    var status: cpi_status
    var code: cpi_status = CPI_OK
    var message = ""
    var limitID: UInt32 = 0
    var allowed: UInt64 = 0
    var requested: UInt64 = 0
    /// The defect of the error that came with the result.
    var objection: String?

    var isFailure: Bool { status < 0 }
    /// Whether the kit, not the plugin, refused: the announced image is too large for the kit.
    var isOfKit: Bool { call == Self.kit }
    static let kit = "the kit"
    var text: String { "\(call) answered \(statusName(status))" + (message.isEmpty ? "" : ": \(message)") }
}

/// The common part of decoding and encoding sessions: open, close, and making calls.
@safe class Session {
    /// The common functions of the decoder and encoder tables.
    @safe struct Functions {
        var open:
            @convention(c) (
                UnsafePointer<cpi_coder>, UnsafePointer<cpi_services>, UnsafePointer<cpi_limits>,
                UnsafePointer<cpi_options>?, UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<cpi_error>
            ) -> cpi_status
        var close: @convention(c) (OpaquePointer) -> Void
        var get: (@convention(c) (OpaquePointer, UnsafePointer<CChar>) -> UnsafeRawPointer?)?
        /// The suffix of these functions' names.
        var suffix: String
    }

    let board: Board
    let shape: StructVersion
    let services: Services
    private let functions: Functions
    let coder: Subject.Coder
    private var handle: OpaquePointer?
    private var serial = 0
    /// The first struct with a write past its end.
    private(set) var overrun: String?
    /// The first result whose status the header does not list for the call.
    private(set) var illegal: String?

    init(
        _ functions: Functions, _ coder: Subject.Coder, _ services: Services, _ board: Board, _ shape: StructVersion
    ) {
        self.functions = functions
        self.coder = coder
        self.services = services
        self.board = board
        self.shape = shape
    }

    func open(_ options: [OptionValue] = []) -> Answer {
        var opened: OpaquePointer?
        let answer = unsafe withOptions(options, shape) { options in
            unsafe run("open\(functions.suffix)") { error in
                unsafe functions.open(
                    coder.pointer, services.pointer, services.limitsPointer, options, &opened, error)
            }
        }
        // A failed open has freed everything, even if it stored a session.
        if answer.status == CPI_OK { unsafe handle = opened }
        return answer
    }

    var isOpen: Bool { unsafe handle != nil }

    /// Ends the session; does nothing if it has ended.
    func close() {
        guard let opened = unsafe handle else { return }
        unsafe handle = nil
        enter("close\(functions.suffix)") { unsafe functions.close(opened) }
        services.close()
    }

    /// Returns the table of an extension; nil if the session has none, or one shorter than `least` bytes.
    func table<T>(_ id: String, as type: T.Type, least: Int) -> T? {
        guard let get = unsafe functions.get, let opened = unsafe handle else { return nil }
        let found = unsafe enter("get\(functions.suffix)") { unsafe get(opened, id) }
        guard let pointer = unsafe found?.assumingMemoryBound(to: T.self) else { return nil }
        let (table, size) = unsafe readStruct(pointer)
        return size >= least ? table : nil
    }

    /// Returns the result of `get`; nil if the coder has no `get`.
    func get(_ id: String) -> ExtensionAnswer? {
        guard let get = unsafe functions.get, let opened = unsafe handle else { return nil }
        return enter("get\(functions.suffix)") { unsafe ExtensionAnswer(get(opened, id)) }
    }

    func note(overrun what: String) { if overrun == nil { overrun = what } }

    /// Makes one call of a session.
    func run(
        _ name: String, _ body: (OpaquePointer, UnsafeMutablePointer<cpi_error>) -> cpi_status
    ) -> Answer {
        guard let opened = unsafe handle else { return Answer(call: name, status: CPI_MISUSE) }
        return unsafe run(name) { error in unsafe body(opened, error) }
    }

    /// Makes one call.
    private func run(_ name: String, _ body: (UnsafeMutablePointer<cpi_error>) -> cpi_status) -> Answer {
        let error = GuardedStruct(cpi_error(), shape, isAnswer: true)
        error.clearFuture()
        let status = enter(name) { unsafe body(error.pointer) }
        var answer = Answer(call: name, status: status)
        if !error.hasIntactGuard { note(overrun: "cpi_error") }
        if status < 0 {
            let raw = error.value
            let message = fixedText(raw.message)
            answer.code = raw.code
            answer.message = message.text
            answer.limitID = raw.limit_id
            answer.allowed = raw.limit_allowed
            answer.requested = raw.limit_requested
            if raw.code != status {
                answer.objection =
                    "\(name) answered \(statusName(status)), its error has the code \(statusName(raw.code))"
            } else if !message.ends || !fixedText(raw.domain).ends || !fixedText(raw.feature).ends {
                answer.objection = "\(name): a text of its error does not end within its field"
            } else if message.text.isEmpty {
                answer.objection = "\(name) answered \(statusName(status)) without filling its error"
            } else if raw.reserved != 0 {
                answer.objection = "\(name): cpi_error.reserved is not zero"
            }
        }
        if illegal == nil, status > 0 && Self.notes[name]?.contains(status) != true || status < CPI_TRUNCATED {
            illegal = "\(name) answered \(statusName(status)), which the header does not list for it"
        }
        if status > CPI_REFUSED || status < CPI_TRUNCATED {
            answer.objection = "\(name) answered the undefined status \(status)"
        }
        return answer
    }

    /// The non-negative statuses besides CPI_OK that a call may return, as listed in the header.
    private static let notes: [String: [cpi_status]] = [
        "read_header": [CPI_NEED_INPUT], "blob": [CPI_END, CPI_NEED_INPUT, CPI_REFUSED], "offer": [CPI_END],
        "scaled_size": [CPI_REFUSED], "next_frame": [CPI_END, CPI_NEED_INPUT],
        "seek_frame": [CPI_NEED_INPUT, CPI_REFUSED], "decode": [CPI_NEED_INPUT, CPI_PARTIAL, CPI_REFUSED],
        "describe": [CPI_END, CPI_NEED_INPUT, CPI_REFUSED], "accept": [CPI_END], "add_blob": [CPI_REFUSED],
        "begin_rows": [CPI_REFUSED],
    ]

    /// Calls the plugin, and detects a function that returns twice.
    func enter<R>(_ name: String, _ body: () -> R) -> R {
        board.call = name
        serial += 1
        let mine = serial
        let result = body()
        if serial != mine {
            // The stack below is no longer valid.
            board.finish(
                Record.of(
                    .fault(
                        "\(name) returned a second time while another function was running, through a longjmp",
                        .noEscape, try: "catch it inside the function that the host calls"), note: ""))
            _exit(0)
        }
        board.call = ""
        return result
    }
}

/// The value of an option.
struct OptionValue {
    var key: String
    var type: UInt32
    var integer: Int64 = 0
    var real: Double = 0
    var text: String?
    var flags: UInt32 = 0
}

/// Passes options for one call; their memory is overwritten and freed afterwards.
func withOptions<R>(_ values: [OptionValue], _ shape: StructVersion, _ body: (UnsafePointer<cpi_options>?) -> R) -> R {
    if values.isEmpty { return body(nil) }
    let gap = shape == .future ? 32 : 0
    let stride = unsafe MemoryLayout<cpi_option>.stride + gap
    let items = UnsafeMutableRawPointer.allocate(byteCount: stride * values.count, alignment: 16)
    unsafe memset(items, 0x5A, stride * values.count)
    var texts: [UnsafeMutablePointer<CChar>] = unsafe []
    for (index, value) in values.enumerated() {
        let key = unsafe strdup(value.key)!
        unsafe texts.append(key)
        var option = unsafe cpi_option(
            size: UInt32(MemoryLayout<cpi_option>.size + gap), type: value.type, flags: value.flags, reserved: 0,
            key: UnsafePointer(key), integer: value.integer, real: value.real, bytes: nil, length: 0)
        if let text = value.text {
            let copy = unsafe strdup(text)!
            unsafe texts.append(copy)
            unsafe option.bytes = UnsafeRawPointer(copy).assumingMemoryBound(to: UInt8.self)
            unsafe option.length = UInt64(text.utf8.count)
        }
        unsafe (items + index * stride).storeBytes(of: option, as: cpi_option.self)
    }
    let all = unsafe GuardedStruct(
        cpi_options(
            size: 0, count: UInt32(values.count), stride: UInt64(stride),
            items: UnsafePointer(items.assumingMemoryBound(to: cpi_option.self))), shape)
    let result = unsafe body(UnsafePointer(all.pointer))
    unsafe memset(items, 0xA5, stride * values.count)
    unsafe texts.forEach { text in
        unsafe memset(text, 0xA5, strlen(text))
        unsafe free(text)
    }
    unsafe items.deallocate()
    return result
}
