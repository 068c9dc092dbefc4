import CCoderPlugin
import CoderHost
import Glibc
import ImageModel

/// The plugin under check, mapped into this process.
@safe final class Subject {
    /// One of its coders.
    @safe struct Coder {
        let id: String
        let roles: UInt32
        let pointer: UnsafePointer<cpi_coder>
        let decoder: cpi_decoder_api?
        let encoder: cpi_encoder_api?
        let tableFaults: [String]
        /// The file extension of sources; only a coder without signatures needs it.
        var ending: String?

        var decodes: Bool { decoder != nil }
        var encodesStills: Bool { encoder != nil && roles & CPI_CODER_ENCODE != 0 }
        var encodesAnimations: Bool { encoder != nil && roles & CPI_CODER_ENCODE_ANIMATION != 0 }
        var isIncremental: Bool { roles & CPI_CODER_INCREMENTAL != 0 }
        var decodesAnimations: Bool { roles & CPI_CODER_ANIMATION != 0 }
        var servesRegions: Bool { roles & CPI_CODER_REGION != 0 }
        var listsItems: Bool { roles & CPI_CODER_ITEMS != 0 }
        var encodesItems: Bool { roles & CPI_CODER_ENCODE_ITEMS != 0 }
        var rewrites: Bool { roles & CPI_CODER_REWRITE != 0 }
        var transcodes: Bool { roles & CPI_CODER_TRANSCODE != 0 }
        var scales: Bool { roles & CPI_CODER_SCALE != 0 }
        var hasBlobs: Bool { decoder.map { unsafe $0.blob != nil } ?? false }
    }

    /// The properties of the host.
    struct HostFacts {
        var minor = UInt32(CPI_ABI_MINOR)
        var shape = StructVersion.current
        /// Whether the host has no `get`.
        var isMute = false
        /// Whether the host provides its threads.
        var lendsThreads = false
    }

    /// The members of its `cpi_plugin`.
    struct PluginFacts {
        let id: String
        let version: String
        let minorBuilt: Int
        let minorNeeded: Int
        let concurrency: UInt32
        let coderCount: Int
    }

    let facts: PluginFacts
    let coders: [Coder]
    let faults: [String]
    let board: Board
    private let plugin: cpi_plugin
    private let host: GuardedStruct<cpi_host>

