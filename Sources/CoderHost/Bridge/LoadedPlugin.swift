import CCoderPlugin
import Glibc
import ImageModel
import ImageProcessing
import Synchronization

/// A plugin mapped into this process; never unloaded.
// Sendable because: everything it points to is constant for the life of the process.
@safe final class LoadedPlugin: @unchecked Sendable {
    /// A coder of the plugin, copied so that a shorter struct of an older plugin reads as if it had been whole.
    @safe struct Coder {
        let pointer: UnsafePointer<cpi_coder>
        let decoder: cpi_decoder_api?
        let encoder: cpi_encoder_api?
    }

    let id: String
    /// Why it was loaded from its own file and not from a sealed copy; nil where it was not.
    let weakness: String?
    private let coders: [String: Coder]
    private let get: (@convention(c) (UnsafePointer<CChar>) -> UnsafeRawPointer?)?
    /// Held during every call into a plugin that declares itself serial.
    private let serial = Mutex<Void>(())
    private let isSerial: Bool

    func coder(_ id: String) -> Coder? { coders[id] }

    /// The table of an extension of the plugin.
    @unsafe
    func table(_ id: String) -> UnsafeRawPointer? {
        guard let get = unsafe get else { return nil }
        return unsafe enter { unsafe get(id) }
    }

    /// Calls into the plugin, one thread at a time where it asked for that.
    @inline(__always)
    func enter<R>(_ context: SessionContext? = nil, _ body: () -> R) -> R {
        guard isSerial else { return body() }
        // A report runs the application's code, which may use this plugin again and must not find it locked.
        context?.holdProgress()
        defer { context?.releaseProgress() }
        return serial.withLock { _ in body() }
    }

    private init(_ plugin: cpi_plugin, coders: [String: Coder], weakness: String?) {
        self.weakness = weakness
        unsafe id = String(cString: plugin.id)
        self.coders = coders
        unsafe get = plugin.get
        // What a later version calls otherwise is served at least as well one thread at a time.
        isSerial = unsafe plugin.concurrency != CPI_CONCURRENCY_ANY
    }

    // MARK: Loading

    /// What became of a file, by version of the file; the same for every host in this process.
    private static let known = Mutex<[FileIdentity: Result<LoadedPlugin, PluginRefusal>]>([:])
    /// Held while a plugin is mapped and initialised: the contract promises that this happens once, with no other call
    /// in flight.
    private static let loading = Mutex<Void>(())

    /// What the loader has been given.
    private static let mapped = Mutex<[SealedPlugin]>([])

    /// What is already known of a file; nil when nothing of it has run yet.
    static func outcome(of identity: FileIdentity) -> Result<LoadedPlugin, PluginRefusal>? {
        known.withLock { $0[identity] }
    }

    /// The same as a status.
    static func status(of identity: FileIdentity) -> PluginStatus? {
        switch outcome(of: identity) {
        case .success(let plugin):
            PluginStatus(
                .loaded, reason: plugin.weakness.map { "from its own file, hashed before and after: \($0)" } ?? "")
        case .failure(let refusal): refusal.status
        case nil: nil
        }
    }

    /// Maps the plugin of a record, or answers what became of it before.
    static func load(_ record: PluginRecord) -> Result<LoadedPlugin, PluginRefusal> {
        guard let identity = record.identity, let manifest = record.manifest else {
            return .failure(PluginRefusal(record.status))
        }
        if let outcome = outcome(of: identity) { return outcome }
        return loading.withLock { _ in
            if let outcome = outcome(of: identity) { return outcome }
            let result: Result<LoadedPlugin, PluginRefusal>
            do throws(PluginRefusal) {
                result = .success(try map(record, manifest))
            } catch {
                result = .failure(error)
            }
            // What another look may mend is not kept.
            if case .failure(let refusal) = result, refusal.isStale { return result }
            known.withLock { $0[identity] = result }
            return result
        }
    }

