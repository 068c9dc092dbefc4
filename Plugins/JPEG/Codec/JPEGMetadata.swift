import CoderPluginKit
import ImageModel

/// Joins the segments of ``JPEGMarkers`` into blobs, each within the size limit.
struct JPEGMetadata {
    let markers: JPEGMarkers
    let source: ByteSource
    /// The maximum bytes of one blob; 0 = no limit.
    let limit: Int

    init(_ source: ByteSource, limit: Int) {
        markers = JPEGMarkers(source)
        self.source = source
        self.limit = limit
    }

    /// Returns every complete blob of the file; calls `warn` for incomplete ones.
    func blobs(warn: (String) -> Void) throws(CoderError) -> [MetadataBlob] {
        var blobs: [MetadataBlob] = []
        if let exif = markers.exif { blobs.append(MetadataBlob(.exif, try join([exif]))) }
        if let xmp = markers.xmp { blobs.append(MetadataBlob(.xmp, try join([xmp]))) }
        if let parts = profileParts {
            blobs.append(MetadataBlob(.icc, try join(parts)))
        } else if !markers.profileParts.isEmpty {
            warn("ignored the ICC profile: its segments do not match")
        }
        if let record = try iptc() { blobs.append(MetadataBlob(.iptc, record)) }
        blobs += comments(warn: warn)
        if let parts = extendedXMP {
            blobs.append(MetadataBlob(.raw, try join(parts), key: Self.extendedXMPKey))
        } else if !markers.xmpParts.isEmpty {
            warn("ignored the extended XMP: its segments do not match")
        }
        return blobs
    }

    /// The key of a comment segment.
    static let commentKey = "Comment"

    /// The comments as UTF-8, or else as Latin-1: the format defines no encoding (ITU-T T.81, B.2.4.5).
    private func comments(warn: (String) -> Void) -> [MetadataBlob] {
        // All comments together have the limit of one blob.
        var room = limit > 0 ? limit : .max
        var blobs: [MetadataBlob] = []
        for range in markers.comments {
            guard range.count <= room else {
                warn("ignored comments: together they exceed the limit of \(limit) bytes")
                break
            }
            room -= range.count
            var bytes = source.bytes(range)
            while bytes.last == 0 { bytes.removeLast() }
            let text =
                String(validating: bytes, as: UTF8.self)
                ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            if !bytes.isEmpty { blobs.append(MetadataBlob(.text, Array(text.utf8), key: Self.commentKey)) }
        }
        return blobs
    }

    /// The key of the extended packet that a standard packet may announce.
    static let extendedXMPKey = "xmp-extension"

    /// Whether every segment of the profile is present.
    var hasProfile: Bool { profileParts != nil }

    /// The orientation in Exif, or else in the XMP packet.
    ///
    /// Quirk: conversion by a camera may drop the Exif tag and keep the orientation in XMP; system decoders use it.
    func orientation() throws(CoderError) -> Orientation? {
        if let exif = markers.exif, let found = ExifOrientation.read(try join([exif])) { return found }
        guard let xmp = markers.xmp else { return nil }
        return XMPOrientation.read(try join([xmp]))
    }

    private func join(_ parts: [Range<Int>]) throws(CoderError) -> [UInt8] {
        let total = parts.reduce(0) { $0 + $1.count }
        if limit > 0, total > limit { throw .limit("metadata", allowed: limit, requested: total) }
        return parts.flatMap { source.bytes($0) }
    }

    /// The profile's segments in order; nil unless each of 1 … n appears once.
    ///
    /// - Source: ICC.1 annex B.4.
    private var profileParts: [Range<Int>]? {
        let parts = markers.profileParts.sorted { $0.number < $1.number }
        guard let count = parts.first?.count, parts.count == Int(count) else { return nil }
        for (index, part) in parts.enumerated() where part.count != count || Int(part.number) != index + 1 {
            return nil
        }
        return parts.map(\.bytes)
    }

    /// The extended packet's segments in order; nil unless they are complete and the standard packet refers to them.
    ///
    /// - Source: XMP part 3 section 1.1.3.1.
    private var extendedXMP: [Range<Int>]? {
        guard let xmp = markers.xmp, let first = markers.xmpParts.first else { return nil }
        let packet = source.bytes(xmp)
        let parts = markers.xmpParts.filter { $0.guid == first.guid }.sorted { $0.offset < $1.offset }
        var end: UInt32 = 0
        for part in parts {
            guard part.offset == end, part.total == first.total else { return nil }
            end += UInt32(part.bytes.count)
        }
        guard end == first.total, packet.firstIndex(of: first.guid) != nil else { return nil }
        return parts.map(\.bytes)
    }

    /// The IPTC record among the Photoshop image resources.
    ///
    ///     "8BIM" | id 2 | name: length 1, text, padded to even | size 4 | data, padded to even
    ///
    /// - Source: Adobe Photoshop File Formats Specification, "Image Resource Blocks", id 0x0404.
    private func iptc() throws(CoderError) -> [UInt8]? {
        if markers.resources.isEmpty { return nil }
        let bytes = try join(markers.resources)
        var offset = 0
        while offset + 12 <= bytes.count, bytes[offset..<offset + 4].elementsEqual("8BIM".utf8) {
            let id = Int(bytes[offset + 4]) << 8 | Int(bytes[offset + 5])
            let name = (1 + Int(bytes[offset + 6]) + 1) & ~1
            let sizeAt = offset + 6 + name
            guard sizeAt + 4 <= bytes.count else { return nil }
            let size = bytes[sizeAt..<sizeAt + 4].reduce(0) { $0 << 8 | Int($1) }
            guard size <= bytes.count - sizeAt - 4 else { return nil }
            if id == 0x0404 { return Array(bytes[sizeAt + 4..<sizeAt + 4 + size]) }
            offset = sizeAt + 4 + (size + 1) & ~1
        }
        return nil
    }
}

extension [UInt8] {
    /// Returns the first position of `pattern`.
    func firstIndex(of pattern: [UInt8]) -> Int? {
        guard let head = pattern.first, count >= pattern.count else { return nil }
        for start in 0...count - pattern.count where self[start] == head {
            if self[start..<start + pattern.count].elementsEqual(pattern) { return start }
        }
        return nil
    }
}
