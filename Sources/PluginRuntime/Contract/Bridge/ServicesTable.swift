import CCoderPlugin
import CIsolationWire
import Glibc
import HostSystem
import ImageModel

/// The callbacks and limits of a session, at addresses that are valid as long as this object.
@safe final class ServicesTable {
    let context: SessionContext
    private let services: UnsafeMutablePointer<cpi_services>
    private let limits: UnsafeMutablePointer<cpi_limits>

    var servicesPointer: UnsafePointer<cpi_services> { unsafe UnsafePointer(services) }
    var limitsPointer: UnsafePointer<cpi_limits> { unsafe UnsafePointer(limits) }

    init(_ context: SessionContext) {
        self.context = context
        unsafe services = .allocate(capacity: 1)
        unsafe limits = .allocate(capacity: 1)
        unsafe limits.initialize(to: context.limits.contract)
        unsafe services.initialize(
            to: cpi_services(
                size: UInt32(MemoryLayout<cpi_services>.size), flags: 0,
                ctx: Unmanaged.passUnretained(context).toOpaque(),
                allocate: { ctx, count in
                    guard let size = Int(exactly: count), size <= Int.max - 16,
                        unsafe sessionContext(ctx).reserve(size), let block = unsafe malloc(size + 16)
                    else { return nil }
                    // The size is stored before the block, so release can return it to the budget.
                    unsafe block.storeBytes(of: size, as: Int.self)
                    return unsafe block + 16
                },
                release: { ctx, memory in
                    guard let memory = unsafe memory else { return }
                    let block = unsafe memory - 16
                    _ = unsafe sessionContext(ctx).reserve(-block.load(as: Int.self))
                    unsafe free(block)
                },
                budget: { ctx, delta in
                    unsafe sessionContext(ctx).reserve(Int(delta)) ? CPI_OK : CPI_LIMIT
                },
                poll: { ctx in
                    let context = unsafe sessionContext(ctx)
                    if context.isCancelled { return CPI_CANCELLED }
                    return context.isLate ? CPI_DEADLINE : CPI_CONTINUE
                },
                log: { ctx, severity, message in
                    guard severity >= CPI_LOG_WARNING else { return }
                    let count = unsafe strnlen(message, Int(ISO_WARNING_LIMIT))
                    let text = unsafe Array(UnsafeRawBufferPointer(start: message, count: count))
                    unsafe sessionContext(ctx).warn(bytes: text)
                },
                progress: { ctx, done, total in
                    unsafe sessionContext(ctx).progress(Int(clamping: done), Int(clamping: total))
                },
                now: { _ in monotonicNow() },
                thread_hint: { ctx in
                    UInt32(clamping: unsafe sessionContext(ctx).threadHint)
                }))
    }

    deinit {
        unsafe services.deallocate()
        unsafe limits.deallocate()
    }
}

/// Returns the session of a callback.
private func sessionContext(_ ctx: UnsafeMutableRawPointer?) -> SessionContext {
    unsafe Unmanaged<SessionContext>.fromOpaque(ctx!).takeUnretainedValue()
}

/// Calls `body` with the options in the form of the contract, valid during the call.
func withOptions<R>(of context: SessionContext, _ body: (UnsafePointer<cpi_options>) -> R) -> R {
    // Everything that a cpi_option points to is in one arena until the call returns.
    var arena: [UnsafeMutablePointer<UInt8>] = unsafe []
    func copy(_ bytes: some Collection<UInt8>) -> UnsafeMutablePointer<UInt8> {
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count + 1)
        var at = 0
        for byte in bytes {
            unsafe memory[at] = byte
            at += 1
        }
        unsafe memory[at] = 0
        unsafe arena.append(memory)
        return unsafe memory
    }
    var items: [cpi_option] = unsafe []
    let choices = context.choices
    for (key, value) in context.options.values.sorted(by: { $0.key < $1.key }) {
        let name = unsafe copy(key.utf8)
        let parts = value.contractParts(isChoice: choices.contains(key))
        unsafe items.append(
            cpi_option(
                size: UInt32(MemoryLayout<cpi_option>.size), type: parts.type, flags: 0, reserved: 0,
                key: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self), integer: parts.integer,
                real: parts.real, bytes: UnsafePointer(parts.bytes.map(copy)), length: UInt64(parts.bytes?.count ?? 0)))
    }
    defer { unsafe arena.forEach { unsafe $0.deallocate() } }
    return unsafe items.withUnsafeBufferPointer { buffer in
        var all = unsafe cpi_options(
            size: UInt32(MemoryLayout<cpi_options>.size), count: UInt32(buffer.count),
            stride: UInt64(MemoryLayout<cpi_option>.stride), items: buffer.baseAddress)
        return unsafe withUnsafePointer(to: &all) { unsafe body($0) }
    }
}
