/// A snapshot of the bytes of a source that have arrived, for tasks that read them on several threads.
///
/// Tasks must not call the source: only the session's thread may use ``ByteSource``.
///
/// - Ownership: borrowed; valid until the session ends.
@safe public struct ArrivedBytes {
    /// Whether no further bytes will arrive.
    public let isComplete: Bool
    /// The number of arrived bytes.
    public let count: Int
    /// The first byte; nil if there are no bytes. For use in a `Bridge/` folder.
    @unsafe public let start: UnsafePointer<UInt8>?

    /// Takes a snapshot of a source.
    public init(_ source: ByteSource) {
        // The order matters: the last bytes may arrive between the two calls.
        isComplete = source.isComplete
        count = source.available
        unsafe start = source.baseAddress
    }
}
