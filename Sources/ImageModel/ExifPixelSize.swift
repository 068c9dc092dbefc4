/// Changes the image width and height stored in an Exif blob.
///
/// - Source: CIPA DC-008 section 4.6.5, tags 0x8769, 0xA002 and 0xA003.
package enum ExifPixelSize {
    /// Returns the blob with its stored width and height set to `size`; unchanged if it stores none.
    package static func replacing(_ exif: [UInt8], with size: PixelSize) -> [UInt8] {
        guard let tiff = TIFFStructure(exif), let directory = tiff.number(0x8769, in: tiff.first) else { return exif }
        var copy = exif
        for (tag, side) in [(0xA002, size.width), (0xA003, size.height)] {
            guard let field = tiff.field(tag, in: directory), field.count == 1, field.type == 3 || field.type == 4
            else {
                continue
            }
            let count = field.type == 3 ? 2 : 4
            // A SHORT cannot hold a larger side: the field keeps its old value.
            guard field.type == 4 || side <= UInt16.max else { continue }
            for index in 0..<count {
                let shift = 8 * (tiff.isBigEndian ? count - 1 - index : index)
                copy[field.place + index] = UInt8(truncatingIfNeeded: side >> shift)
            }
        }
        return copy
    }
}
