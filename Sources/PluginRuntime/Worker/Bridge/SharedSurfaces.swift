import CHostSystem
import Glibc
import HostSystem
import ImageModel
import ImageProcessing
import struct Synchronization.Atomic

/// Pixel buffers in memory shared with workers; one pool per plugin, so no plugin sees another one's images.
///
/// A worker can change the pixels as long as it lives, but never the size or the seals.
// Sendable because: a lock protects the table of blocks, and a block has one owner.
@safe final class SharedSurfaces: @unchecked Sendable {
    /// The shared memory of a buffer.
    struct Block {
        /// A unique number that is never reused.
        var id: UInt64
        var descriptor: Int32
        var bytes: Int
    }

    private final class Table: Sendable {
        let blocks = Mutex<[UInt: Block]>([:])
        let nextID = Atomic<UInt64>(1)
    }

    private let table = Table()
    let pool: PixelBufferPool

    /// - Parameter clearsUsed: whether to zero used memory, so the next worker sees no image.
    init(clearsUsed: Bool) {
        let table = self.table
        pool = PixelBufferPool(
            maxKept: 128 << 20, clearsUsed: clearsUsed,
            memory: unsafe PixelMemory(
                grain: 64 << 10,
                allocate: { count in unsafe Self.allocate(count, table) },
                release: { memory, count in unsafe Self.release(memory, count, table) }))
    }

    private static func allocate(_ count: Int, _ table: Table) -> UnsafeMutableRawPointer? {
        let descriptor = unsafe host_shared_memory("coderhost-pixels", UInt64(count), 0)
        guard descriptor >= 0 else { return nil }
        guard let memory = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            unsafe memory != MAP_FAILED
        else {
            close(descriptor)
            return nil
        }
        let id = table.nextID.add(1, ordering: .relaxed).oldValue
        table.blocks.withLock { blocks in
            blocks[UInt(bitPattern: memory)] = Block(id: id, descriptor: descriptor, bytes: count)
        }
        return unsafe memory
    }

    private static func release(_ memory: UnsafeMutableRawPointer, _ count: Int, _ table: Table) {
        let block = table.blocks.withLock { $0.removeValue(forKey: UInt(bitPattern: memory)) }
        unsafe munmap(memory, count)
        if let block { close(block.descriptor) }
    }

    /// The bytes of all buffers, in use or free.
    var byteCount: Int { table.blocks.withLock { $0.values.reduce(0) { $0 + $1.bytes } } }

    /// Returns the memory of a buffer of this pool; nil for any other buffer.
    func block(of buffer: PixelBuffer) -> Block? {
        let address = unsafe buffer.withUnsafeMutableBytes { UInt(bitPattern: $0.baseAddress!) }
        return table.blocks.withLock { $0[address] }
    }
}
