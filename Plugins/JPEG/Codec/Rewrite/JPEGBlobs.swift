import CoderPluginKit
import ImageModel

/// Makes metadata segments.
///
/// - Source: Exif 2.32 section 4.7.2; XMP part 3 section 1.1.3; ICC.1 annex B.4.
enum JPEGBlobs {
    /// The bytes of an extended packet per segment, as XMP recommends.
    private static let extensionPart = 65_400

    static func exif(_ bytes: [UInt8]) throws(CoderError) -> [UInt8] {
        let body = JPEGContent.Name.exif + [0] + bytes
        guard body.count <= JPEGSegment.maxBody else {
            throw tooLarge("Exif", bytes.count, JPEGSegment.maxBody - JPEGContent.Name.exif.count - 1)
        }
        return JPEGSegment.make(0xE1, body)
    }

    /// Returns one segment, or a short packet that names the extension with the long one.
    static func xmp(_ packet: [UInt8]) throws(CoderError) -> [UInt8] {
        let body = JPEGContent.Name.xmp + packet
        if body.count <= JPEGSegment.maxBody { return JPEGSegment.make(0xE1, body) }
        guard ExtendedXMP.name(in: packet) == nil else {
            throw tooLarge("XMP with an extension", packet.count, JPEGSegment.maxBody - JPEGContent.Name.xmp.count)
        }
        let whole = ExtendedXMP.withoutWrapper(packet)
        if whole.isEmpty { throw .invalidArgument("the XMP packet is empty") }
        let name = MD5.hexDigits(of: whole)
        let short = ExtendedXMP.packet(naming: name, orientation: XMPOrientation.read(packet))
        return JPEGSegment.make(0xE1, JPEGContent.Name.xmp + short) + (try xmpExtension(whole, named: name))
    }

    /// Returns an extended packet, in as many segments as it needs.
    static func xmpExtension(_ packet: [UInt8], named name: [UInt8]) throws(CoderError) -> [UInt8] {
        guard let total = UInt32(exactly: packet.count) else {
            throw tooLarge("extended XMP", packet.count, Int(UInt32.max))
        }
        return stride(from: 0, to: packet.count, by: extensionPart).flatMap { start in
            let end = min(packet.count, start + extensionPart)
            let head = JPEGContent.Name.xmpExtension + name + u32(total) + u32(UInt32(start))
            return JPEGSegment.make(0xE1, head + packet[start..<end])
        }
    }

    /// Returns a profile, in as many segments as it needs, each with its number and their count.
    static func icc(_ profile: [UInt8]) throws(CoderError) -> [UInt8] {
        let part = JPEGSegment.maxBody - JPEGContent.Name.icc.count - 2
        let count = (profile.count + part - 1) / part
        guard count <= 255 else { throw tooLarge("an ICC profile", profile.count, 255 * part) }
        return (0..<count).flatMap { index in
            let bytes = profile[index * part..<min(profile.count, (index + 1) * part)]
            return JPEGSegment.make(0xE2, JPEGContent.Name.icc + [UInt8(index + 1), UInt8(count)] + bytes)
        }
    }

    /// Returns Photoshop image resources, in as many segments as they need.
    static func resources(_ bytes: [UInt8]) -> [UInt8] {
        let part = JPEGSegment.maxBody - JPEGContent.Name.resources.count
        return stride(from: 0, to: bytes.count, by: part).flatMap { start in
            JPEGSegment.make(0xED, JPEGContent.Name.resources + bytes[start..<min(bytes.count, start + part)])
        }
    }

    static func comment(_ text: [UInt8]) throws(CoderError) -> [UInt8] {
        guard text.count <= JPEGSegment.maxBody else { throw tooLarge("a comment", text.count, JPEGSegment.maxBody) }
        return JPEGSegment.make(0xFE, text)
    }

    private static func u32(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    private static func tooLarge(_ what: String, _ count: Int, _ allowed: Int) -> CoderError {
        var error = CoderError.refused("a JPEG can store \(what) of at most \(allowed) bytes, not \(count)")
        error.hint = "shorten it or leave it out"
        return error
    }
}
