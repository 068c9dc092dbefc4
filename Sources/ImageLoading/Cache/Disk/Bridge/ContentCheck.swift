import CContentCheck

/// A checksum that detects damaged bytes: XXH3 with 128 bits.
///
/// It detects accidents only. A process that can write to the folder can forge a matching checksum.
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
