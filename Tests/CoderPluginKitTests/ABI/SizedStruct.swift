import CCoderPlugin

/// A struct in separate memory, as long as its `size`, followed by bytes of 0xAA.
///
/// The memory is never freed, because tests pass on the pointer and drop the object.
@safe final class SizedStruct<Struct> {
    let size: Int
    private let memory: UnsafeMutableRawPointer
    private static var room: Int { 1024 }
    private static var filler: UInt8 { 0xAA }

    /// Copies `value`, truncated like a struct of an older host or extended like one of a future host.
    init(_ value: Struct, size: Int = MemoryLayout<Struct>.size) {
        self.size = size
        unsafe memory = .allocate(byteCount: Self.room, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: Self.filler, count: Self.room)
        unsafe withUnsafeBytes(of: value) { bytes in
            unsafe memory.copyMemory(from: bytes.baseAddress!, byteCount: min(size, bytes.count))
        }
        unsafe memory.storeBytes(of: UInt32(size), as: UInt32.self)
    }

    var pointer: UnsafeMutablePointer<Struct> { unsafe memory.assumingMemoryBound(to: Struct.self) }

    /// The current value of the `size` field.
    var sizeField: Int { unsafe Int(memory.load(as: UInt32.self)) }

    subscript<Value>(field: KeyPath<Struct, Value>) -> Value { unsafe pointer.pointee[keyPath: field] }

    /// Whether the bytes after `size` are unchanged.
    var hasIntactGuard: Bool {
        unsafe UnsafeRawBufferPointer(start: memory, count: Self.room)[size...].allSatisfy { $0 == Self.filler }
    }
}

extension SizedStruct where Struct == cpi_error {
    convenience init() { self.init(cpi_error()) }

    var message: String { text(\.message) }
    var domain: String { text(\.domain) }
    var feature: String { text(\.feature) }

    private func text<Field>(_ field: KeyPath<cpi_error, Field>) -> String {
        unsafe withUnsafeBytes(of: self[field]) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

/// Returns a NULL pointer of a type that Swift treats as non-null.
@unsafe
func null<Pointer>(_ type: Pointer.Type = Pointer.self) -> Pointer { unsafe unsafeBitCast(0, to: type) }
