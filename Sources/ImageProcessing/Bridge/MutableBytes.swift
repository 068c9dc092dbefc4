extension [UInt8] {
    /// Calls `body` with the bytes as a mutable span, without copying them.
    mutating func withMutableSpan<R, E: Error>(_ body: (inout MutableRawSpan) throws(E) -> R) throws(E) -> R {
        var elements = mutableSpan
        var bytes = unsafe elements.mutableBytes
        return try body(&bytes)
    }
}