    /// Maps the file and calls its entry.
    ///
    /// - Throws: the reason if the plugin cannot be used.
    init(path: String, manifest: PluginManifest, board: Board, facts: HostFacts = HostFacts()) throws(Stop) {
        self.board = board
        board.call = "the loader"
        guard let handle = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            let reason = unsafe dlerror().map { unsafe String(cString: $0) } ?? "no reason given"
            throw .fault("it cannot be loaded: \(reason)", .entry, try: "see which libraries are missing: ldd \(path)")
        }
        guard let symbol = unsafe dlsym(handle, CPI_ENTRY_SYMBOL) else {
            throw .fault("it does not export \(CPI_ENTRY_SYMBOL)", .entry, try: "define cpi_entry_1 with CPI_EXPORT")
        }
        typealias Entry =
            @convention(c) (UnsafePointer<cpi_host>, UnsafeMutablePointer<cpi_error>) -> UnsafePointer<cpi_plugin>?
        let entry = unsafe unsafeBitCast(symbol, to: Entry.self)
        let name = unsafe strdup("coderhost-conformance")!
        let version = unsafe strdup("1")!
        var lent = unsafe cpi_host(
            size: 0, abi_minor: facts.minor, name: UnsafePointer(name), version: UnsafePointer(version), ctx: nil,
            get: { _, _ in nil })
        if facts.isMute { unsafe lent.get = nil }
        if facts.lendsThreads { unsafe lent.get = { _, id in unsafe HostThreads.table(id) } }
        unsafe host = GuardedStruct(lent, facts.shape)
        let error = GuardedStruct(cpi_error(), facts.shape)
        error.clearFuture()
        board.call = "cpi_entry_1"
        let answer = unsafe entry(UnsafePointer(host.pointer), error.pointer)
        board.call = ""
        guard let pointer = unsafe answer else {
            let failure = error.value
            let text = fixedText(failure.message).text
            throw .fault(
                "cpi_entry_1 answered NULL"
                    + (failure.code < 0 ? " with \(statusName(failure.code)): \(text)" : " and filled no error"),
                .entryFails, try: "check which of its requirements is missing here")
        }
        let (raw, size) = unsafe readStruct(pointer)
        var faults: [String] = []
        if let least = unsafe MemoryLayout<cpi_plugin>.offset(of: \.`init`), size < least {
            throw .fault("its cpi_plugin has \(size) bytes", .size, try: "set .size = sizeof(cpi_plugin)")
        }
        unsafe plugin = raw
        guard UInt(bitPattern: unsafe raw.id) != 0, UInt(bitPattern: unsafe raw.version) != 0 else {
            throw .fault("its cpi_plugin has no id or no version", .manifestEqual, try: "fill .id and .version")
        }
        self.facts = unsafe PluginFacts(
            id: String(cString: raw.id), version: String(cString: raw.version), minorBuilt: Int(raw.abi_minor_built),
            minorNeeded: Int(raw.abi_minor_needed), concurrency: raw.concurrency, coderCount: Int(raw.coder_count))
        let coderCount = self.facts.coderCount
        if unsafe raw.reserved != 0 { faults.append("cpi_plugin.reserved is not zero") }
        if unsafe raw.concurrency > CPI_CONCURRENCY_SERIAL {
            unsafe faults.append("cpi_plugin.concurrency is \(raw.concurrency), which is undefined")
        }
        var coders: [Coder] = []
        board.call = "coder"
        for index in 0..<UInt32(clamping: min(coderCount, 64)) {
            guard let coder = unsafe raw.coder(index) else {
                faults.append("coder(\(index)) is NULL, but coder_count is \(coderCount)")
                continue
            }
            var read = unsafe Self.read(coder)
            let formats = manifest.coders.first { $0.id == read.id }?.formats ?? []
            if formats.allSatisfy(\.signatures.isEmpty) { read.ending = formats.first?.extensions.first }
            coders.append(read)
        }
        for index in [UInt32(clamping: coderCount), UInt32(clamping: coderCount) &+ 1, UInt32.max] {
            if unsafe raw.coder(index) != nil {
                faults.append("coder(\(index)) is not NULL, but coder_count is \(coderCount)")
            }
        }
        board.call = ""
        self.coders = coders
        self.faults = faults
    }

    /// Calls `init`, if the plugin has one.
    func initialize() throws(Stop) {
        guard let initialize = unsafe plugin.`init` else { return }
        let error = GuardedStruct(cpi_error())
        board.call = "init"
        let status = unsafe initialize(error.pointer)
        board.call = ""
        if status != CPI_OK {
            throw .fault(
                "init answered \(statusName(status)): \(fixedText(error.value.message).text)", .initialize,
                try: "check which of its requirements is missing here")
        }
    }

    /// Returns the plugin's result for an extension id; nil if it has no `get`.
    func get(_ id: String) -> ExtensionAnswer? {
        guard let get = unsafe plugin.get else { return nil }
        board.call = "get"
        defer { board.call = "" }
        return unsafe ExtensionAnswer(get(id))
    }

    /// Returns the table of an extension of the plugin; nil if it has none, or one shorter than `least` bytes.
    func table<T>(_ id: String, as type: T.Type, least: Int) -> T? {
        guard let get = unsafe plugin.get else { return nil }
        board.call = "get"
        defer { board.call = "" }
        guard let pointer = unsafe get(id)?.assumingMemoryBound(to: T.self) else { return nil }
        let (table, size) = unsafe readStruct(pointer)
        return size >= least ? table : nil
    }

    private static func read(_ pointer: UnsafePointer<cpi_coder>) -> Coder {
        let (raw, size) = unsafe readStruct(pointer)
        var faults: [String] = []
        if unsafe size < MemoryLayout<cpi_coder>.size { faults.append("cpi_coder.size is \(size)") }
        let id = UInt(bitPattern: unsafe raw.id) == 0 ? "" : unsafe String(cString: raw.id)
        var decoder: cpi_decoder_api?
        if let table = unsafe raw.decoder {
            let (api, size) = unsafe readStruct(table)
            let required: [(String, PartialKeyPath<cpi_decoder_api>)] = unsafe [
                ("open", \.open), ("close", \.close), ("set_source", \.set_source), ("read_header", \.read_header),
                ("next_frame", \.next_frame), ("decode", \.decode),
            ]
            let missing = missingMembers(api, size, required)
            faults += missing.map { "cpi_decoder_api.\($0) is NULL" }
            if api.reserved != 0 { faults.append("cpi_decoder_api.reserved is not zero") }
            if missing.isEmpty { decoder = api }
        }
        var encoder: cpi_encoder_api?
        if let table = unsafe raw.encoder {
            let (api, size) = unsafe readStruct(table)
            let required: [(String, PartialKeyPath<cpi_encoder_api>)] = unsafe [
                ("open", \.open), ("close", \.close), ("accept", \.accept), ("begin", \.begin),
                ("add_frame", \.add_frame), ("finish", \.finish),
            ]
            let missing = missingMembers(api, size, required)
            faults += missing.map { "cpi_encoder_api.\($0) is NULL" }
            if api.reserved != 0 { faults.append("cpi_encoder_api.reserved is not zero") }
            if missing.isEmpty { encoder = api }
        }
        return unsafe Coder(
            id: id, roles: raw.roles, pointer: pointer, decoder: decoder, encoder: encoder, tableFaults: faults)
    }
}

