import Glibc
import ImageModel

/// Zeroed memory with a single owner, for rows that vector instructions process.
@safe final class AlignedMemory {
    let start: UnsafeMutableRawPointer
    let count: Int

    /// - Throws: `.outOfMemory`, also for a count that does not fit in an `Int`.
    init(_ sizes: Int...) throws(CoderError) {
        var count = 1
        for size in sizes {
            let (product, overflow) = count.multipliedReportingOverflow(by: size)
            guard !overflow, product >= 0, product < Int.max - 64 else {
                throw CoderError(.outOfMemory, "rows of this size do not fit into memory")
            }
            count = product
        }
        let rounded = max(64, (count + 63) & ~63)
        guard let memory = unsafe aligned_alloc(64, rounded) else {
            throw CoderError(.outOfMemory, "no memory for \(count) bytes of rows", hint: "free memory")
        }
        unsafe memset(memory, 0, rounded)
        unsafe start = memory
        self.count = rounded
    }

    deinit { unsafe free(start) }
}
