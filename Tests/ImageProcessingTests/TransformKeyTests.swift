import ImageModel
import ImageProcessing
import Testing

@Suite struct `Keys of transformers` {
    // T-10
    @Test(arguments: [
        ("image.png", "image-K.png"),
        ("image", "image-K"),
        (".image", ".image-K"),
        ("image.", "image.-K"),
        ("Test/image.png", "Test/image-K.png"),
        ("http://foo/image.png", "http://foo/image-K.png"),
        ("http://foo/image", "http://foo/image-K"),
        ("http://foo/.image", "http://foo/.image-K"),
        ("http://foo/image.png?foo=bar#mark", "http://foo/image-K.png?foo=bar#mark"),
        ("ftp://root:password@foo.com/image.png", "ftp://root:password@foo.com/image-K.png"),
    ])
    func `precede the extension of a path`(key: String, expected: String) {
        #expect(transformedKey(key, "K") == expected)
    }

    @Test(arguments: [
        ("", "-K"),
        ("http://foo.com", "http://foo.com/-K"),
        ("http://foo.com?a=b.c", "http://foo.com/-K?a=b.c"),
        ("http://foo.com/", "http://foo.com/-K"),
        ("file:///a.b/c", "file:///a.b/c-K"),
        ("http://foo/a.png#x?y.z", "http://foo/a-K.png#x?y.z"),
        ("a.b/c", "a.b/c-K"),
        ("a.tar.gz", "a.tar-K.gz"),
        ("ö/é.png", "ö/é-K.png"),
        ("1x://a.png", "1x://a-K.png"),
        ("a.p ng", "a.p ng-K"),
    ])
    func `find the path in any key`(key: String, expected: String) {
        #expect(transformedKey(key, "K") == expected)
    }

    @Test func `name the thumbnail first and the transformer second`() {
        let thumbnail = thumbnailKey("http://foo/image.png?a", PixelSize(100, 50), preservesAspectRatio: true)
        #expect(thumbnail == "http://foo/image-Thumbnail(100x50,aspect).png?a")
        #expect(
            transformedKey(thumbnail, Blur(radius: 2.5).key)
                == "http://foo/image-Thumbnail(100x50,aspect)-Blur(2.5).png?a")
        #expect(thumbnailKey("image", PixelSize(1, 2), preservesAspectRatio: false) == "image-Thumbnail(1x2,stretch)")
        #expect(transformedKey(transformedKey("image", Blur(radius: 2.5).key), "K") == "image-Blur(2.5)-K")
    }

    static let color = RGBAColor(red: 255, green: 10, blue: 0, alpha: 128)

    @Test(
        arguments: [
            (RoundCorners(radius: 50), "RoundCorners(50,all,0,000000ff)"),
            (
                RoundCorners(radius: 7.25, corners: [.topLeft, .bottomRight], borderWidth: 1, borderColor: color),
                "RoundCorners(7.25,tl+br,1,ff0a0080)"
            ),
            (RoundCorners(radius: 1, corners: []), "RoundCorners(1,none,0,000000ff)"),
            (Resizing(PixelSize(200, 100)), "Resizing(200x100,fill)"),
            (Resizing(PixelSize(1, 2), .contain), "Resizing(1x2,contain)"),
            (Resizing(PixelSize(1, 2), .cover), "Resizing(1x2,cover)"),
            (Resizing(PixelSize(1, 2), .inside), "Resizing(1x2,inside)"),
            (Cropping(PixelRect(x: 50, y: -10, width: 200, height: 100)), "Cropping(200x100+50+-10)"),
            (Flipping(), "Flipping()"),
            (Flipping(horizontal: true), "Flipping(h)"),
            (Flipping(vertical: true), "Flipping(v)"),
            (Flipping(horizontal: true, vertical: true), "Flipping(hv)"),
            (Rotation(radians: .pi / 4), "Rotation(0.7853981633974483,fit)"),
            (Rotation(radians: -1, fitsSize: false), "Rotation(-1,keep)"),
            (Tint(color), "Tint(ff0a0080,sourceIn)"),
            (Tint(color, blendMode: .colorBurn), "Tint(ff0a0080,colorBurn)"),
            (Blur(radius: 25), "Blur(25)"),
            (Blur(radius: 0.1), "Blur(0.1)"),
            (Blur(radius: 1e-7), "Blur(1e-07)"),
            (Blur(radius: -0.0), "Blur(0)"),
            (ColorFilter.invert, "ColorFilter(invert)"),
            (ColorFilter.invertLight, "ColorFilter(invertLight)"),
            (ColorFilter.grayscale, "ColorFilter(grayscale)"),
            (ColorFilter.sepia(0.5), "ColorFilter(sepia,0.5)"),
            (ColorFilter.adjust(brightness: 0.1, contrast: 1.2), "ColorFilter(adjust,0.1,1.2,1)"),
            (ColorFilter.exposure(-1), "ColorFilter(exposure,-1)"),
            (Pipeline(Blur(radius: 1), ColorFilter.invert), "Blur(1)-ColorFilter(invert)"),
            (Pipeline(), ""),
        ] as [(any ImageTransformer, String)])
    func `never change`(transformer: any ImageTransformer, key: String) {
        #expect(transformer.key == key)
    }

    @Test func `are equal for equal pipelines alone`() {
        #expect(Pipeline(Blur(radius: 1), Flipping()).key == Pipeline([Blur(radius: 1), Flipping()]).key)
        #expect(Pipeline(Blur(radius: 1)).key != Pipeline(Blur(radius: 2)).key)
    }
}
