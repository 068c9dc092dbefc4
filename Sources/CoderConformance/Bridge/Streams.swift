import CCoderPlugin
import Glibc

/// The input for a plugin. Its last byte lies before an inaccessible page.
@safe final class Input {
    enum Kind: String, CaseIterable { case memory, growing, reader }

    let kind: Kind
    private let region: Region
    private let start: UnsafeMutablePointer<UInt8>
    private let data: [UInt8]
    private(set) var available: Int
    private(set) var isComplete: Bool
    private var table: GuardedStruct<cpi_source>!
    /// The number of the failing read, from 0.
    private let failingRead: Int?
    private var ending: UnsafeMutablePointer<CChar>?
    private(set) var reads = 0

    var pointer: UnsafePointer<cpi_source> { unsafe UnsafePointer(table.pointer) }

    init(_ bytes: [UInt8], _ kind: Kind = .memory, shape: StructVersion = .current, failingRead: Int? = nil) {
        self.kind = kind
        self.failingRead = failingRead
        data = bytes
        region = Region(byteCount: max(1, bytes.count))
        unsafe start = region.end - bytes.count
        available = kind == .growing ? 0 : bytes.count
        isComplete = kind != .growing
        // Bytes that have not arrived must differ from their final values.
        unsafe memset(start, kind == .growing ? 0xA5 : 0, bytes.count)
        if kind == .memory { for (at, byte) in bytes.enumerated() { unsafe start[at] = byte } }
        let source = unsafe cpi_source(
            size: 0,
            kind: kind == .memory ? CPI_SOURCE_MEMORY : kind == .growing ? CPI_SOURCE_GROWING : CPI_SOURCE_READER,
            length: kind == .growing ? CPI_LENGTH_UNKNOWN : UInt64(bytes.count),
            bytes: kind == .reader ? nil : UnsafePointer(start), ctx: Unmanaged.passUnretained(self).toOpaque(),
            available: { ctx in unsafe UInt64(Input.from(ctx).available) },
            complete: { ctx in unsafe Input.from(ctx).isComplete ? 1 : 0 },
            read_at: { ctx, offset, buffer, count, copied in
                unsafe Input.from(ctx).read(offset, buffer, count, copied)
            }, ending: nil)
        unsafe table = GuardedStruct(source, shape)
    }

    deinit { unsafe free(ending) }

    /// Passes the file extension of the source to the plugin.
    func name(endingIn ending: String?) {
        unsafe free(self.ending)
        unsafe self.ending = ending.map { unsafe strdup($0) } ?? nil
        unsafe table.pointer.pointee.ending = UnsafePointer(self.ending)
    }

    private static func from(_ ctx: UnsafeMutableRawPointer?) -> Input {
        HostThreads.expectSessionThread()
        return unsafe Unmanaged<Input>.fromOpaque(ctx!).takeUnretainedValue()
    }

    /// Makes `count` more bytes arrive; returns false if no bytes are left and the plugin knows it.
    func grow(_ count: Int) -> Bool {
        if isComplete { return false }
        let end = min(data.count, available + max(1, count))
        if kind != .reader { for at in available..<end { unsafe start[at] = data[at] } }
        if available == data.count { isComplete = true }
        available = end
        return true
    }

    private func read(
        _ offset: UInt64, _ buffer: UnsafeMutablePointer<UInt8>, _ count: UInt64,
        _ copied: UnsafeMutablePointer<UInt64>
    ) -> cpi_status {
        let number = reads
        reads += 1
        unsafe copied.pointee = 0
        if let failingRead, number >= failingRead { return CPI_IO }
        let from = Int(clamping: min(offset, UInt64(available)))
        let part = Int(clamping: min(count, UInt64(available - from)))
        for at in 0..<part { unsafe buffer[at] = data[from + at] }
        unsafe copied.pointee = UInt64(part)
        return UInt64(part) < count && !isComplete ? CPI_NEED_INPUT : CPI_OK
    }
}

/// The output for a plugin.
@safe final class Output {
    private(set) var bytes: [UInt8] = []
    /// The number of bytes from which on writing fails, and the status.
    private let room: Int?
    private let refusal: cpi_status
    private(set) var writesAfterRefusal = 0
    private(set) var isRefused = false
    /// Whether the plugin overwrote bytes that were not written yet.
    private(set) var hasWrongPlace = false
    private var table: GuardedStruct<cpi_sink>!

    var pointer: UnsafePointer<cpi_sink> { unsafe UnsafePointer(table.pointer) }

    init(room: Int? = nil, refusal: cpi_status = CPI_LIMIT, isSeekable: Bool = true, shape: StructVersion = .current) {
        self.room = room
        self.refusal = refusal
        let sink = unsafe cpi_sink(
            size: 0, flags: isSeekable ? CPI_SINK_SEEKABLE : 0, ctx: Unmanaged.passUnretained(self).toOpaque(),
            write: { ctx, bytes, count in unsafe Output.from(ctx).write(bytes, count) },
            write_at: !isSeekable
                ? nil : { ctx, offset, bytes, count in unsafe Output.from(ctx).overwrite(offset, bytes, count) })
        unsafe table = GuardedStruct(sink, shape)
    }

    private static func from(_ ctx: UnsafeMutableRawPointer?) -> Output {
        HostThreads.expectSessionThread()
        return unsafe Unmanaged<Output>.fromOpaque(ctx!).takeUnretainedValue()
    }

    private func write(_ start: UnsafePointer<UInt8>, _ count: UInt64) -> cpi_status {
        if isRefused { writesAfterRefusal += 1 }
        if let room, bytes.count + Int(clamping: count) > room {
            isRefused = true
            return refusal
        }
        if bytes.count + Int(clamping: count) > 256 << 20 { return CPI_IO }
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: Int(count)))
        return CPI_OK
    }

    private func overwrite(_ offset: UInt64, _ start: UnsafePointer<UInt8>, _ count: UInt64) -> cpi_status {
        guard offset <= UInt64(bytes.count), count <= UInt64(bytes.count) - offset else {
            hasWrongPlace = true
            return CPI_IO
        }
        for at in 0..<Int(count) { unsafe bytes[Int(offset) + at] = start[at] }
        return CPI_OK
    }
}
