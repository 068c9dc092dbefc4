import Testing

@testable import ImageModel

@Suite struct `Further images in an XMP packet` {
    private static let gainMap = #" xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/""#
    private static let directory =
        #" xmlns:C="http://ns.google.com/photos/1.0/container/" xmlns:Item='http://ns.google.com/photos/1.0/container/item/'"#
    private static let camera = #" xmlns:GCamera="http://ns.google.com/photos/1.0/camera/""#

    private func removing(_ text: String) -> String {
        String(decoding: XMPFurtherImages.removing(Array(text.utf8)), as: UTF8.self)
    }

    @Test(arguments: [
        (#"<d\#(gainMap) hdrgm:Version="1.0" a:b="c"/>"#, #"<d a:b="c"/>"#),
        (#"<d a:b="c"\#(gainMap) hdrgm:Version = '1>0'>text</d>"#, #"<d a:b="c">text</d>"#),
        ("<d\(gainMap)><hdrgm:Gamma><rdf:Seq><rdf:li>1</rdf:li></rdf:Seq></hdrgm:Gamma><x/></d>", "<d><x/></d>"),
        (
            #"<d\#(directory) a:b="c"><C:Directory><li><C:Item Item:Semantic="GainMap"/></li></C:Directory><e:f>1</e:f></d>"#,
            #"<d a:b="c"><e:f>1</e:f></d>"#
        ),
        ("<d\(gainMap)><hdrgm:a><hdrgm:a>1</hdrgm:a></hdrgm:a><hdrgm:b/>2</d>", "<d>2</d>"),
        (
            #"<d xmlns:HDRGainMap="http://ns.apple.com/HDRGainMap/1.0/" HDRGainMap:HDRGainMapVersion="65536" a="1"/>"#,
            #"<d a="1"/>"#
        ),
        (
            #"<d\#(camera) GCamera:MotionPhoto="1" GCamera:MicroVideoOffset="99" GCamera:SpecialTypeID="x"/>"#,
            #"<d\#(camera) GCamera:SpecialTypeID="x"/>"#
        ),
        // The namespace decides, not the prefix.
        (#"<d xmlns:q="http://ns.adobe.com/hdr-gain-map/1.0/" q:Version="1.0" hdrgm:a="1"/>"#, #"<d hdrgm:a="1"/>"#),
        (
            #"<?xpacket begin="<"?><!-- <hdrgm:a> --><d\#(gainMap)/><?xpacket end="w"?>"#,
            #"<?xpacket begin="<"?><!-- <hdrgm:a> --><d/><?xpacket end="w"?>"#
        ),
    ])
    func `are removed from attributes and elements, without other changes`(before: String, after: String) {
        #expect(removing(before) == after)
        #expect(removing(after) == after)
    }

    @Test(arguments: [
        #"<d hdrgm:Version="1.0"/>"#, "<d\(gainMap)><hdrgm:a>1</d>", "<d\(gainMap) hdrgm:Version=\"1", "", "<", "<!--",
        "<d\(gainMap) hdrgm:Version=1/>", "no tags", "<d\(gainMap)><![CDATA[ ",
    ])
    func `stay in a packet without them, or in one that cannot be read`(packet: String) {
        #expect(removing(packet) == packet)
    }

    @Test(.timeLimit(.minutes(40)), arguments: ["<hdrgm:a>", "<a b='", "<!--", "<hdrgm:a/>", " hdrgm:a='1'", "<"])
    func `are searched in linear time`(piece: String) {
        let packet = Array(("<d\(Self.gainMap)>" + String(repeating: piece, count: 200_000)).utf8)
        #expect(XMPFurtherImages.removing(packet).count <= packet.count)
    }
}
