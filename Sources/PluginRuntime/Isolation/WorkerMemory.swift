package import ImageModel

/// The limits of a worker's own memory; 0 means no limit.
package struct WorkerMemory: Hashable, Sendable {
    /// The writable memory of the process: heap, stacks, data of libraries.
    var dataBytes = 0
    /// The address space, which also limits page tables; they do not count as data.
    var addressBytes = 0
    /// The process's share of its group's limit: its own memory, and the surfaces that it writes to.
    var groupBytes = 0

    /// Derives the limits from those of a session.
    ///
    /// `maxDecodedBytes` includes the library's memory; loader and allocator need more on top.
    package init(_ limits: DecodeLimits, threads: Int) {
        guard limits.maxDecodedBytes > 0 else { return }
        let decoded = min(limits.maxDecodedBytes, 1 << 50)
        let threads = min(threads, 1 << 10)
        dataBytes = 2 * decoded + Self.loadedBytes + threads * Self.stackBytes
        // Four surfaces stay mapped, and the input is mapped completely.
        addressBytes =
            dataBytes + 4 * decoded + min(limits.maxInputBytes == 0 ? 1 << 50 : limits.maxInputBytes, 1 << 50)
            + Self.mappedBytes + threads * Self.arenaBytes
        groupBytes = dataBytes + 4 * decoded
    }

    /// Data of the plugin's libraries and of their allocator.
    private static let loadedBytes = 128 << 20
    /// Mapped libraries.
    private static let mappedBytes = 1 << 30
    private static let stackBytes = 16 << 20
    /// The C library reserves address space for the heap of each thread.
    private static let arenaBytes = 256 << 20
}
