/// The bytes of a source that are there at one time, for tasks that read them on several threads.
///
/// A task asks no source: ``ByteSource`` is for the session's thread alone.
///
/// - Ownership: borrowed; valid until the session ends.
@safe public struct ArrivedBytes {
    /// Whether no further bytes will come.
    public let isComplete: Bool
    public let count: Int
    /// The first byte; nil where there is none. For use in a `Bridge/` folder.
    @unsafe public let start: UnsafePointer<UInt8>?

    public init(_ source: ByteSource) {
        // Asked in this order: the last bytes may arrive between the questions.
        isComplete = source.isComplete
        count = source.available
        unsafe start = source.baseAddress
    }
}
