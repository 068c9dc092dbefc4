import CContentCheck

/// Tells bytes that were damaged from those that were written: XXH3 with 128 bits.
///
/// Against accidents; whoever may write to the folder can make any bytes look right.
struct ContentCheck: Sendable, Hashable {
    var low: UInt64
    var high: UInt64

    init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    init(of bytes: RawSpan) {
        let check = unsafe bytes.withUnsafeBytes { buffer in
            unsafe content_check_of(buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!, buffer.count)
        }
        (low, high) = (check.low, check.high)
    }
}
