internal import CCoderPlugin
internal import ImageModel

/// The sizes in version 1.0 of the structs that the kit reads; shorter structs are invalid.
///
/// - Source: `CCoderPlugin/layout.c`.
enum FirstSize {
    static let host = 40
    static let services = 80
    static let limits = 96
    static let options = 24
    static let option = 56
    static let source = 64
    static let sink = 32
    static let surface = 48
    static let decodeRequest = 40
    static let rewriteRequest = 56
    static let imageInfo = 176
    static let frameInfo = 48
    static let item = 40
    static let blob = 32
}

/// Returns whether a pointer that the contract declares non-null is NULL.
///
/// A comparison as an optional would be optimized away, because the compiler assumes a non-null pointer.
@unsafe
func isNull(_ pointer: UnsafeRawPointer) -> Bool { UInt(bitPattern: pointer) == 0 }

/// Reads the `size` field at the start of every struct of the contract.
@unsafe
func sizeField(_ pointer: UnsafeRawPointer) -> Int { unsafe Int(pointer.load(as: UInt32.self)) }

/// Copies the part of a struct that its writer knows; missing fields read as zero.
///
/// - Throws: `.misuse` for NULL, or if the struct is shorter than `least` bytes.
@unsafe
func copyIn<Struct>(_ pointer: UnsafePointer<Struct>, least: Int) throws(CoderError) -> Struct {
    if unsafe isNull(pointer) { throw .nullArgument }
    let size = unsafe sizeField(pointer)
    if size < least { throw CoderError(.misuse, "the host passed a struct shorter than in version 1.0") }
    return unsafe withUnsafeTemporaryAllocation(of: Struct.self, capacity: 1) { buffer in
        let bytes = UnsafeMutableRawBufferPointer(buffer)
        unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe bytes.copyMemory(
            from: UnsafeRawBufferPointer(start: pointer, count: min(size, MemoryLayout<Struct>.size)))
        return unsafe buffer[0]
    }
}

/// Fills a struct of the host up to its `size`, and sets `size` to the number of bytes filled.
///
/// - Throws: `.misuse` for NULL.
@unsafe
func copyOut<Struct>(_ value: Struct, to pointer: UnsafeMutablePointer<Struct>) throws(CoderError) {
    if unsafe isNull(pointer) { throw .nullArgument }
    let size = unsafe min(sizeField(pointer), MemoryLayout<Struct>.size)
    if size < MemoryLayout<UInt32>.size { return }
    unsafe withUnsafeBytes(of: value) { bytes in
        unsafe UnsafeMutableRawPointer(pointer).copyMemory(from: bytes.baseAddress!, byteCount: size)
    }
    unsafe UnsafeMutableRawPointer(pointer).storeBytes(of: UInt32(size), as: UInt32.self)
}

extension CoderError {
    static let nullArgument = CoderError(.misuse, "the host passed NULL where it is not allowed")
}

/// A flags word.
extension UInt32 {
    func has(_ flag: UInt32) -> Bool { self & flag != 0 }

    mutating func set(_ flag: UInt32, if condition: Bool) {
        if condition { self |= flag }
    }
}

/// A constant of the contract at a fixed address, for the life of the process.
// Sendable because: init writes the memory before it is shared, and it never changes afterwards.
@safe struct Constant<Value>: @unchecked Sendable {
    let pointer: UnsafePointer<Value>

    init(_ value: Value) {
        let memory = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe memory.initialize(to: value)
        unsafe pointer = UnsafePointer(memory)
    }
}

extension Constant<CChar> {
    /// Makes a NUL-terminated copy of a text.
    init(_ text: String) {
        let bytes = text.utf8CString
        let memory = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { unsafe memory[index] = byte }
        unsafe pointer = UnsafePointer(memory)
    }
}
