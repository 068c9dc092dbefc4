import CoderPluginKit
import ImageModel

/// One element of an ICNS file: a type of four letters and its bytes.
struct ICNSElement {
    let type: String
    let bytes: Range<Int>
    /// Whether the file ends within the element.
    let isCut: Bool

    static let magic = Array("icns".utf8)
    private static let most = 1000

    /// Returns the elements of a file; the last one may be cut.
    ///
    /// - Throws: `.notMine` for another file, `.corrupt` for an impossible length.
    static func all(in source: ByteSource) throws(CoderError) -> [ICNSElement] {
        var reader = ByteReader(source)
        guard try reader.consume(magic) else { throw .notMine() }
        let end = min(Int(try reader.u32BE()), source.available)
        var elements: [ICNSElement] = []
        while reader.offset + 8 <= end, elements.count < most {
            let start = reader.offset
            let type = try reader.bytes(4)
            let length = Int(try reader.u32BE())
            guard length >= 8 else { throw .corrupt("an element of \(length) bytes does not exist", at: start) }
            let stop = min(start + length, end)
            elements.append(
                ICNSElement(
                    type: String(decoding: type, as: UTF8.self), bytes: start + 8..<max(stop, start + 8),
                    isCut: stop < start + length))
            reader.offset = stop
        }
        return elements
    }
}

/// The form of the image in an element.
enum ICNSKind {
    /// A PNG or JPEG 2000 file.
    case file
    /// Packed red, green and blue; the mask is the element `mask`.
    case packed(side: Int, mask: String)
    /// Packed alpha, red, green and blue, or a file.
    case withAlpha(side: Int)
    /// One bit per pixel, then one bit of the mask per pixel.
    case bits(side: Int)

    init?(_ type: String) {
        switch type {
        case "icp4", "icp5", "icp6", "ic07", "ic08", "ic09", "ic10", "ic11", "ic12", "ic13", "ic14", "icsB", "sb24",
            "SB24":
            self = .file
        case "is32": self = .packed(side: 16, mask: "s8mk")
        case "il32": self = .packed(side: 32, mask: "l8mk")
        case "ih32": self = .packed(side: 48, mask: "h8mk")
        case "it32": self = .packed(side: 128, mask: "t8mk")
        case "ic04": self = .withAlpha(side: 16)
        case "ic05": self = .withAlpha(side: 32)
        case "icsb": self = .withAlpha(side: 18)
        case "ics#": self = .bits(side: 16)
        case "ICN#": self = .bits(side: 32)
        case "ich#": self = .bits(side: 48)
        default: return nil
        }
    }

    /// Whether an element has 4 or 8 bits per pixel and no palette, or an odd shape.
    static func isUnsupportedImage(_ type: String) -> Bool {
        ["icm#", "icm4", "icm8", "ics4", "ics8", "icl4", "icl8", "ich4", "ich8", "ICON"].contains(type)
    }
}
