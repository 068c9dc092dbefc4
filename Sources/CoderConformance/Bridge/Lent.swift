import Glibc

/// Which minor of the interface the kit plays.
enum Shape: String, CaseIterable {
    /// The one it was built with.
    case current
    /// One whose structs for answers end four bytes earlier: what lies behind belongs to somebody else.
    case short
    /// One that is not there yet: structs have members that nobody knows.
    case future
}

/// A struct of the contract in memory of its own, as long as its `size` says, with a pattern behind it.
@safe final class Lent<T> {
    private static var room: Int { MemoryLayout<T>.size + 256 }
    private static var foreign: UInt8 { 0xA5 }
    private let memory: UnsafeMutableRawPointer
    /// Bytes that belong to the struct.
    private let count: Int

    /// - Parameter isAnswer: whether the plugin fills it.
    init(_ value: T, _ shape: Shape = .current, isAnswer: Bool = false) {
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

    /// Puts zeros behind the struct, as a host of the future does with what the plugin is to fill.
    func clearFuture() {
        if count > MemoryLayout<T>.size { unsafe memset(memory + MemoryLayout<T>.size, 0, 64) }
    }

    /// The struct as it is now; members it does not have read as zero.
    var value: T {
        let copy = UnsafeMutableRawPointer.allocate(byteCount: MemoryLayout<T>.size, alignment: 16)
        defer { unsafe copy.deallocate() }
        unsafe memset(copy, 0, MemoryLayout<T>.size)
        unsafe copy.copyMemory(from: memory, byteCount: min(count, MemoryLayout<T>.size))
        return unsafe copy.load(as: T.self)
    }

    /// Whether the bytes behind the struct are as they were.
    var isKeptTo: Bool {
        for at in count..<Self.room where unsafe memory.load(fromByteOffset: at, as: UInt8.self) != Self.foreign {
            return false
        }
        return true
    }

    /// Whether the struct says no larger size than it had; a writer may say the smaller one that it knows.
    var hasItsSize: Bool { unsafe memory.load(as: UInt32.self) <= UInt32(count) }
}

/// Reads a struct that the plugin wrote; what lies behind its size reads as zero.
func readStruct<T>(_ pointer: UnsafePointer<T>) -> (value: T, size: Int) {
    let raw = unsafe UnsafeRawPointer(pointer)
    let size = unsafe Int(raw.load(as: UInt32.self))
    let copy = UnsafeMutableRawPointer.allocate(byteCount: MemoryLayout<T>.size, alignment: 16)
    defer { unsafe copy.deallocate() }
    unsafe memset(copy, 0, MemoryLayout<T>.size)
    unsafe copy.copyMemory(from: raw, byteCount: max(4, min(size, MemoryLayout<T>.size)))
    return unsafe (copy.load(as: T.self), size)
}

/// The text of a fixed field, and whether it ends within the field.
func fixedText<T>(_ field: T) -> (text: String, ends: Bool) {
    unsafe withUnsafeBytes(of: field) { bytes in
        let end = unsafe bytes.firstIndex(of: 0)
        return unsafe (String(decoding: bytes[..<(end ?? bytes.count)], as: UTF8.self), end != nil)
    }
}
