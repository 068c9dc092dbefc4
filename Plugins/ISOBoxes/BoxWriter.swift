/// Writes boxes from the inside out.
package struct BoxWriter {
    package var bytes: [UInt8] = []

    package init() {}

    package mutating func u16(_ value: UInt16) { bytes += [UInt8(value >> 8), UInt8(value & 0xFF)] }
    package mutating func u32(_ value: UInt32) {
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(value >> shift & 0xFF)) }
    }
    package mutating func u64(_ value: Int) {
        for half in [value >> 32, value] { u32(UInt32(truncatingIfNeeded: half)) }
    }
    package mutating func code(_ code: FourCC) { u32(code.value) }
    package mutating func text(_ text: String) { bytes += Array(text.utf8) + [0] }

    package mutating func box(_ type: FourCC, _ body: (inout BoxWriter) -> Void) {
        var inner = BoxWriter()
        body(&inner)
        u32(UInt32(inner.bytes.count + 8))
        code(type)
        bytes += inner.bytes
    }

    package mutating func fullBox(
        _ type: FourCC, version: UInt8 = 0, flags: UInt32 = 0, _ body: (inout BoxWriter) -> Void
    ) {
        box(type) {
            $0.u32(UInt32(version) << 24 | flags)
            body(&$0)
        }
    }
}
