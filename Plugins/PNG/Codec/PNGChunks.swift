package import CoderPluginKit
package import ImageModel

/// One chunk as stored in the file.
///
///     length (4) | type (4) | data (length) | CRC of type and data (4)
///
/// - Source: PNG 3rd edition, section 5.3.
package struct PNGChunk: Hashable {
    /// Four letters, as a big-endian number.
    package struct Kind: Hashable, RawRepresentable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Returns the kind with a name of four letters; nil for another name.
        init?(_ name: String) {
            guard name.utf8.count == 4 else { return nil }
            rawValue = name.utf8.reduce(0) { $0 << 8 | UInt32($1) }
            if !isValid { return nil }
        }

        /// The name as stored in the file.
        var bytes: [UInt8] { bigEndian(rawValue) }
        var name: String { String(decoding: bytes, as: UTF8.self) }

        package static let acTL = Kind(rawValue: 0x6163_544C)
        static let bKGD = Kind(rawValue: 0x624B_4744)
        static let cLLI = Kind(rawValue: 0x634C_4C49)
        static let cICP = Kind(rawValue: 0x6349_4350)
        static let cHRM = Kind(rawValue: 0x6348_524D)
        /// The first chunk of the variant that Apple's tools write into applications.
        static let cgBI = Kind(rawValue: 0x4367_4249)
        static let eXIf = Kind(rawValue: 0x6558_4966)
        package static let fcTL = Kind(rawValue: 0x6663_544C)
        package static let fdAT = Kind(rawValue: 0x6664_4154)
        static let gAMA = Kind(rawValue: 0x6741_4D41)
        static let hIST = Kind(rawValue: 0x6849_5354)
        static let iCCP = Kind(rawValue: 0x6943_4350)
        static let iTXt = Kind(rawValue: 0x6954_5874)
        /// The position of the second half of the pixels for Apple's decoder.
        static let iDOT = Kind(rawValue: 0x6944_4F54)
        static let mDCV = Kind(rawValue: 0x6D44_4356)
        static let pHYs = Kind(rawValue: 0x7048_5973)
        static let palette = Kind(rawValue: 0x504C_5445)
        static let sBIT = Kind(rawValue: 0x7342_4954)
        static let sPLT = Kind(rawValue: 0x7350_4C54)
        static let sRGB = Kind(rawValue: 0x7352_4742)
        static let tEXt = Kind(rawValue: 0x7445_5874)
        static let tRNS = Kind(rawValue: 0x7452_4E53)
        static let zTXt = Kind(rawValue: 0x7A54_5874)
        package static let imageData = Kind(rawValue: 0x4944_4154)
        package static let imageEnd = Kind(rawValue: 0x4945_4E44)
        package static let imageHeader = Kind(rawValue: 0x4948_4452)

        /// Whether a decoder that does not know it may continue: bit 5 of the first letter.
        package var isAncillary: Bool { rawValue & 0x2000_0000 != 0 }

        /// Whether an editor that does not know it may copy it after changing critical chunks: bit 5 of the last
        /// letter.
        var isSafeToCopy: Bool { rawValue & 0x20 != 0 }

        /// Whether it consists of letters (PNG 3rd edition, table 3).
        var isValid: Bool {
            for shift in [24, 16, 8, 0] as [UInt32] {
                let letter = UInt8(truncatingIfNeeded: rawValue >> shift) | 0x20
                if letter < 0x61 || letter > 0x7A { return false }
            }
            return true
        }

        /// Whether it affects the colors of the pixels.
        var concernsPixels: Bool { !isAncillary || self == .tRNS }
        /// Whether it is metadata, or a fact for the header.
        var concernsMetadata: Bool {
            switch self {
            case .cICP, .cHRM, .cLLI, .eXIf, .gAMA, .iCCP, .iTXt, .mDCV, .pHYs, .sRGB, .tEXt, .zTXt: true
            default: false
            }
        }
        var isText: Bool { self == .tEXt || self == .zTXt || self == .iTXt }
    }

    package var kind: Kind
    /// The position of the length field.
    package var offset: Int
    /// The number of data bytes.
    package var length: Int

    package var data: Range<Int> { offset + 8..<offset + 8 + length }
    package var range: Range<Int> { offset..<offset + 12 + length }

    /// Reads the first eight bytes of a chunk.
    ///
    /// - Throws: `.corrupt` for a length above 2³¹ − 1 or an invalid name (PNG 3rd edition, 5.3).
    package init(at offset: Int, in source: ByteSource) throws(CoderError) {
        var reader = ByteReader(source, at: offset)
        try reader.require(8)
        let length = try reader.u32BE()
        kind = Kind(rawValue: try reader.u32BE())
        guard length < 1 << 31, kind.isValid else {
            throw .corrupt("invalid chunk", at: offset)
        }
        self.offset = offset
        self.length = Int(length)
    }

    /// Whether the checksum matches; the whole chunk must be there.
    package func isIntact(in source: ByteSource) -> Bool {
        var crc = CRC32()
        source.withBytes(offset + 4..<data.upperBound) { crc.add($0) }
        return crc.value == storedChecksum(in: source)
    }

    /// The CRC, the last four bytes.
    func storedChecksum(in source: ByteSource) -> UInt32 {
        source.bytes(data.upperBound..<range.upperBound).reduce(0) { $0 << 8 | UInt32($1) }
    }
}
