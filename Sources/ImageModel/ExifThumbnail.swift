/// Takes the small version of a picture out of an Exif blob.
///
/// IFD0 no longer leads to IFD1, and the bytes of the thumbnail are zeroed: of a picture that was cut they may show what
/// was cut off. Nothing else is moved or rewritten.
///
///     II*\0 | offset of IFD0 | … | count n | n × (tag 2, type 2, count 4, value 4) | offset of IFD1 | …
///
/// - Source: TIFF 6.0 section 2; CIPA DC-008 section 4.5.5, tags 0x0201 and 0x0202.
public enum ExifThumbnail {
    /// The same blob without a thumbnail; unchanged when it has none, or cannot be read.
    public static func removing(_ exif: [UInt8]) -> [UInt8] {
        guard let reader = Reader(exif), let link = reader.link(ofDirectoryAt: reader.number(at: 4)) else {
            return exif
        }
        let directory = reader.long(at: link) ?? 0
        if directory == 0 { return exif }
        var copy = exif
        if let start = reader.value(of: 0x0201, inDirectoryAt: directory),
            let count = reader.value(of: 0x0202, inDirectoryAt: directory),
            start >= 8, count > 0, start <= exif.count, count <= exif.count - start
        {
            copy.replaceSubrange(start..<start + count, with: repeatElement(0, count: count))
        }
        copy.replaceSubrange(link..<link + 4, with: [0, 0, 0, 0])
        return copy
    }

    private struct Reader {
        let bytes: [UInt8]
        let isBigEndian: Bool

        init?(_ bytes: [UInt8]) {
            guard bytes.count >= 14 else { return nil }
            switch (bytes[0], bytes[1]) {
            case (0x49, 0x49): isBigEndian = false
            case (0x4D, 0x4D): isBigEndian = true
            default: return nil
            }
            self.bytes = bytes
            guard short(at: 2) == 42 else { return nil }
        }

        func short(at place: Int) -> Int? {
            guard place >= 0, place <= bytes.count - 2 else { return nil }
            let (a, b) = (Int(bytes[place]), Int(bytes[place + 1]))
            return isBigEndian ? a << 8 | b : b << 8 | a
        }

        func long(at place: Int) -> Int? {
            guard let a = short(at: place), let b = short(at: place + 2) else { return nil }
            return isBigEndian ? a << 16 | b : b << 16 | a
        }

        func number(at place: Int) -> Int { long(at: place) ?? 0 }

        /// Where the offset of the next directory stands.
        func link(ofDirectoryAt place: Int) -> Int? {
            guard place >= 8, let count = short(at: place) else { return nil }
            let link = place + 2 + count * 12
            return link <= bytes.count - 4 ? link : nil
        }

        /// The number of an entry that holds one.
        func value(of tag: Int, inDirectoryAt place: Int) -> Int? {
            guard place >= 8, let count = short(at: place) else { return nil }
            for entry in 0..<count {
                let at = place + 2 + entry * 12
                guard let found = short(at: at), let type = short(at: at + 2) else { return nil }
                if found == tag { return type == 3 ? short(at: at + 8) : type == 4 ? long(at: at + 8) : nil }
            }
            return nil
        }
    }
}
