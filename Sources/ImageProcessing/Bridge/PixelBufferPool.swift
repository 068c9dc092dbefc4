import Glibc
import HostSystem
package import ImageModel

/// Reuses the memory of large images, because fresh pages are the most expensive part of a decode.
///
/// Buffers come with old contents: the caller fills a buffer completely or requests a clean one.
package final class PixelBufferPool: Sendable {
    // Sendable because: the pool owns the address until it hands the block out.
    @safe private struct Block: @unchecked Sendable {
        let memory: UnsafeMutableRawPointer
        let count: Int
    }

    private struct State {
        var blocks: [Block] = []
        var total = 0
    }

    private let state = Mutex(State())
    /// The largest number of bytes kept for reuse.
    private let maxKept: Int
    private let clearsUsed: Bool
    private let memory: PixelMemory

    /// - Parameter clearsUsed: whether used memory is zeroed before it is handed out again.
    package init(maxKept: Int = 256 << 20, clearsUsed: Bool = false, memory: PixelMemory = .ofThisProcess) {
        self.maxKept = maxKept
        self.clearsUsed = clearsUsed
        self.memory = memory
    }

    package static let shared = PixelBufferPool()

    /// Returns a buffer whose rows have no padding.
    ///
    /// - Throws: `.invalidArgument`, `.outOfMemory`.
    package func take(_ size: PixelSize, _ format: PixelFormat, clean: Bool) throws(CoderError) -> PixelBuffer {
        let (stride, byteCount) = try PixelBuffer.layout(size: size, format: format)
        let count = memory.rounded(byteCount)
        if let block = reuse(count) {
            if clean || clearsUsed { unsafe memset(block.memory, 0, count) }
            return unsafe buffer(size, format, stride, block.memory, block.count)
        }
        guard let memory = unsafe self.memory.allocate(count) else {
            throw CoderError(
                .outOfMemory, "no memory for \(size) pixels, \(count) bytes", hint: "free memory, or lower --limits")
        }
        return unsafe buffer(size, format, stride, memory, count)
    }

    private func buffer(
        _ size: PixelSize, _ format: PixelFormat, _ stride: Int, _ memory: UnsafeMutableRawPointer, _ count: Int
    ) -> PixelBuffer {
        unsafe PixelBuffer(size: size, format: format, stride: stride, memory: memory, byteCount: count) {
            [weak self, kind = self.memory] memory, count in
            if let self { unsafe self.give(memory, count) } else { unsafe kind.release(memory, count) }
        }
    }

    /// Returns a kept block that is large enough and at most a quarter too large.
    private func reuse(_ count: Int) -> Block? {
        guard count >= memory.keptFrom else { return nil }
        return state.withLock { state -> Block? in
            guard let index = state.blocks.lastIndex(where: { $0.count >= count && $0.count <= count + count / 4 })
            else { return nil }
            let block = state.blocks.remove(at: index)
            state.total -= block.count
            return block
        }
    }

    private func give(_ memory: UnsafeMutableRawPointer, _ count: Int) {
        var dropped: [Block] = []
        guard count >= self.memory.keptFrom, count <= maxKept else {
            unsafe self.memory.release(memory, count)
            return
        }
        let block = unsafe Block(memory: memory, count: count)
        dropped = state.withLock { state in
            state.blocks.append(block)
            state.total += count
            var old: [Block] = []
            while state.total > maxKept, let first = state.blocks.first {
                state.blocks.removeFirst()
                state.total -= first.count
                old.append(first)
            }
            return old
        }
        for block in dropped { unsafe self.memory.release(block.memory, block.count) }
    }

    deinit {
        state.withLock { state in
            for block in state.blocks { unsafe memory.release(block.memory, block.count) }
        }
    }
}

/// The source of image memory.
@safe package struct PixelMemory: Sendable {
    /// The granularity of byte counts; 1 keeps them exact.
    package let grain: Int
    /// The smallest block that is kept; smaller ones are freed at once.
    let keptFrom: Int
    let allocate: @Sendable (Int) -> UnsafeMutableRawPointer?
    let release: @Sendable (UnsafeMutableRawPointer, Int) -> Void

    /// Memory private to this process.
    package static let ofThisProcess = unsafe PixelMemory(
        grain: 1, keptFrom: LargeMemory.mappedFrom, allocate: { unsafe LargeMemory.allocate($0) },
        release: { unsafe LargeMemory.release($0, $1) })

    @unsafe
    package init(
        grain: Int, keptFrom: Int = 0, allocate: @escaping @Sendable (Int) -> UnsafeMutableRawPointer?,
        release: @escaping @Sendable (UnsafeMutableRawPointer, Int) -> Void
    ) {
        self.grain = grain
        self.keptFrom = keptFrom
        unsafe self.allocate = allocate
        unsafe self.release = release
    }

    /// Rounds a byte count up to whole grains; on overflow it returns the count unchanged, and the allocation fails.
    func rounded(_ count: Int) -> Int {
        let (sum, overflow) = count.addingReportingOverflow(grain - 1)
        return overflow ? count : sum / grain * grain
    }
}
