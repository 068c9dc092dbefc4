import Glibc

/// Zeroed memory for pixels and input.
///
/// Page faults are the largest cost that a host adds to a decode. Large blocks are therefore aligned to huge pages and
/// request them; small blocks come from the allocator.
package enum LargeMemory {
    /// The huge page size on x86-64, and on aarch64 with 4 KiB pages.
    private static let hugePage = 2 << 20

    /// The smallest block that is mapped; a huge page would waste more than it saves below this size.
    package static let mappedFrom = 1 << 20

    package static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
        guard count >= mappedFrom else { return unsafe calloc(1, count) }
        guard count <= Int.max - 2 * hugePage else { return nil }
        let length = roundedToPage(count)
        guard length >= hugePage else {
            let memory = unsafe mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            return unsafe memory == MAP_FAILED ? nil : memory
        }
        // Map more than needed, then unmap the memory before and after the aligned part.
        guard
            let start = unsafe mmap(
                nil, length + hugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            unsafe start != MAP_FAILED
        else { return nil }
        let before = (hugePage - Int(bitPattern: start) & (hugePage - 1)) & (hugePage - 1)
        if before > 0 { unsafe munmap(start, before) }
        let aligned = unsafe start + before
        unsafe munmap(aligned + length, hugePage - before)
        unsafe madvise(aligned, length, MADV_HUGEPAGE)
        return unsafe aligned
    }

    package static func release(_ memory: UnsafeMutableRawPointer, _ count: Int) {
        if count >= mappedFrom {
            unsafe munmap(memory, roundedToPage(count))
        } else {
            unsafe free(memory)
        }
    }

    private static func roundedToPage(_ count: Int) -> Int { (count + 4095) & ~4095 }
}
