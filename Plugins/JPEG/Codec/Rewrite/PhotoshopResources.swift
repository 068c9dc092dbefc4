/// The image resources of Photoshop, which contain the IPTC record.
///
///     "8BIM" | id 2 | name: length 1, text, padded to even | size 4 | data, padded to even
///
/// - Source: Adobe Photoshop File Formats Specification, "Image Resource Blocks".
struct PhotoshopResources {
    private struct Resource {
        var id: Int
        /// The whole resource.
        var bytes: [UInt8]

        init(id: Int, bytes: [UInt8]) { (self.id, self.bytes) = (id, bytes) }

        /// Creates a resource without a name.
        init(id: Int, data: [UInt8]) {
            let size = (0..<4).map { UInt8(truncatingIfNeeded: data.count >> (24 - 8 * $0)) }
            let head = PhotoshopResources.signature + [UInt8(id >> 8), UInt8(id & 0xFF), 0, 0] + size
            self.init(id: id, bytes: head + data + (data.count % 2 == 1 ? [0] : []))
        }

        /// The bytes behind the header.
        var data: [UInt8] {
            let sizeAt = 6 + (1 + Int(bytes[6]) + 1) & ~1
            let size = bytes[sizeAt..<sizeAt + 4].reduce(0) { $0 << 8 | Int($1) }
            return Array(bytes[sizeAt + 4..<sizeAt + 4 + size])
        }
    }

    private var resources: [Resource] = []

    private static let signature = Array("8BIM".utf8)
    private static let iptc = 0x0404
    /// The MD5 digest of the record.
    private static let digest = 0x0425
    /// Thumbnails of Photoshop 4, and of 5 and later.
    private static let thumbnails = [0x0409, 0x040C]

    /// Joins the resources of all segments; nil if they are damaged.
    init?(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count {
            guard bytes.count - offset >= 12 else {
                // Accepts padding at the end, which some writers add.
                if bytes[offset...].allSatisfy({ $0 == 0 }) { return }
                return nil
            }
            let id = Int(bytes[offset + 4]) << 8 | Int(bytes[offset + 5])
            let sizeAt = offset + 6 + (1 + Int(bytes[offset + 6]) + 1) & ~1
            guard bytes[offset..<offset + 4].elementsEqual(Self.signature), sizeAt + 4 <= bytes.count
            else { return nil }
            let size = bytes[sizeAt..<sizeAt + 4].reduce(0) { $0 << 8 | Int($1) }
            guard size <= bytes.count - sizeAt - 4 else { return nil }
            // The last one may end without its padding.
            let end = min(bytes.count, sizeAt + 4 + (size + 1) & ~1)
            resources.append(Resource(id: id, bytes: Array(bytes[offset..<end])))
            if (end - offset) % 2 == 1 { resources[resources.count - 1].bytes.append(0) }
            offset = end
        }
    }

    /// Replaces the record, or appends it behind the other resources.
    mutating func replaceIPTC(with record: [UInt8]) {
        // The digest states that Exif and XMP repeat the record; one of another record states nothing.
        let old = resources.first { $0.id == Self.iptc }.map(\.data).map(MD5.digest(of:))
        if let old, let place = resources.firstIndex(where: { $0.id == Self.digest && $0.data.elementsEqual(old) }) {
            resources[place] = Resource(id: Self.digest, data: MD5.digest(of: record))
        }
        let place = resources.firstIndex { $0.id == Self.iptc } ?? resources.count
        resources.removeAll { $0.id == Self.iptc }
        resources.insert(Resource(id: Self.iptc, data: record), at: place)
    }

    /// Removes the thumbnails; returns whether there were any.
    mutating func removeThumbnails() -> Bool {
        let count = resources.count
        resources.removeAll { Self.thumbnails.contains($0.id) }
        return resources.count < count
    }

    var bytes: [UInt8] { resources.flatMap(\.bytes) }
}
