import Glibc

/// The version of the host's structs that the kit presents to a plugin.
enum StructVersion: String, CaseIterable {
    /// The version that the kit was built with.
    case current
    /// A version whose result structs end four bytes earlier; the bytes after them belong to the host.
    case short
    /// A future version, whose structs have unknown members.
    case future
}

/// A struct of the contract in separate memory, as long as its `size`, followed by a guard pattern.
@safe final class GuardedStruct<T> {
    private static var room: Int { MemoryLayout<T>.size + 256 }
    private static var foreign: UInt8 { 0xA5 }
    private let memory: UnsafeMutableRawPointer
    /// The number of bytes that belong to the struct.
    private let count: Int

    /// - Parameter isAnswer: whether the plugin fills it.
    init(_ value: T, _ shape: StructVersion = .current, isAnswer: Bool = false) {
        let full = MemoryLayout<T>.size
        count =
            switch shape {
            case .current: full
            case .short: isAnswer ? full - 4 : full
            case .future: full + 64
            }
        unsafe memory = .allocate(byteCount: Self.room, alignment: 16)
        unsafe memset(memory, Int32(Self.foreign), Self.room)
        if shape == .future { unsafe memset(memory + full, 0x5A, 64) }
        unsafe withUnsafeBytes(of: value) { bytes in
            unsafe memory.copyMemory(from: bytes.baseAddress!, byteCount: min(count, full))
        }
        unsafe memory.storeBytes(of: UInt32(count), as: UInt32.self)
    }

    deinit { unsafe memory.deallocate() }

    var pointer: UnsafeMutablePointer<T> { unsafe memory.assumingMemoryBound(to: T.self) }

    /// Zeroes the bytes after the known struct, as a future host does in structs that the plugin fills.
    func clearFuture() {
        if count > MemoryLayout<T>.size { unsafe memset(memory + MemoryLayout<T>.size, 0, 64) }
    }

    /// The current content of the struct; members beyond its size read as zero.
    var value: T {
        let copy = UnsafeMutableRawPointer.allocate(byteCount: MemoryLayout<T>.size, alignment: 16)
        defer { unsafe copy.deallocate() }
        unsafe memset(copy, 0, MemoryLayout<T>.size)
        unsafe copy.copyMemory(from: memory, byteCount: min(count, MemoryLayout<T>.size))
        return unsafe copy.load(as: T.self)
    }

    /// Whether the guard bytes after the struct are unchanged.
    var hasIntactGuard: Bool {
        for at in count..<Self.room where unsafe memory.load(fromByteOffset: at, as: UInt8.self) != Self.foreign {
            return false
        }
        return true
    }

    /// Whether the struct's `size` did not grow; a writer may store the smaller size that it knows.
    var hasValidSize: Bool { unsafe memory.load(as: UInt32.self) <= UInt32(count) }
}

/// Reads a struct that the plugin wrote; members beyond its size read as zero.
func readStruct<T>(_ pointer: UnsafePointer<T>) -> (value: T, size: Int) {
    let raw = unsafe UnsafeRawPointer(pointer)
    let size = unsafe Int(raw.load(as: UInt32.self))
    let copy = UnsafeMutableRawPointer.allocate(byteCount: MemoryLayout<T>.size, alignment: 16)
    defer { unsafe copy.deallocate() }
    unsafe memset(copy, 0, MemoryLayout<T>.size)
    unsafe copy.copyMemory(from: raw, byteCount: max(4, min(size, MemoryLayout<T>.size)))
    return unsafe (copy.load(as: T.self), size)
}

/// Returns the text of a fixed field, and whether it ends within the field.
func fixedText<T>(_ field: T) -> (text: String, ends: Bool) {
    unsafe withUnsafeBytes(of: field) { bytes in
        let end = unsafe bytes.firstIndex(of: 0)
        return unsafe (String(decoding: bytes[..<(end ?? bytes.count)], as: UTF8.self), end != nil)
    }
}
