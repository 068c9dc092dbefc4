import ImageModel

extension DecodeSession {
    /// The maximum number of items whose metadata is read: each one opens the file, and a hostile file lists thousands.
    private static let maxExaminedItems = 16

    /// Returns the number of thumbnails that a rewrite should remove and that are not in Exif.
    func thumbnailsOutsideExif(_ options: RewriteOptions) throws(CoderError) -> Int {
        guard info.hasItems, options.removed.contains(.thumbnail) else { return 0 }
        let hasOwn = try metadata().contains { RewriteOptions.Part.thumbnail.isStored(in: $0) }
        return max(0, try items().dropFirst().count { $0.facts?.role == .thumbnail } - (hasOwn ? 1 : 0))
    }

    /// Returns warnings about items that keep a location or thumbnail which a rewrite removes.
    ///
    /// The host edits Exif and XMP of the first image only. The coder removes whole kinds of metadata.
    func warningsOfKeptMetadata(_ options: RewriteOptions) throws(CoderError) -> [String] {
        let parts = options.removed.filter { $0.kind == nil }
        guard info.hasItems, !parts.isEmpty else { return [] }
        var warnings: [String] = []
        let others = try items().dropFirst()
        for other in others.prefix(Self.maxExaminedItems) {
            let kept = try kept(parts, in: other)
            if kept.isEmpty { continue }
            let names = kept.map(\.rawValue).sorted().joined(separator: ", ")
            warnings.append("item \(other.index) keeps its metadata (\(names)): only the first image is changed")
        }
        if others.count > Self.maxExaminedItems {
            warnings.append(
                "items from \(Self.maxExaminedItems + 1) on are not examined and keep their metadata: only the first image is changed"
            )
        }
        return warnings
    }

    /// Returns the parts that an item contains; all of them if unknown, as for a damaged image.
    private func kept(
        _ parts: Set<RewriteOptions.Part>, in item: ListedItem
    ) throws(CoderError) -> Set<RewriteOptions.Part> {
        guard item.facts != nil else { return parts }
        do throws(CoderError) {
            try select(item: item.index)
            let blobs = try metadata()
            return parts.filter { part in blobs.contains { part.isStored(in: $0) } }
        } catch {
            if [.cancelled, .deadlineExceeded].contains(error.code) { throw error }
            return parts
        }
    }
}

extension RewriteOptions.Part {
    /// Whether a blob contains this part of the metadata, which is less than a kind.
    fileprivate func isStored(in blob: MetadataBlob) -> Bool {
        switch (self, blob.kind) {
        case (.gps, .exif): ExifPosition.isStored(in: blob.bytes)
        case (.gps, .xmp): XMPPosition.isStored(in: blob.bytes)
        case (.thumbnail, .exif): ExifThumbnail(blob.bytes) != nil
        default: false
        }
    }
}
