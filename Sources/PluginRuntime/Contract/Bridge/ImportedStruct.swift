import CCoderPlugin

/// Reads the table of an extension; nil if its tag differs.
///
/// A table may be shorter than in this version. Missing members read as zero, so these functions are absent (see
/// ``given(_:)``).
func importTable<T>(_ pointer: UnsafePointer<T>, tag: UInt64) -> T? {
    let head = unsafe UnsafeRawPointer(pointer).load(as: cpi_table.self)
    guard head.tag == tag, Int(head.size) >= MemoryLayout<cpi_table>.size else { return nil }
    return unsafe withCopy(of: pointer, size: Int(head.size)) { unsafe $0.load(as: T.self) }
}

/// Returns a function that the contract declares non-null, but that is NULL in a shorter table.
func given<Function>(_ function: Function) -> Function? {
    unsafe unsafeBitCast(function, to: UInt.self) == 0 ? nil : function
}

/// Reads a struct written by a plugin, which may be shorter or longer than in this version.
///
/// Members beyond the writer's size read as zero, so optional members are absent. Memory beyond this size is never
/// read.
///
/// - Returns: nil if the struct has fewer than `minimum` bytes, or if a required pointer in it is NULL.
func importStruct<T>(
    _ pointer: UnsafePointer<T>, minimum: PartialKeyPath<T>, required: [PartialKeyPath<T>]
) -> T? {
    let size = unsafe Int(UnsafeRawPointer(pointer).load(as: UInt32.self))
    guard let needed = MemoryLayout<T>.offset(of: minimum), size >= needed else { return nil }
    return unsafe withCopy(of: pointer, size: size) { copy in
        for member in required {
            guard let offset = MemoryLayout<T>.offset(of: member),
                unsafe copy.load(fromByteOffset: offset, as: UInt.self) != 0
            else { return nil }
        }
        return unsafe copy.load(as: T.self)
    }
}

/// Calls `body` with the first `size` bytes of a struct, padded with zeros to the size in this version.
@unsafe
private func withCopy<T, R>(of pointer: UnsafePointer<T>, size: Int, _ body: (UnsafeMutableRawPointer) -> R) -> R {
    let copy = UnsafeMutableRawPointer.allocate(
        byteCount: MemoryLayout<T>.size, alignment: MemoryLayout<T>.alignment)
    defer { unsafe copy.deallocate() }
    unsafe copy.initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<T>.size)
    unsafe copy.copyMemory(from: pointer, byteCount: min(size, MemoryLayout<T>.size))
    return unsafe body(copy)
}
