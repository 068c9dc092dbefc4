import ImageMetadata
import ImageModel

extension RewritePlan {
    /// Stores texts in Exif, and in XMP if the file has a packet or if Exif cannot hold them.
    ///
    /// - Throws: `.refused` for damaged metadata, and for texts that a packet cannot hold.
    mutating func store(_ fields: [MetadataField: String], _ metadata: [MetadataBlob], holdsExif: Bool)
        throws(CoderError)
    {
        if fields.isEmpty { return }
        func current(_ kind: MetadataBlob.Kind) -> [UInt8]? {
            if let new = request.replaced.first(where: { $0.kind == kind }) { return new.bytes }
            return request.removed.contains(kind) ? nil : metadata.first { $0.kind == kind }?.bytes
        }
        let forExif = fields.filter { holdsExif && $0.key.exifTag != nil }
        if !forExif.isEmpty {
            guard let exif = ExifFields.storing(forExif, in: current(.exif) ?? ExifFields.empty) else {
                throw CoderError(
                    .refused, "the Exif data is damaged and cannot take a text", hint: "--strip exif replaces it")
            }
            replace(MetadataBlob(.exif, exif))
        }
        let packet = current(.xmp)
        if packet != nil || forExif.count < fields.count {
            let forXMP = packet == nil ? fields.filter { forExif[$0.key] == nil } : fields
            guard let new = XMPFields.storing(forXMP, in: packet) else {
                throw CoderError(
                    .refused, "the XMP packet cannot take these texts",
                    hint: packet == nil
                        ? "omit control characters and spaces at the ends" : "--strip xmp replaces a damaged packet")
            }
            replace(MetadataBlob(.xmp, new))
        }
        if let iptc = current(.iptc) {
            guard let new = IPTCFields.storing(fields, in: iptc) else {
                let kept = MetadataField.allCases.filter { fields[$0] != nil && $0.isStored(inIPTC: iptc) }
                for field in kept {
                    warnings.append(
                        "the IPTC data is damaged and keeps its own \(field.rawValue): --strip iptc removes it")
                }
                return
            }
            for field in new.left.filter({ $0.isStored(inIPTC: iptc) }) {
                warnings.append("the IPTC data cannot hold this \(field.rawValue): its old one is removed")
            }
            if new.bytes != iptc { replace(MetadataBlob(.iptc, new.bytes)) }
        }
    }

    /// Writes a blob instead of all blobs of its kind.
    private mutating func replace(_ blob: MetadataBlob) {
        request.removed.remove(blob.kind)
        request.replaced.removeAll { $0.kind == blob.kind }
        request.replaced.append(blob)
    }
}
