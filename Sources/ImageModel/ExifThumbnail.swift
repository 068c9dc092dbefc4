/// The thumbnail in an Exif blob: IFD1 states the offset and the length of its JPEG data.
///
/// Each number is checked before use. Directories are not followed further than from IFD0 to IFD1.
///
/// - Source: TIFF 6.0 section 2; CIPA DC-008 sections 4.5.4, 4.5.5 and 4.5.8, tags 0x0103, 0x0201 and 0x0202.
package struct ExifThumbnail {
    /// The range of the JPEG data within the blob.
    package let bytes: Range<Int>

    /// Returns nil if the blob has no thumbnail or describes it inconsistently.
    package init?(_ exif: [UInt8]) {
        guard let tiff = TIFFStructure(exif), let link = tiff.link(of: tiff.first) else { return nil }
        let directory = tiff.long(at: link)
        // 6 means JPEG; some writers omit the tag.
        if let kind = tiff.number(0x0103, in: directory), kind != 6 { return nil }
        guard let bytes = Self.place(tiff, directory, within: exif.count), bytes.count >= 4,
            exif[bytes.lowerBound] == 0xFF, exif[bytes.lowerBound + 1] == 0xD8
        else { return nil }
        self.bytes = bytes
    }

    /// Returns the blob without a thumbnail; unchanged if it has none or is unreadable.
    ///
    /// IFD0 no longer points to IFD1. The thumbnail's bytes are cut off at the end of the blob and zeroed elsewhere,
    /// because the thumbnail of a cropped image may show the removed part. No other byte moves.
    package static func removing(_ exif: [UInt8]) -> [UInt8] {
        guard let tiff = TIFFStructure(exif), let link = tiff.link(of: tiff.first) else { return exif }
        let directory = tiff.long(at: link)
        if directory == 0 { return exif }
        var copy = exif
        copy.replaceSubrange(link..<link + 4, with: [0, 0, 0, 0])
        // IFD0 lies before `link`: a hostile file could place its thumbnail there to have IFD0 erased.
        guard let place = Self.place(tiff, directory, within: exif.count), place.lowerBound >= link + 4 else {
            return copy
        }
        if exif[place.upperBound...].allSatisfy({ $0 == 0 }) {
            copy.removeSubrange(place.lowerBound...)
        } else {
            copy.replaceSubrange(place, with: repeatElement(0, count: place.count))
        }
        return copy
    }

    private static func place(_ tiff: TIFFStructure, _ directory: Int, within count: Int) -> Range<Int>? {
        // A link back to IFD0 would be a cycle; IFD0 has no thumbnail of its own.
        guard directory != tiff.first, tiff.link(of: directory) != nil,
            let start = tiff.number(0x0201, in: directory), let length = tiff.number(0x0202, in: directory),
            start >= 8, length > 0, length <= count, start <= count - length
        else { return nil }
        return start..<start + length
    }
}
