package import CoderPluginKit
package import ImageModel

/// Reads Exif, XMP and the color profile of an image.
package struct MetadataReader {
    package let table: ItemTable
    package let session: DecoderSession

    package init(table: ItemTable, session: DecoderSession) { (self.table, self.session) = (table, session) }

    package func blobs(of id: UInt32, profile: Range<Int>?) throws(CoderError) -> [MetadataBlob] {
        var found: [MetadataBlob] = []
        if let profile {
            if let limit = limitPassed(profile.count) { throw limit }
            found.append(MetadataBlob(.icc, Array(table.bytes[profile])))
        }
        // Many items may refer to the same bytes of a small file.
        var budget = MetadataBudget(session.limits)
        for item in table.sources("cdsc", to: id) {
            guard let blob = try readable(item) else { continue }
            if let reason = budget.refusal(of: "\(blob.kind)", bytes: blob.bytes.count) {
                session.host.warn(reason)
                break
            }
            found.append(blob)
        }
        return found
    }

    /// Returns the metadata in an item; nil, with a warning, if the item is damaged.
    private func readable(_ id: UInt32) throws(CoderError) -> MetadataBlob? {
        do throws(CoderError) {
            return try blob(id)
        } catch {
            let isDamaged = [.corrupt, .truncated, .unsupportedFeature].contains(error.code)
            guard isDamaged || table.items[id]?.damage != nil else { throw error }
            session.host.warn("ignored item \(id), metadata of the image: \(error.message)")
            return nil
        }
    }

    /// Returns the metadata in an item; nil if the item has no metadata.
    ///
    /// Exif and XMP keep their orientation, although the transforms of the item alone decide how the image is shown: the
    /// host ignores it, because the pixels come out upright.
    ///
    /// - Source: ISO/IEC 23008-12 section 7.2.3 (orientation in metadata); MIAF section 7.3.9.
    private func blob(_ id: UInt32) throws(CoderError) -> MetadataBlob? {
        guard let item = table.items[id] else { return nil }
        if item.type == "Exif" {
            return Self.withoutOffset(try data(of: id)).map { MetadataBlob(.exif, $0) }
        }
        guard item.type == "mime", item.contentType == "application/rdf+xml" else { return nil }
        guard item.contentEncoding.isEmpty else {
            session.host.warn("ignored XMP with the encoding '\(item.contentEncoding)'")
            return nil
        }
        return MetadataBlob(.xmp, try data(of: id))
    }

    /// Skips the offset of the TIFF header and the bytes before that header (often `Exif\0\0`).
    ///
    ///     | offset 4, big endian | skipped … | II or MM …
    ///
    /// In a file with the short header, and in some others, the blob begins with the TIFF header itself.
    ///
    /// - Source: ISO/IEC 23008-12 section A.2.1.
    package static func withoutOffset(_ item: [UInt8]) -> [UInt8]? {
        guard item.count > 4 else { return nil }
        if item.starts(with: [0x49, 0x49, 0x2A, 0]) || item.starts(with: [0x4D, 0x4D, 0, 0x2A]) { return item }
        let offset = item.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard offset < item.count - 4 else { return nil }
        return Array(item[(4 + offset)...])
    }

    private func data(of id: UInt32) throws(CoderError) -> [UInt8] {
        try table.data(of: id, from: session.source, limit: session.limits.maxMetadataBytes)
    }

    private func limitPassed(_ count: Int) -> CoderError? {
        let allowed = session.limits.maxMetadataBytes
        return allowed > 0 && count > allowed
            ? .limit("metadata", allowed: allowed, requested: count) : nil
    }
}