    private static func map(_ record: PluginRecord, _ manifest: PluginManifest) throws(PluginRefusal) -> LoadedPlugin {
        let sealed = try SealedPlugin(record)
        guard let handle = unsafe dlopen(sealed.path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            let reason = unsafe dlerror().map { unsafe String(cString: $0) } ?? "dlopen failed"
            throw .notLoaded(reason, record.path)
        }
        // Its descriptor stays open for good: that number is the name the loader knows the copy by.
        mapped.withLock { $0.append(sealed) }
        try sealed.confirm()
        guard let symbol = unsafe dlsym(handle, CPI_ENTRY_SYMBOL) else {
            throw PluginRefusal(.notAPlugin, "it does not export \(CPI_ENTRY_SYMBOL)", "export that symbol")
        }
        typealias Entry =
            @convention(c) (
                UnsafePointer<cpi_host>, UnsafeMutablePointer<cpi_error>
            ) -> UnsafePointer<cpi_plugin>?
        let entry = unsafe unsafeBitCast(symbol, to: Entry.self)
        var call = ContractCall()
        guard let pointer = unsafe entry(HostTable.pointer, &call.error) else {
            let error = call.failure(
                call.error.code < 0 ? call.error.code : CPI_INTERNAL, of: CPI_ENTRY_SYMBOL, coder: manifest.id)
            throw PluginRefusal(
                .initFailed, error?.message ?? "its entry function failed", "see the plugin's own documentation")
        }
        return try unsafe adopt(pointer, manifest, sealed.weakness)
    }

    /// Compares what the plugin reports with its manifest, and initialises it.
    private static func adopt(
        _ pointer: UnsafePointer<cpi_plugin>, _ manifest: PluginManifest, _ weakness: String?
    ) throws(PluginRefusal) -> LoadedPlugin {
        func lying(_ what: String) -> PluginRefusal {
            PluginRefusal(.lyingManifest, what, "correct the manifest and rebuild")
        }
        guard let plugin = unsafe importStruct(pointer, minimum: \.`init`, required: [\.id, \.version, \.coder]) else {
            throw lying("its plugin struct is too short or incomplete")
        }
        var facts = unsafe PluginFacts(
            id: String(cString: plugin.id), version: String(cString: plugin.version),
            abiMinorNeeded: Int(plugin.abi_minor_needed), coders: [], knowsAll: false,
            unknown: plugin.reserved != 0 ? "cpi_plugin.reserved" : nil)
        // A plugin that answers an id nobody can know would answer any.
        if let get = unsafe plugin.get { facts.knowsAll = unsafe get("coderhost.no-such-extension/1") != nil }
        var coders: [String: Coder] = [:]
        for index in unsafe 0..<min(plugin.coder_count, 256) {
            guard let coder = unsafe plugin.coder(index),
                let raw = unsafe importStruct(coder, minimum: \.encoder, required: [\.id])
            else { throw lying("coder \(index) is missing or incomplete") }
            let coderID = unsafe String(cString: raw.id)
            let decoder = unsafe raw.decoder.flatMap { unsafe importDecoder($0) }
            let encoder = unsafe raw.encoder.flatMap { unsafe importEncoder($0) }
            facts.coders.append(
                PluginFacts.Coder(
                    id: coderID, roles: unsafe PluginFacts.roles(raw.roles), decodes: decoder != nil,
                    encodes: encoder != nil))
            if unsafe raw.roles & 0xFFFF_0000 != 0 { facts.unknown = "cpi_coder.roles" }
            if decoder.map({ $0.reserved != 0 }) == true { facts.unknown = "cpi_decoder_api.reserved" }
            if encoder.map({ $0.reserved != 0 }) == true { facts.unknown = "cpi_encoder_api.reserved" }
            unsafe coders[coderID] = Coder(pointer: coder, decoder: decoder, encoder: encoder)
        }
        if let unknown = facts.unknown { throw .needsNewerHost(unknown) }
        if let contradiction = facts.contradiction(with: manifest) { throw lying(contradiction) }
        if let initialise = unsafe plugin.`init` {
            var call = ContractCall()
            let status = unsafe initialise(&call.error)
            if status != CPI_OK {
                let error = call.failure(status < 0 ? status : CPI_INTERNAL, of: "init", coder: facts.id)
                throw PluginRefusal(
                    .initFailed, error?.message ?? "it could not be initialised", "see the plugin's own documentation")
            }
        }
        return unsafe LoadedPlugin(plugin, coders: coders, weakness: weakness)
    }

    /// A table ends behind its last required function at the earliest: functions that a shorter one lacks are absent.
    private static func importDecoder(_ pointer: UnsafePointer<cpi_decoder_api>) -> cpi_decoder_api? {
        unsafe importStruct(
            pointer, minimum: \.dirty,
            required: [\.open, \.close, \.set_source, \.read_header, \.next_frame, \.decode])
    }

    private static func importEncoder(_ pointer: UnsafePointer<cpi_encoder_api>) -> cpi_encoder_api? {
        unsafe importStruct(
            pointer, minimum: \.get, required: [\.open, \.close, \.accept, \.begin, \.add_frame, \.finish])
    }
}
