import HostSystem
import ImageProcessing

/// The metadata behind the image bytes in an entry's file.
///
///     image       B bytes, unchanged, so that every other program can open the file
///     extended    E bytes: data of the application
///     attributes  A bytes: the key, a number of pairs, and each pair's name and value; every text follows its length
///     trailer     112 bytes:
///         BBBBBBBB EEEEEEEE AAAAAAAA     lengths
///         KKKKKKKK KKKKKKKK KKKKKKKK KKKKKKKK   SHA-256 of the key
///         SSSSSSSS                       date when it was stored, nanoseconds since 1970
///         PPPPPPPP PPPPPPPP              checksum of the image
///         VVVV FFFF                      version; flags: 1 = has extended data
///         CCCCCCCC CCCCCCCC              checksum of extended, attributes, and the trailer up to here
///         89 'C' 'H' 'C' 'E' 0D 0A 1A    magic; text-mode or 7-bit copies of the file damage it
///
/// Numbers are little endian. With two checksums, the metadata can be read and changed without reading the image.
enum EntryFormat {
    static let trailerCount = 112
    static let version: UInt32 = 1
    static let magic: [UInt8] = [0x89, 0x43, 0x48, 0x43, 0x45, 0x0D, 0x0A, 0x1A]

    /// Everything behind an image.
    struct Tail: Sendable, Hashable {
        var key: String
        var extended: [UInt8]?
        var attributes: [String: String]
        var stored: Int64
        var image: ContentCheck
        var imageCount: Int
    }

    /// The bytes of a tail.
    static func encode(_ tail: Tail, keyHash: [UInt8]) -> [UInt8] {
        var bytes = tail.extended ?? []
        let extendedCount = bytes.count
        bytes.append(text: tail.key)
        bytes.append(littleEndian: UInt32(tail.attributes.count))
        // Sorted, so that equal entries make equal files.
        for (name, value) in tail.attributes.sorted(by: { $0.key < $1.key }) {
            bytes.append(text: name)
            bytes.append(text: value)
        }
        let attributesCount = bytes.count - extendedCount
        for count in [tail.imageCount, extendedCount, attributesCount] { bytes.append(littleEndian: UInt64(count)) }
        bytes += keyHash
        bytes.append(littleEndian: UInt64(bitPattern: tail.stored))
        bytes.append(littleEndian: tail.image.low)
        bytes.append(littleEndian: tail.image.high)
        bytes.append(littleEndian: version)
        bytes.append(littleEndian: UInt32(tail.extended == nil ? 0 : 1))
        let check = bytes.withSpan { ContentCheck(of: $0) }
        bytes.append(littleEndian: check.low)
        bytes.append(littleEndian: check.high)
        return bytes + magic
    }

    /// The trailer, with the checks that need no other bytes.
    struct Trailer {
        var imageCount: Int
        var extendedCount: Int
        var attributesCount: Int
        var keyHash: [UInt8]
        /// Bytes behind the image, including the trailer.
        var tailCount: Int { extendedCount + attributesCount + trailerCount }

        /// Returns nil unless the bytes end with a trailer of this version and its lengths add up to the file size.
        init?(endOf bytes: [UInt8], fileCount: Int) {
            guard bytes.count >= trailerCount, bytes.suffix(8).elementsEqual(magic) else { return nil }
            var reader = Reader(bytes[(bytes.count - trailerCount)...])
            guard let counts = try? (reader.count(), reader.count(), reader.count()),
                let hash = try? reader.bytes(32), (try? reader.skip(8 + 16)) != nil,
                let version = try? reader.number(UInt32.self), version == EntryFormat.version
            else { return nil }
            var sum = trailerCount
            for count in [counts.0, counts.1, counts.2] {
                let (next, overflows) = sum.addingReportingOverflow(count)
                if overflows { return nil }
                sum = next
            }
            guard sum == fileCount else { return nil }
            (imageCount, extendedCount, attributesCount) = counts
            keyHash = Array(hash)
        }

        /// Decodes the bytes behind the image; nil if they are damaged.
        func tail(_ bytes: [UInt8]) -> Tail? {
            guard bytes.count == tailCount else { return nil }
            let checked = Array(bytes.dropLast(24))
            var reader = Reader(bytes[...])
            return try? { () throws(Damage) in
                let extended = try reader.bytes(extendedCount)
                let key = try reader.text()
                var attributes: [String: String] = [:]
                for _ in 0..<(try reader.number(UInt32.self)) { attributes[try reader.text()] = try reader.text() }
                // The attributes must end exactly where the trailer begins.
                guard reader.place == extendedCount + attributesCount else { throw Damage() }
                try reader.skip(24 + 32)
                let stored = Int64(bitPattern: try reader.number(UInt64.self))
                let image = ContentCheck(low: try reader.number(), high: try reader.number())
                try reader.skip(4)
                let flags = try reader.number(UInt32.self)
                let check = ContentCheck(low: try reader.number(), high: try reader.number())
                guard check == checked.withSpan({ ContentCheck(of: $0) }), flags <= 1 else { throw Damage() }
                return Tail(
                    key: key, extended: flags & 1 == 0 ? nil : Array(extended), attributes: attributes, stored: stored,
                    image: image, imageCount: imageCount)
            }()
        }
    }

    private struct Damage: Error {}

    /// Reads values from bytes, with bounds checks.
    private struct Reader {
        let bytes: ArraySlice<UInt8>
        /// Number of bytes read so far.
        private(set) var place = 0

        init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

        mutating func bytes(_ count: Int) throws(Damage) -> ArraySlice<UInt8> {
            guard count >= 0, count <= bytes.count - place else { throw Damage() }
            let start = bytes.startIndex + place
            place += count
            return bytes[start..<(start + count)]
        }

        mutating func skip(_ count: Int) throws(Damage) { _ = try bytes(count) }

        mutating func number<N: FixedWidthInteger>(_ type: N.Type = N.self) throws(Damage) -> N {
            try bytes(N.bitWidth / 8).reversed().reduce(0) { $0 << 8 | N(truncatingIfNeeded: $1) }
        }

        mutating func count() throws(Damage) -> Int {
            guard let count = Int(exactly: try number(UInt64.self)) else { throw Damage() }
            return count
        }

        mutating func text() throws(Damage) -> String {
            let count = Int(try number(UInt32.self))
            return String(decoding: try bytes(count), as: UTF8.self)
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian number: some FixedWidthInteger) {
        for shift in stride(from: 0, to: number.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    fileprivate mutating func append(text: String) {
        append(littleEndian: UInt32(text.utf8.count))
        append(contentsOf: text.utf8)
    }
}
