import Testing

@testable import ImageModel

@Suite struct `The position in an XMP packet` {
    private func removing(_ text: String) -> String {
        String(decoding: XMPPosition.removing(Array(text.utf8)), as: UTF8.self)
    }

    @Test(arguments: [
        (#"<d exif:GPSLatitude="1,2N" a:b="c"/>"#, #"<d a:b="c"/>"#),
        (#"<d a:b="c" exif:GPSLongitude = '3,4E' exif:GPSAltitude="9/1">"#, #"<d a:b="c">"#),
        ("<d><exif:GPSLatitude>1,2N</exif:GPSLatitude><x/></d>", "<d><x/></d>"),
        ("<d><exif:GPSVersionID/><x/></d>", "<d><x/></d>"),
        ("<d>exif:GPSLatitude is a word</d>", "<d>exif:GPSLatitude is a word</d>"),
        (#"<d exif:GPSLatitude="1,2N"#, #"<d exif:GPSLatitude="1,2N"#), ("<exif:GPSLatitude>1", "<exif:GPSLatitude>1"),
        (":GPS", ":GPS"), ("", ""), ("<a:GPSX><b>1</b></a:GPSX>", "<a:GPSX><b>1</b></a:GPSX>"),
    ])
    func `is removed from attributes and elements, without other changes`(before: String, after: String) {
        #expect(removing(before) == after)
    }

    /// With a search to the end for each of them, this would take hours.
    @Test(.timeLimit(.minutes(40)), arguments: ["<a:GPSX>", "<a:GPSX ", " a:GPSX=", "a:GPS", " a:GPSX='"])
    func `is searched in linear time`(piece: String) {
        let packet = Array(String(repeating: piece, count: 200_000).utf8)
        #expect(XMPPosition.removing(packet).count <= packet.count)
    }

    @Test func `is detected`() {
        #expect(XMPPosition.isStored(in: Array(#"<d exif:GPSLatitude="1,2N"/>"#.utf8)))
        #expect(!XMPPosition.isStored(in: Array(#"<d exif:ImageWidth="12"/>"#.utf8)))
    }
}
