internal import CCoderPlugin
internal import ImageModel

/// The bytes that 1.0 froze for structs that the kit reads; a shorter struct was never legal.
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
    static let blob = 32
}

/// Whether a pointer that the contract calls non-null is NULL all the same.
///
/// Comparing it as an optional would be folded away: to the compiler the answer is known.
@unsafe
func isNull(_ pointer: UnsafeRawPointer) -> Bool { UInt(bitPattern: pointer) == 0 }

/// The `size` field that every struct of the contract begins with.
@unsafe
func sizeField(_ pointer: UnsafeRawPointer) -> Int { unsafe Int(pointer.load(as: UInt32.self)) }

/// Copies what the writer of a struct knows of it; what is missing reads as zero.
///
/// - Throws: `.misuse` for NULL, and for a struct below `least` bytes.
@unsafe
func copyIn<Struct>(_ pointer: UnsafePointer<Struct>, least: Int) throws(CoderError) -> Struct {
    if unsafe isNull(pointer) { throw .nullArgument }
    let size = unsafe sizeField(pointer)
    if size < least { throw CoderError(.misuse, "the host passed a struct shorter than it has ever been") }
    return unsafe withUnsafeTemporaryAllocation(of: Struct.self, capacity: 1) { buffer in
        let bytes = UnsafeMutableRawBufferPointer(buffer)
        unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe bytes.copyMemory(
            from: UnsafeRawBufferPointer(start: pointer, count: min(size, MemoryLayout<Struct>.size)))
        return unsafe buffer[0]
    }
}

/// Fills a struct of the host as far as its `size` says it reaches, and sets `size` to what was filled.
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
    static let nullArgument = CoderError(.misuse, "the host passed NULL where none is allowed")
}

/// A flags word.
extension UInt32 {
    func has(_ flag: UInt32) -> Bool { self & flag != 0 }

    mutating func set(_ flag: UInt32, if condition: Bool) {
        if condition { self |= flag }
    }
}

/// A constant of the contract at an address of its own, for the life of the process.
// Sendable because: the memory is written before anybody sees it and never again.
@safe struct Constant<Value>: @unchecked Sendable {
    let pointer: UnsafePointer<Value>

    init(_ value: Value) {
        let memory = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe memory.initialize(to: value)
        unsafe pointer = UnsafePointer(memory)
    }
}

extension Constant<CChar> {
    /// A NUL-terminated copy of a text.
    init(_ text: String) {
        let bytes = text.utf8CString
        let memory = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { unsafe memory[index] = byte }
        unsafe pointer = UnsafePointer(memory)
    }
}
