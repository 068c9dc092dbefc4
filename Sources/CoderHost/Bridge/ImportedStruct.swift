import CCoderPlugin

/// Reads an extension's table; nil where its tag is another one.
///
/// A table may be shorter than this version's: what lies behind its size reads as zero, so those functions are absent (see
/// ``given(_:)``).
func importTable<T>(_ pointer: UnsafePointer<T>, tag: UInt64) -> T? {
    let head = unsafe UnsafeRawPointer(pointer).load(as: cpi_table.self)
    guard head.tag == tag, Int(head.size) >= MemoryLayout<cpi_table>.size else { return nil }
    return unsafe withCopy(of: pointer, size: Int(head.size)) { unsafe $0.load(as: T.self) }
}

/// A function that the contract calls non-null, and that is NULL all the same in a shorter table.
func given<Function>(_ function: Function) -> Function? {
    unsafe unsafeBitCast(function, to: UInt.self) == 0 ? nil : function
}

/// Reads a struct that a plugin wrote and that may be shorter or longer than this version's.
///
/// What lies behind the writer's size reads as zero, so an optional member is absent. Nothing behind it is touched.
///
/// - Returns: nil when the struct ends before `minimum` bytes, or a required pointer in it is NULL.
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

/// Lends the first `size` bytes of a struct, followed by zeros up to what this version knows of it.
@unsafe
private func withCopy<T, R>(of pointer: UnsafePointer<T>, size: Int, _ body: (UnsafeMutableRawPointer) -> R) -> R {
    let copy = UnsafeMutableRawPointer.allocate(
        byteCount: MemoryLayout<T>.size, alignment: MemoryLayout<T>.alignment)
    defer { unsafe copy.deallocate() }
    unsafe copy.initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<T>.size)
    unsafe copy.copyMemory(from: pointer, byteCount: min(size, MemoryLayout<T>.size))
    return unsafe body(copy)
}
