internal import CCoderPlugin
internal import ImageModel

/// A plugin's tables as the host sees them, built once for the life of the process.
///
/// The file that the build plugin `EmbedManifest` generates holds the one object of this type; nobody else makes one.
@safe public struct ExportedPlugin: Sendable {
    private let table: Constant<cpi_plugin>
    private let coders: [Constant<cpi_coder>]
    private let minorNeeded: UInt32

    /// Builds the tables of `plugin`.
    ///
    /// `coder` calls ``coder(_:)`` of this very object: a C function pointer carries no context, so it stands where the
    /// object is a global.
    /// - Parameter optionKeys: the keys that the manifest has for each coder; any is taken where it has none.
    @unsafe
    public init(
        _ plugin: CoderPlugin, minorNeeded: UInt32, optionKeys: [String: [String]] = [:],
        coder: @escaping @convention(c) (UInt32) -> UnsafeRawPointer?
    ) {
        self.minorNeeded = minorNeeded
        unsafe coders = plugin.coders.map { unsafe ExportedCoder.table($0, optionKeys[$0.id]) }
        unsafe table = Constant(
            cpi_plugin(
                size: UInt32(MemoryLayout<cpi_plugin>.size), abi_minor_built: UInt32(CPI_TARGET_MINOR),
                abi_minor_needed: minorNeeded,
                concurrency: plugin.isSerial ? CPI_CONCURRENCY_SERIAL : CPI_CONCURRENCY_ANY,
                id: Constant(plugin.id).pointer, version: Constant(plugin.version).pointer,
                coder_count: UInt32(plugin.coders.count), reserved: 0,
                // The same function, with the type of what it points at.
                coder: unsafeBitCast(coder, to: (@convention(c) (UInt32) -> UnsafePointer<cpi_coder>?).self),
                init: nil,
                get: { id in
                    if unsafe isEqual(id, CPI_EXT_REWRITE) { return unsafe UnsafeRawPointer(ExportedRewriter.table.pointer) }
                    if unsafe isEqual(id, CPI_EXT_TRANSCODE) {
                        return unsafe UnsafeRawPointer(ExportedRewriter.transcodeTable.pointer)
                    }
                    return nil
                }))
    }

    /// The `cpi_coder` number `index`; NULL behind the last.
    @unsafe
    public func coder(_ index: UInt32) -> UnsafeRawPointer? {
        unsafe index < coders.count ? UnsafeRawPointer(coders[Int(index)].pointer) : nil
    }

    /// Answers the entry call: `host` is a `cpi_host`, `error` a `cpi_error`, the result a `cpi_plugin`.
    ///
    /// The corresponding C function is `cpi_entry_1`.
    @unsafe
    public func enter(_ host: UnsafeRawPointer?, _ error: UnsafeMutableRawPointer?) -> UnsafeRawPointer? {
        do throws(CoderError) {
            guard let host = unsafe host?.assumingMemoryBound(to: cpi_host.self) else { throw .nullArgument }
            let raw = unsafe try copyIn(host, least: FirstSize.host)
            guard unsafe raw.abi_minor >= minorNeeded else { throw .unsupported("a host as old as this one") }
            unsafe HostThreads.adopt(raw)
            return unsafe UnsafeRawPointer(table.pointer)
        } catch let failure {
            if let error = unsafe error { unsafe failure.fill(error.assumingMemoryBound(to: cpi_error.self)) }
            return nil
        }
    }
}

/// The author's coder behind a `cpi_coder`.
final class ExportedCoder: Sendable {
    private let coder: Coder
    private let optionKeys: Set<String>?

    private init(_ coder: Coder, _ optionKeys: [String]?) {
        self.coder = coder
        self.optionKeys = optionKeys.map { Set($0) }
    }

    static func table(_ coder: Coder, _ optionKeys: [String]?) -> Constant<cpi_coder> {
        unsafe Constant(
            cpi_coder(
                size: UInt32(MemoryLayout<cpi_coder>.size), roles: coder.roles.rawValue, id: Constant(coder.id).pointer,
                data: Unmanaged.passRetained(ExportedCoder(coder, optionKeys)).toOpaque(),
                decoder: coder.decoder == nil ? nil : ExportedDecoder.table.pointer,
                encoder: coder.encoder == nil ? nil : ExportedEncoder.table.pointer))
    }

    /// Finds the author's coder in the table that the host passes back.
    ///
    /// - Throws: `.misuse`.
    @unsafe
    static func find(_ pointer: UnsafePointer<cpi_coder>) throws(CoderError) -> Coder {
        unsafe try entry(pointer).coder
    }

    /// The keys of its options; nil where they are not known.
    ///
    /// - Throws: `.misuse`.
    @unsafe
    static func optionKeys(of pointer: UnsafePointer<cpi_coder>) throws(CoderError) -> Set<String>? {
        unsafe try entry(pointer).optionKeys
    }

    private static func entry(_ pointer: UnsafePointer<cpi_coder>) throws(CoderError) -> ExportedCoder {
        if unsafe isNull(pointer) { throw .nullArgument }
        guard let data = unsafe pointer.pointee.data else {
            throw CoderError(.misuse, "the coder is none of this plugin")
        }
        return unsafe Unmanaged<ExportedCoder>.fromOpaque(data).takeUnretainedValue()
    }
}