/// Returns the members that are NULL or beyond the end of a struct.
private func missingMembers<T>(
    _ table: T, _ size: Int, _ members: [(name: String, path: PartialKeyPath<T>)]
) -> [String] {
    unsafe withUnsafeBytes(of: table) { bytes in
        members.filter { member in
            guard let at = MemoryLayout<T>.offset(of: member.path), at + 8 <= size else { return true }
            return unsafe bytes.load(fromByteOffset: at, as: UInt.self) == 0
        }.map(\.name)
    }
}

/// The result of a `get`.
struct ExtensionAnswer {
    var isNull: Bool
    var size = 0
    var revision = 0
    var tag: UInt64 = 0

    init(_ pointer: UnsafeRawPointer?) {
        guard let pointer = unsafe pointer else {
            isNull = true
            return
        }
        isNull = false
        let head = unsafe pointer.loadUnaligned(as: cpi_table.self)
        size = Int(head.size)
        revision = Int(head.rev)
        tag = head.tag
    }

    /// Returns `cpi_tag` of an id: 64-bit FNV-1a.
    static func tag(of id: String) -> UInt64 {
        id.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

/// Returns the name of a status in the header.
func statusName(_ status: cpi_status) -> String {
    let names: [cpi_status: String] = [
        CPI_OK: "CPI_OK", CPI_END: "CPI_END", CPI_NEED_INPUT: "CPI_NEED_INPUT", CPI_PARTIAL: "CPI_PARTIAL",
        CPI_REFUSED: "CPI_REFUSED",
        CPI_NOT_MINE: "CPI_NOT_MINE", CPI_UNSUPPORTED: "CPI_UNSUPPORTED", CPI_CORRUPT: "CPI_CORRUPT",
        CPI_LIMIT: "CPI_LIMIT", CPI_INVALID_ARGUMENT: "CPI_INVALID_ARGUMENT", CPI_CANCELLED: "CPI_CANCELLED",
        CPI_DEADLINE: "CPI_DEADLINE", CPI_NO_MEMORY: "CPI_NO_MEMORY", CPI_IO: "CPI_IO", CPI_MISUSE: "CPI_MISUSE",
        CPI_INTERNAL: "CPI_INTERNAL", CPI_TRUNCATED: "CPI_TRUNCATED",
    ]
    return names[status] ?? "the undefined status \(status)"
}
