import CCoderPlugin
import HostSystem
import ImageModel

/// An output sink for a plugin, at an address that is valid as long as this object.
@safe final class PluginSink {
    private let sink: any OutputSink
    private let table: UnsafeMutablePointer<cpi_sink>
    /// The error thrown by the sink; the plugin receives only a status.
    private(set) var error: CoderError?

    var pointer: UnsafePointer<cpi_sink> { unsafe UnsafePointer(table) }
    var isSeekable: Bool { sink.isSeekable }

    init(_ sink: any OutputSink) {
        self.sink = sink
        unsafe table = .allocate(capacity: 1)
        unsafe table.initialize(
            to: cpi_sink(
                size: UInt32(MemoryLayout<cpi_sink>.size), flags: sink.isSeekable ? CPI_SINK_SEEKABLE : 0,
                ctx: Unmanaged.passUnretained(self).toOpaque(),
                write: { ctx, bytes, count in
                    let table = unsafe Unmanaged<PluginSink>.fromOpaque(ctx!).takeUnretainedValue()
                    guard let length = Int(exactly: count) else { return CPI_IO }
                    return unsafe table.write(UnsafeRawBufferPointer(start: bytes, count: length).bytes, at: nil)
                },
                write_at: !sink.isSeekable
                    ? nil
                    : { ctx, offset, bytes, count in
                        let table = unsafe Unmanaged<PluginSink>.fromOpaque(ctx!).takeUnretainedValue()
                        guard let length = Int(exactly: count) else { return CPI_IO }
                        return unsafe table.write(
                            UnsafeRawBufferPointer(start: bytes, count: length).bytes, at: offset)
                    }))
    }

    deinit { unsafe table.deallocate() }

    /// Appends or overwrites bytes; stores the sink's error and returns a status.
    func write(_ bytes: RawSpan, at offset: UInt64?) -> cpi_status {
        do throws(CoderError) {
            if let offset {
                guard sink.isSeekable, let at = Int(exactly: offset) else { return CPI_IO }
                try sink.overwrite(bytes, at: at)
            } else {
                try sink.write(bytes)
            }
            return CPI_OK
        } catch {
            if self.error == nil { self.error = error }
            return error.code == .limitExceeded ? CPI_LIMIT : CPI_IO
        }
    }
}
