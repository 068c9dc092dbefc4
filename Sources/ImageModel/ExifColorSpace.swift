/// Changes the color space that an Exif blob states.
///
/// - Source: CIPA DC-008 section 4.6.5, tag 0xA001: 1 is sRGB, 0xFFFF is another color space. Adobe writes 2 for Adobe RGB.
package enum ExifColorSpace {
    /// Returns the blob with its stated color space set to sRGB or to another one; unchanged if it states none.
    package static func replacing(_ exif: [UInt8], isSRGB: Bool) -> [UInt8] {
        guard let tiff = TIFFStructure(exif), let directory = tiff.number(0x8769, in: tiff.first),
            let field = tiff.field(0xA001, in: directory), field.count == 1, field.type == 3
        else { return exif }
        var copy = exif
        let bytes: [UInt8] = isSRGB ? [0, 1] : [0xFF, 0xFF]
        for index in 0..<2 { copy[field.place + index] = bytes[tiff.isBigEndian ? index : 1 - index] }
        return copy
    }
}
