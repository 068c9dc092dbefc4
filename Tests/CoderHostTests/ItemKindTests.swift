import ImageModel
import Testing

@testable import CoderHost

@Suite struct `The kind of an auxiliary image` {
    /// - Source: ISO 21496-1 annex C; Adobe gain map specification 1.0; Apple's auxiliary images; ISO/IEC 23008-12 6.5.8.
    @Test(
        arguments: [
            ("urn:iso:std:iso:ts:21496:-1", true, false), ("http://ns.adobe.com/hdr-gain-map/1.0/", true, false),
            ("urn:com:apple:photo:2020:aux:hdrgainmap", true, false),
            ("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", false, true), ("urn:mpeg:hevc:2015:auxid:1", false, true),
            ("urn:mpeg:hevc:2015:auxid:2", false, false), ("urn:mpeg:mpegB:cicp:systems:auxiliary:depth", false, false),
            (nil, false, false),
        ] as [(String?, Bool, Bool)])
    func `identifies gain maps and alpha`(kind: String?, isGainMap: Bool, isAlpha: Bool) {
        let info = ImageInfo(size: PixelSize(1, 1), nativeFormat: .gray8)
        let item = ImageItem(.auxiliary, info: info, owner: 0, kind: kind)
        #expect(item.isGainMap == isGainMap)
        #expect(item.isAlpha == isAlpha)
    }
}
