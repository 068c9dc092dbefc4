import CoderPluginKit
import ImageModel

/// The directory at the start of an ICO or CUR file.
///
/// - Source: [MS-WPF] and the Windows SDK, `NEWHEADER` and `RESDIR`: 6 bytes, then 16 bytes for each image.
struct IconDirectory {
    /// One image of the file.
    struct Entry {
        let bytes: Range<Int>
        /// The pixel that points, in a cursor.
        let hotspot: (x: Int, y: Int)?
    }

    let entries: [Entry]

    /// Reads the directory.
    ///
    /// - Throws: `.notMine` for bytes that only begin like an icon; an uncompressed TGA begins like a cursor.
    init(_ source: ByteSource) throws(CoderError) {
        var reader = ByteReader(source)
        guard try reader.u16LE() == 0 else { throw .notMine() }
        let kind = try reader.u16LE()
        let count = Int(try reader.u16LE())
        guard kind == 1 || kind == 2, count > 0 else { throw .notMine() }
        var entries: [Entry] = []
        for number in 0..<count {
            try reader.require(16)
            let place = reader.offset
            let (x, y) = (Int(Self.u16(source, place + 4)), Int(Self.u16(source, place + 6)))
            let (length, start) = (Self.u32(source, place + 8), Self.u32(source, place + 12))
            // No writer puts images into the directory.
            if number == 0, start < 6 + 16 * count || length == 0 { throw .notMine() }
            reader.offset += 16
            entries.append(Entry(bytes: start..<start + length, hotspot: kind == 2 ? (x, y) : nil))
        }
        self.entries = entries
    }

    /// Returns how to open the images of a file.
    static func places(_ session: DecoderSession) throws(CoderError) -> [IconItems.Place] {
        let available = session.source.available
        return try IconDirectory(session.source).entries.map { entry in
            IconItems.Place(hotspot: entry.hotspot) { () throws(CoderError) in
                guard entry.bytes.lowerBound < available else {
                    throw .truncated("an image of the icon is behind the end of the file")
                }
                // Some writers of cursors state fewer bytes than a bitmap header has; the header tells the size then.
                let isStated = entry.bytes.count >= 40
                let bytes = isStated ? entry.bytes.clamped(to: 0..<available) : entry.bytes.lowerBound..<available
                let start = session.source.bytes(bytes.prefix(PNGIcon.signature.count))
                if start == PNGIcon.signature { return try PNGIcon(session, bytes) }
                return try IconBitmap(session, bytes, isCut: bytes.count < entry.bytes.count)
            }
        }
    }

    private static func u16(_ source: ByteSource, _ place: Int) -> UInt16 {
        UInt16(source[place]) | UInt16(source[place + 1]) << 8
    }

    private static func u32(_ source: ByteSource, _ place: Int) -> Int {
        Int(u16(source, place)) | Int(u16(source, place + 2)) << 16
    }
}
