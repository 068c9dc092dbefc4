import CCoderPlugin
import Glibc
package import HostSystem
import ImageModel
import ImageProcessing
package import PluginCatalogue

/// A plugin loaded into this process; never unloaded.
// Sendable because: everything it points to is constant for the life of the process.
@safe package final class LoadedPlugin: @unchecked Sendable {
    /// A coder of the plugin, copied and padded so that a shorter struct of an older plugin can be read.
    @safe struct Coder {
        let pointer: UnsafePointer<cpi_coder>
        let decoder: cpi_decoder_api?
        let encoder: cpi_encoder_api?
    }

    let id: String
    /// Why it was loaded from its own file instead of a sealed copy; nil if it was not.
    let weakness: String?
    private let coders: [String: Coder]
    private let get: (@convention(c) (UnsafePointer<CChar>) -> UnsafeRawPointer?)?
    /// Held during every call into a plugin that declares itself serial.
    private let serial = Mutex<Void>(())
    private let isSerial: Bool

    func coder(_ id: String) -> Coder? { coders[id] }

    /// Returns the table of an extension of the plugin.
    @unsafe
    func table(_ id: String) -> UnsafeRawPointer? {
        guard let get = unsafe get else { return nil }
        return unsafe enter { unsafe get(id) }
    }

    /// Calls the plugin, from one thread at a time if it is serial.
    @inline(__always)
    func enter<R>(_ context: SessionContext? = nil, _ body: () -> R) -> R {
        guard isSerial else { return body() }
        // Progress callbacks run application code, which may use this plugin again; a held lock would deadlock.
        context?.holdProgress()
        defer { context?.releaseProgress() }
        return serial.withLock { _ in body() }
    }

    private init(_ plugin: cpi_plugin, coders: [String: Coder], weakness: String?) {
        self.weakness = weakness
        unsafe id = String(cString: plugin.id)
        self.coders = coders
        unsafe get = plugin.get
        // Concurrency modes of later versions are treated as serial.
        isSerial = unsafe plugin.concurrency != CPI_CONCURRENCY_ANY
    }

    // MARK: Loading

    /// The result of loading a file, by file version; shared by all hosts in this process.
    private static let known = Mutex<[FileIdentity: Result<LoadedPlugin, PluginRefusal>]>([:])
    /// Held while a plugin is loaded and initialized: the contract promises that this happens once, without concurrent
    /// calls.
    private static let loading = Mutex<Void>(())

    /// The files passed to the loader, kept open.
    private static let mapped = Mutex<[SealedPlugin]>([])

    /// Returns the earlier result for a file; nil if none of its code has run.
    static func outcome(of identity: FileIdentity) -> Result<LoadedPlugin, PluginRefusal>? {
        known.withLock { $0[identity] }
    }

    /// Returns the earlier result as a status.
    package static func status(of identity: FileIdentity) -> PluginStatus? {
        switch outcome(of: identity) {
        case .success(let plugin):
            PluginStatus(
                .loaded, reason: plugin.weakness.map { "from its own file, hashed before and after: \($0)" } ?? "")
        case .failure(let refusal): refusal.status
        case nil: nil
        }
    }

    /// Loads the plugin of a record, or returns the earlier result.
    static func load(_ record: PluginRecord) -> Result<LoadedPlugin, PluginRefusal> {
        guard let identity = record.examination.identity, let manifest = record.manifest else {
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
            // A failure that a retry may solve is not cached.
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
        // The descriptor stays open, because the loader identifies the copy by its number.
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

    /// Compares the loaded plugin with its manifest and initializes it.
    private static func adopt(
        _ pointer: UnsafePointer<cpi_plugin>, _ manifest: PluginManifest, _ weakness: String?
    ) throws(PluginRefusal) -> LoadedPlugin {
        func mismatch(_ what: String) -> PluginRefusal {
            PluginRefusal(.manifestMismatch, what, "correct the manifest and rebuild")
        }
        guard let plugin = unsafe importStruct(pointer, minimum: \.`init`, required: [\.id, \.version, \.coder]) else {
            throw mismatch("its plugin struct is too short or incomplete")
        }
        var facts = unsafe PluginFacts(
            id: String(cString: plugin.id), version: String(cString: plugin.version),
            abiMinorNeeded: Int(plugin.abi_minor_needed), coders: [], knowsAll: false,
            unknown: plugin.reserved != 0 ? "cpi_plugin.reserved" : nil)
        // A plugin that returns a table for an unknown id would do so for every id.
        if let get = unsafe plugin.get { facts.knowsAll = unsafe get("coderhost.no-such-extension/1") != nil }
        var coders: [String: Coder] = [:]
        for index in unsafe 0..<min(plugin.coder_count, 256) {
            guard let coder = unsafe plugin.coder(index),
                let raw = unsafe importStruct(coder, minimum: \.encoder, required: [\.id])
            else { throw mismatch("coder \(index) is missing or incomplete") }
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
        if let contradiction = facts.contradiction(with: manifest) { throw mismatch(contradiction) }
        if let initialize = unsafe plugin.`init` {
            var call = ContractCall()
            let status = unsafe initialize(&call.error)
            if status != CPI_OK {
                let error = call.failure(status < 0 ? status : CPI_INTERNAL, of: "init", coder: facts.id)
                throw PluginRefusal(
                    .initFailed, error?.message ?? "it could not be initialized", "see the plugin's own documentation")
            }
        }
        return unsafe LoadedPlugin(plugin, coders: coders, weakness: weakness)
    }

    /// The minimum size of a table ends after its last required function; shorter tables lack functions.
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
