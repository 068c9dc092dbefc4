/// NUL bytes after an XMP packet, as some cameras and converters write them.
package enum XMPPadding {
    /// Returns a packet without NUL bytes at its end; they are part of no XML, and text chunks cannot hold them.
    ///
    /// A packet in UTF-16 or UTF-32 is returned unchanged: NUL is half of its letters.
    package static func removing(_ packet: [UInt8]) -> [UInt8] {
        guard packet.last == 0, !packet.prefix(4).contains(0), packet[0] < 0xFE,
            let end = packet.lastIndex(where: { $0 != 0 })
        else { return packet }
        return Array(packet[...end])
    }
}
