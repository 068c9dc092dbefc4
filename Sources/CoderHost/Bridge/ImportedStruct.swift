/// Reads a struct that a plugin wrote and that may be shorter or longer than this version's.
///
/// What lies behind the writer's size reads as zero, so an optional member is absent. Nothing behind it is touched.
///
/// - Returns: nil when the struct ends before `minimum` bytes, or a required pointer in it is NULL.
func importStruct<T>(
    _ pointer: UnsafePointer<T>, minimum: PartialKeyPath<T>, required: [PartialKeyPath<T>]
) -> T? {
    let raw = unsafe UnsafeRawPointer(pointer)
    let size = unsafe Int(raw.load(as: UInt32.self))
    guard let needed = MemoryLayout<T>.offset(of: minimum), size >= needed else { return nil }
    let copy = UnsafeMutableRawPointer.allocate(
        byteCount: MemoryLayout<T>.size, alignment: MemoryLayout<T>.alignment)
    defer { unsafe copy.deallocate() }
    unsafe copy.initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<T>.size)
    unsafe copy.copyMemory(from: raw, byteCount: min(size, MemoryLayout<T>.size))
    for member in required {
        guard let offset = MemoryLayout<T>.offset(of: member),
            unsafe copy.load(fromByteOffset: offset, as: UInt.self) != 0
        else { return nil }
    }
    return unsafe copy.load(as: T.self)
}
