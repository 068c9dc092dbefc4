import CoderPluginKit
import ImageModel

/// The facts of the layer section that concern the composite.
struct PSDLayers {
    /// The number of layers.
    private(set) var count = 0
    /// Whether the first channel behind the colors is the transparency of the composite.
    private(set) var hasTransparency = false
    /// The position behind the section.
    let end: Int

    /// The number of blocks that are searched; Photoshop writes the two kinds that matter first.
    private static let maxBlocks = 256
    /// The blocks of a PSB whose length has 64 bits.
    private static let longKeys: Set<String> = [
        "LMsk", "Lr16", "Lr32", "Layr", "Mt16", "Mt32", "Mtrn", "Alph", "FMsk", "lnk2", "FEid", "FXid", "PxSD",
    ]

    /// Reads the section at the position of `reader`; its bytes need not have arrived beyond the facts.
    init(_ reader: inout ByteReader, _ header: PSDHeader) throws(CoderError) {
        let total = try header.length(&reader)
        end = reader.offset + total
        defer { reader.offset = end }
        guard total >= (header.isLarge ? 8 : 4) else { return }
        let layers = try header.length(&reader)
        guard end - reader.offset >= layers else { throw .corrupt("the layers are larger than their section") }
        let start = reader.offset
        if layers >= 2 { note(try reader.u16BE()) }
        reader.offset = start + layers
        guard end - reader.offset >= 4 else { return }
        let mask = Int(try reader.u32BE())
        guard end - reader.offset >= mask else { return }
        reader.offset += mask
        try readBlocks(&reader, header)
    }

    /// A negative number marks transparency.
    private mutating func note(_ stored: UInt16) {
        let number = Int(Int16(bitPattern: stored))
        count = abs(number)
        if number < 0 { hasTransparency = true }
    }

    /// Reads the blocks behind the layers of 8 bits: layers of 16 or 32 bits are in one of them.
    private mutating func readBlocks(_ reader: inout ByteReader, _ header: PSDHeader) throws(CoderError) {
        for _ in 0..<Self.maxBlocks {
            guard end - reader.offset >= 12 else { return }
            let signature = String(decoding: try reader.bytes(4), as: UTF8.self)
            guard signature == "8BIM" || signature == "8B64" else { return }
            let key = String(decoding: try reader.bytes(4), as: UTF8.self)
            let isLong = header.isLarge && (signature == "8B64" || Self.longKeys.contains(key))
            guard end - reader.offset >= (isLong ? 8 : 4) else { return }
            let length = isLong ? try header.length(&reader) : Int(try reader.u32BE())
            guard end - reader.offset >= length else { return }
            let start = reader.offset
            switch key {
            case "Lr16", "Lr32", "Layr": if length >= 2 { note(try reader.u16BE()) }
            case "Mtrn", "Mt16", "Mt32": hasTransparency = true
            default: break
            }
            reader.offset = start + (length + 3) / 4 * 4
        }
    }
}
