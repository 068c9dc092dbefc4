internal import CoderPluginKit
internal import ImageModel

/// Reads the metadata of a directory: ICC, XMP, IPTC and Photoshop's resources as stored, Exif rebuilt.
struct TIFFMetadata {
    private let reader: DirectoryReader
    private let session: DecoderSession

    init(_ reader: DirectoryReader, _ session: DecoderSession) {
        self.reader = reader
        self.session = session
    }

    func blobs(of directory: Directory) -> [MetadataBlob] {
        var blobs: [MetadataBlob] = []
        func add(_ tag: Int, _ kind: MetadataBlob.Kind, _ name: String, key: String? = nil) {
            guard let entry = directory[tag] else { return }
            guard fits(entry.value.count, name) else { return }
            blobs.append(MetadataBlob(kind, session.source.bytes(entry.value), key: key))
        }
        let exif = ExifBuilder(reader, warn: session.host.warn).exif(of: directory)
        if !exif.isEmpty, fits(exif.count, "Exif") { blobs.append(MetadataBlob(.exif, exif)) }
        add(700, .xmp, "XMP")
        add(34_675, .icc, "color profile")
        if let iptc = directory[33_723], fits(iptc.value.count, "IPTC") {
            blobs.append(MetadataBlob(.iptc, self.iptc(iptc)))
        }
        add(34_377, .raw, "Photoshop resources", key: "8BIM")
        return blobs
    }

    private func fits(_ count: Int, _ name: String) -> Bool {
        let limit = session.limits.maxMetadataBytes
        if limit > 0, count > limit {
            session.host.warn("the \(name) of \(count) bytes is above the limit and is ignored")
            return false
        }
        return true
    }

    /// Some writers store the records as 32-bit numbers, in the order of their bytes or swapped.
    private func iptc(_ entry: Directory.Entry) -> [UInt8] {
        var bytes = session.source.bytes(entry.value)
        // A record begins with 1C.
        guard entry.type == 4, bytes.count >= 4 else { return bytes }
        if bytes[0] != 0x1C, bytes[3] == 0x1C {
            for start in stride(from: 0, to: bytes.count & ~3, by: 4) { bytes[start..<start + 4].reverse() }
        }
        return Array(bytes[..<Self.end(ofRecords: bytes)])
    }

    /// Returns the end of the records if at most three zeros fill the last number behind them; otherwise all bytes.
    ///
    /// - Source: IPTC-IIM 4.2, section 1.5: 1C, record, data set, length (15 bits), data.
    private static func end(ofRecords bytes: [UInt8]) -> Int {
        var end = 0
        while end + 5 <= bytes.count, bytes[end] == 0x1C, bytes[end + 3] < 0x80 {
            let length = Int(bytes[end + 3]) << 8 | Int(bytes[end + 4])
            let next = end + 5 + length
            if next > bytes.count { break }
            end = next
        }
        return bytes.count - end < 4 && bytes[end...].allSatisfy { $0 == 0 } ? end : bytes.count
    }
}
