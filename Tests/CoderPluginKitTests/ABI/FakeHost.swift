import CCoderPlugin
import CoderPluginKit
import ImageModel

/// The toy plugin, as a generated file contains it.
let exportedToy: ExportedPlugin = unsafe ExportedPlugin(
    Toy.plugin, minorNeeded: 0, coder: { unsafe exportedToy.coder($0) })

/// A host in memory, whose services record all calls.
@safe final class FakeHost {
    var pollAnswer = CPI_CONTINUE
    var budgetAnswer = CPI_OK
    var lines: [String] = []
    var progress: [UInt64] = []
    var reserved: Int64 = 0
    private let servicesSize: Int
    private var lentServices: SizedStruct<cpi_services>?

    /// Creates a host whose services table ends after `servicesSize` bytes.
    init(servicesSize: Int = 80) { self.servicesSize = servicesSize }

    var services: SizedStruct<cpi_services> {
        if let lentServices = unsafe lentServices { return unsafe lentServices }
        let lent = unsafe SizedStruct(
            cpi_services(
                size: 0, flags: 0, ctx: Unmanaged.passUnretained(self).toOpaque(),
                allocate: { _, _ in nil }, release: { _, _ in },
                budget: { ctx, delta in
                    let host = unsafe FakeHost.find(ctx)
                    host.reserved += delta
                    return host.budgetAnswer
                },
                poll: { ctx in unsafe FakeHost.find(ctx).pollAnswer },
                log: { ctx, _, text in unsafe FakeHost.find(ctx).lines.append(String(cString: text)) },
                progress: { ctx, done, total in unsafe FakeHost.find(ctx).progress = [done, total] },
                now: { _ in 0 }, thread_hint: { _ in 3 }),
            size: servicesSize)
        unsafe lentServices = lent
        return unsafe lent
    }

    private static func find(_ ctx: UnsafeMutableRawPointer?) -> FakeHost {
        unsafe Unmanaged<FakeHost>.fromOpaque(ctx!).takeUnretainedValue()
    }

    /// Returns limits with a side and a number of scans, of `size` bytes.
    static func limits(side: UInt32 = 0, scans: UInt32 = 0, size: Int = 96) -> SizedStruct<cpi_limits> {
        var limits = cpi_limits()
        limits.max_width = side
        limits.max_scans = scans
        return SizedStruct(limits, size: size)
    }

    /// Enters the toy plugin with a host of this minor; returns nil if the plugin refuses.
    static func plugin(minor: UInt32 = 1, error: SizedStruct<cpi_error> = SizedStruct()) -> PluginProbe? {
        unsafe "host".withCString { name in
            let host = unsafe SizedStruct(
                cpi_host(size: 0, abi_minor: minor, name: name, version: name, ctx: nil, get: nil))
            let table = unsafe exportedToy.enter(host.pointer, error.pointer)
            return unsafe table.map { unsafe PluginProbe(table: $0.assumingMemoryBound(to: cpi_plugin.self)) }
        }
    }

    /// Returns the status in `error` after an entry call with NULL for its host; nil if the call returned a table.
    static func statusOfEntryWithoutHost(error: SizedStruct<cpi_error>) -> cpi_status? {
        unsafe exportedToy.enter(nil, error.pointer) == nil ? error[\.code] : nil
    }
}

/// Reads a plugin's table.
@safe struct PluginProbe {
    let table: UnsafePointer<cpi_plugin>

    var id: String { unsafe String(cString: table.pointee.id) }
    var version: String { unsafe String(cString: table.pointee.version) }
    var minors: [UInt32] { unsafe [table.pointee.abi_minor_built, table.pointee.abi_minor_needed] }
    var concurrency: UInt32 { unsafe table.pointee.concurrency }
    var coderIDs: [String] {
        (0..<10).compactMap { index in unsafe table.pointee.coder(index).map { unsafe String(cString: $0.pointee.id) } }
    }
    var count: UInt32 { unsafe table.pointee.coder_count }

    func roles(_ index: UInt32) -> UInt32? { unsafe table.pointee.coder(index)?.pointee.roles }
    func hasEncoder(_ index: UInt32) -> Bool { unsafe table.pointee.coder(index)?.pointee.encoder != nil }
    func knows(_ id: String) -> Bool { unsafe table.pointee.get?(id) != nil }
    func coder(_ index: UInt32) -> UnsafePointer<cpi_coder> { unsafe table.pointee.coder(index)! }
}

/// A source whose bytes arrive when the test requests it.
@safe final class FakeSource {
    var available: Int
    var isComplete: Bool
    private(set) var timesAsked = 0
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let isReader: Bool
    private var lentSource: SizedStruct<cpi_source>?

    init(_ content: [UInt8], available: Int? = nil, isReader: Bool = false) {
        unsafe bytes = .allocate(capacity: max(1, content.count))
        _ = unsafe bytes.initialize(from: content)
        self.available = available ?? content.count
        self.isReader = isReader
        isComplete = available == nil
    }

    deinit { unsafe bytes.deallocate() }

    func lend(size: Int = 64) -> SizedStruct<cpi_source> {
        if let lentSource = unsafe lentSource { return unsafe lentSource }
        let lent = unsafe SizedStruct(
            cpi_source(
                size: 0, kind: isReader ? CPI_SOURCE_READER : CPI_SOURCE_GROWING, length: UInt64.max,
                bytes: isReader ? nil : UnsafePointer(bytes.baseAddress),
                ctx: Unmanaged.passUnretained(self).toOpaque(),
                available: { ctx in
                    let source = unsafe FakeSource.find(ctx)
                    source.timesAsked += 1
                    return UInt64(source.available)
                },
                complete: { ctx in unsafe FakeSource.find(ctx).isComplete ? 1 : 0 },
                read_at: { ctx, offset, buffer, count, copied in
                    let source = unsafe FakeSource.find(ctx)
                    let end = min(source.available, Int(offset + count))
                    for at in min(Int(offset), end)..<end { unsafe buffer[at - Int(offset)] = source.bytes[at] }
                    unsafe copied.pointee = UInt64(max(0, end - Int(offset)))
                    return CPI_OK
                }, ending: nil),
            size: size)
        unsafe lentSource = lent
        return unsafe lent
    }

    private static func find(_ ctx: UnsafeMutableRawPointer?) -> FakeSource {
        unsafe Unmanaged<FakeSource>.fromOpaque(ctx!).takeUnretainedValue()
    }
}

/// A sink that collects its bytes.
@safe final class FakeSink {
    var answer = CPI_OK
    private(set) var bytes: [UInt8] = []
    private var lentSink: SizedStruct<cpi_sink>?

    func lend() -> SizedStruct<cpi_sink> {
        if let lentSink = unsafe lentSink { return unsafe lentSink }
        let lent = unsafe SizedStruct(
            cpi_sink(
                size: 0, flags: 0, ctx: Unmanaged.passUnretained(self).toOpaque(),
                write: { ctx, bytes, count in
                    let sink = unsafe Unmanaged<FakeSink>.fromOpaque(ctx!).takeUnretainedValue()
                    if sink.answer == CPI_OK {
                        unsafe sink.bytes.append(contentsOf: UnsafeBufferPointer(start: bytes, count: Int(count)))
                    }
                    return sink.answer
                }, write_at: nil))
        unsafe lentSink = lent
        return unsafe lent
    }
}
