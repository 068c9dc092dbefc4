import ImageModel

/// The limits of a worker's own memory; 0 means no limit.
struct WorkerMemory: Hashable, Sendable {
    /// What the process may write to: heap, stacks, data of libraries.
    var dataBytes = 0
    /// The whole address space. Page tables are not counted as data; this limit bounds them.
    var addressBytes = 0
    /// What it may add to the memory of all processes of its plugin: its own, and the surfaces that it writes to.
    var groupBytes = 0

    /// The limits that fit those of a session.
    ///
    /// The library's own memory is part of `maxDecodedBytes`; what the loader and the allocator need comes on top.
    init(_ limits: DecodeLimits, threads: Int) {
        guard limits.maxDecodedBytes > 0 else { return }
        let decoded = min(limits.maxDecodedBytes, 1 << 50)
        let threads = min(threads, 1 << 10)
        dataBytes = 2 * decoded + Self.loadedBytes + threads * Self.stackBytes
        // Four surfaces stay mapped; the input is mapped whole.
        addressBytes =
            dataBytes + 4 * decoded + min(limits.maxInputBytes == 0 ? 1 << 50 : limits.maxInputBytes, 1 << 50)
            + Self.mappedBytes + threads * Self.arenaBytes
        groupBytes = dataBytes + 4 * decoded
    }

    /// Data of the plugin's libraries and of their allocator.
    private static let loadedBytes = 128 << 20
    /// Libraries as they are mapped.
    private static let mappedBytes = 1 << 30
    private static let stackBytes = 16 << 20
    /// The C library reserves address space for the heap of each thread.
    private static let arenaBytes = 256 << 20
}
