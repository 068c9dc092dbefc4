import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import ImageLoading

@Suite struct `Cache keys` {
    private func key(_ url: String = "http://foo/image.png", _ change: (inout LoadOptions) -> Void) -> String {
        var options = LoadOptions()
        change(&options)
        return CacheKey(original: url, options).result
    }

    private struct Named: ImageTransformer {
        var key: String
        func outputSize(for size: PixelSize) -> PixelSize { size }
        func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer { buffer }
    }

    // MARK: Completeness

    /// Every field of the decode options with a change; nil for a field that is not part of the key.
    ///
    /// Rationale: if a field changes pixels and is missing in the key, a cache returns the wrong image. A new option
    /// makes these tests fail until it is added here and, if it changes pixels, in `LoadOptions.decodeVariant`.
    private static let decodeFields: [String: (@Sendable (inout DecodeOptions) -> Void)?] = [
        "size": { $0.size = .box(PixelSize(10, 20)) },
        "part": { $0.region = PixelRect(x: 1, y: 2, width: 3, height: 4) },
        "cropPosition": { $0.cropPosition = .entropy },
        "resampling": { $0.resampling.filter = .box },
        "usesEmbeddedThumbnail": { $0.usesEmbeddedThumbnail = false },
        "appliesOrientation": { $0.appliesOrientation = true },
        "colors": { $0.colors = .sRGB },
        "firstFrameOnly": { $0.firstFrameOnly = true },
        "hint": { $0.hint.type = "image/tiff" },
        "coder": { $0.coder["png.gamma"] = .real(2.2) },
    ]

    private static let loadFields: [String: (@Sendable (inout LoadOptions) -> Void)?] = [
        "decode": { $0.decode.size = .limited(toBytes: 1) },
        "parts.coder": { $0.parts.coder = "org.coderhost.png" },
        "kind": { $0.kind = .animated },
        // Tests below cover the defaults of the next two.
        "transformer": nil, "animation.transformsFrames": nil,
        // They are part of the file's key; see the tests for it.
        "request.headers": nil, "request.credential": nil, "request.handlesCookies": nil,
        "request.allowsInvalidCertificates": nil,
        // Only its options that change the image on disk count.
        "cache.encode": { $0.cache.encode.maxPixelSize = PixelSize(1, 1) },
        // These options do not change pixels, or only where they come from, where they go, and when.
        "scaleFactor": nil, "animation.preloadsFrames": nil, "priority": nil, "previewPolicy": nil,
        "cache.results": nil, "cache.originals": nil, "cache.usesLoader": nil, "cache.freshness": nil,
        "cache.returnsDataOfMemoryHits": nil, "cache.waitsForStore": nil, "cache.format": nil,
        "request.modifier": nil, "request.responseModifier": nil, "request.decryptor": nil,
        "request.alternatives": nil, "request.retriesFailed": nil, "request.minimumProgressInterval": nil,
        "parts.cache": nil, "parts.originalCache": nil, "parts.loader": nil, "parts.keyFilter": nil,
        "parts.serializer": nil, "parts.userInfo": nil,
    ]

    /// The fields of the options; those of a group have its name in front.
    private func loadFields() -> Set<String> {
        let options = LoadOptions()
        let groups: [String: Any] = [
            "animation": options.animation, "cache": options.cache, "request": options.request, "parts": options.parts,
        ]
        let names = groups.flatMap { group, value in fields(of: value).map { "\(group).\($0)" } }
        return fields(of: options).subtracting(groups.keys).union(names)
    }

    private func fields(of value: Any) -> Set<String> { Set(Mirror(reflecting: value).children.compactMap(\.label)) }

    private func fileKey(_ url: String, _ change: (inout LoadOptions) -> Void = { _ in }) -> String {
        var options = LoadOptions()
        change(&options)
        return CacheKey(ImageRequest(url, options)).original
    }

    @Test func `include credentials and header fields of the request as a digest only`() {
        let url = "https://example.org/cat@2x.jpg"
        let keys = [
            fileKey(url), fileKey(url) { $0.request.headers = ["Authorization": "alice"] },
            fileKey(url) { $0.request.headers = ["Authorization": "bob"] },
            fileKey(url) { $0.request.headers = ["Accept": "alice"] },
            fileKey(url) { $0.request.headers = ["A": "b", "Authorization": "alice"] },
            fileKey(url) { $0.request.credential = Credential(user: "alice", password: "x") },
            fileKey(url) { $0.request.handlesCookies = true },
            fileKey(url) { $0.request.allowsInvalidCertificates = true },
        ]
        #expect(keys[0] == url && Set(keys).count == keys.count)
        #expect(!keys.contains { $0.contains("alice") })
        #expect(keys.allSatisfy { scaleFactor(ofKey: $0) == 2 && EntryName(key: $0).files[0].hasSuffix(".jpg") })
        #expect(fileKey(url) { $0.request.headers = ["aUTHORIZATION": "bob"] } == keys[2])
        #expect(fileKey(url) { ($0.request.headers, $0.parts.keyFilter) = (["A": "b"], { _ in "own" }) } == "own")
    }

    @Test(arguments: [
        ("http://h/a.png#part", "http://h/a.png"), ("HTTPS://h/a?x#", "HTTPS://h/a?x"), ("data:,a#b", "data:,a#b"),
        ("http://h/a.png", "http://h/a.png"), ("name#1", "name#1"), ("httpicons:a#1", "httpicons:a#1"),
        ("https://h/cat-Thumbnail(5x5,aspect).jpg", "https://h/cat-Thumbnail(5x5,aspect).jpg#File"),
    ])
    func `leave out the fragment of a URL`(url: String, key: String) { #expect(fileKey(url) == key) }

    @Test func `know every field of the options`() {
        #expect(fields(of: DecodeOptions()) == Set(Self.decodeFields.keys))
        #expect(loadFields() == Set(Self.loadFields.keys))
        #expect(fields(of: Resampling()) == ["filter", "linearLight"])
    }

    @Test func `are different for every field that changes pixels`() {
        var keys: [String] = []
        for case let change? in Self.decodeFields.values { keys.append(key { change(&$0.decode) }) }
        for case let change? in Self.loadFields.values { keys.append(key { change(&$0) }) }
        keys.append(key { $0.decode.resampling.linearLight = true })
        keys.append(key { $0.decode.colors = .standardRange })
        keys.append(key { $0.decode.hint.fileExtension = "nef" })
        keys.append(key { $0.decode.size = .limited(toBytes: 1000) })
        keys.append(key { $0.decode.size = .scaled(by: 0.5) })
        keys.append(key { $0.decode.part = .aspect(width: 16, height: 9) })
        keys.append(key { $0.decode.part = .size(PixelSize(16, 9)) })
        for fit in Fit.allCases {
            keys.append(key { $0.decode.size = .box(PixelSize(10, 10), fit) })
            keys.append(key { $0.decode.size = .box(PixelSize(10, 10), fit, enlarging: !fit.enlarges) })
        }

        #expect(Set(keys).count == keys.count)
        #expect(!keys.contains("http://foo/image.png"))
    }

    @Test func `equal the key of the file for default options`() {
        let plain = CacheKey(original: "http://foo/image.png", LoadOptions())
        #expect(plain.result == "http://foo/image.png" && plain.decoded == plain.original && plain.isOriginal)
        #expect(key { $0.decode = .thumbnail(.zero) } == "http://foo/image.png")
        #expect(key { $0.scaleFactor = 2 } == "http://foo/image.png")
        #expect(key { $0.animation.preloadsFrames = true } == "http://foo/image.png")
        #expect(key { $0.animation.transformsFrames = true } == "http://foo/image.png")
    }

    @Test func `are equal only for equal options, over random options`() {
        var random = SeededRandom(7)
        func some() -> DecodeOptions {
            var options = DecodeOptions()
            let number = Int.random(in: 1...2, using: &random)
            let fit = Fit.allCases.randomElement(using: &random)!
            let box = DecodedSize.box(PixelSize(10, number), fit, enlarging: Bool.random(using: &random))
            options.size = [.full, .limited(toBytes: number), box].randomElement(using: &random)!
            options.resampling.filter = ResamplingFilter.allCases.randomElement(using: &random)!
            options.resampling.linearLight = Bool.random(using: &random)
            options.usesEmbeddedThumbnail = Bool.random(using: &random)
            options.appliesOrientation = Bool.random(using: &random)
            options.colors = [.stored, .sRGB, .standardRange].randomElement(using: &random)!
            options.firstFrameOnly = Bool.random(using: &random)
            options.hint.type = [nil, "", "a", "a,b", "a)"].randomElement(using: &random)!
            options.hint.fileExtension = [nil, "", "a", "b"].randomElement(using: &random)!
            for name in ["a", "b"] where Bool.random(using: &random) {
                options.coder[name] = .integer(Int64.random(in: 0...1, using: &random))
            }
            return options
        }
        let all = (0..<3000).map { _ in some() }
        var known: [String: DecodeOptions] = [:]
        for options in all {
            let key = key { $0.decode = options }
            if let former = known[key], former != options { Issue.record("\(key): \(former), \(options)") }
            known[key] = options
        }
        #expect(known.count == Set(all).count)
    }

    @Test func `are different for ten sizes of one image`() {
        let keys = (490...499).map { side in key { $0.decode = .thumbnail(PixelSize(side, side)) } }
        #expect(Set(keys).count == 10)
        #expect(keys[0] == "http://foo/image-Thumbnail(490x490,aspect).png")
    }

    // MARK: Options of a coder

    @Test func `distinguish types and values of a coder's options`() {
        let values: [OptionValue] = [
            .bool(true), .bool(false), .integer(1), .integer(0), .integer(-1), .real(1), .real(0), .real(-0.0),
            .real(0.1), .real(.infinity), .real(.nan), .real(.leastNonzeroMagnitude), .string("1"), .string("true"),
            .string(""), .string("b1"), .bytes([]), .bytes([1]), .bytes([0, 1]),
            .bytes([UInt8](repeating: 7, count: 40)),
            .bytes([UInt8](repeating: 7, count: 41)), .bytes([UInt8](repeating: 8, count: 40)),
        ]

        let keys = values.map { value in key { $0.decode.coder["x"] = value } }

        #expect(Set(keys).count == values.count)
    }

    @Test func `do not depend on the order in which options were set`() {
        var first = CoderOptions()
        var second = CoderOptions()
        for number in 0..<50 {
            first["k\(number)"] = .integer(1)
            second["k\(49 - number)"] = .integer(1)
        }
        #expect(key { $0.decode.coder = first } == key { $0.decode.coder = second })
    }

    @Test(arguments: ["/", "?", "#", ",", ")", "(", ":", "=", ".", "%", "_", "-", " ", "é", "://", "\0", "\n"])
    func `escape special characters in values`(_ mark: String) {
        // Unescaped, the value of one option could look like two options, or end the path.
        let one = key { $0.decode.coder = ["a": .string("x\(mark)b:s1")] }
        let two = key { $0.decode.coder = ["a": .string("x"), "b": .string("1")] }
        let name = key { $0.decode.coder = ["a\(mark)": .string("x")] }
        let type = key { $0.decode.hint.type = "x\(mark)y" }
        let forced = key { $0.parts.coder = "x\(mark)y" }

        #expect(Set([one, two, name, type, forced]).count == 5)
        for key in [one, name, type, forced] {
            #expect(transformedKey(key, "K") == String(key.dropLast(4)) + "-K.png")
        }
    }

    @Test func `stay short for long option values`() {
        let long = String(repeating: "x/", count: 100_000)
        let first = key { $0.decode.coder = ["a": .string(long)] }
        let second = key { $0.decode.coder = ["a": .string(long + "y")] }
        #expect(first != second && first.utf8.count < 200)
    }

    // MARK: Transformers

    @Test func `contain the thumbnail first and the transformer last`() {
        var options = LoadOptions()
        options.decode = .thumbnail(PixelSize(100, 50), .fill)
        options.decode.appliesOrientation = true

        let url = "http://u:p@foo/a.b/image.png?foo=bar#mark"
        let key = CacheKey(original: url, options, transformer: Blur(radius: 2.5))

        #expect(key.original == url)
        #expect(
            key.decoded == "http://u:p@foo/a.b/image-Thumbnail(100x50,stretch)-Decode(upright).png?foo=bar#mark")
        #expect(
            key.result
                == "http://u:p@foo/a.b/image-Thumbnail(100x50,stretch)-Decode(upright)-Blur(2.5).png?foo=bar#mark")
    }

    @Test(arguments: [
        ("image.png", "image-K.png"), ("image", "image-K"), (".image", ".image-K"), ("image.", "image.-K"),
        ("Test/image.png", "Test/image-K.png"), ("http://foo/image.png", "http://foo/image-K.png"),
        ("http://foo/image", "http://foo/image-K"), ("http://foo/.image", "http://foo/.image-K"),
        ("http://foo/image.png?foo=bar#mark", "http://foo/image-K.png?foo=bar#mark"),
        ("ftp://root:password@foo.com/image.png", "ftp://root:password@foo.com/image-K.png"),
    ]) func `insert the transformer's key before the extension (T-10)`(_ original: String, _ result: String) {
        #expect(CacheKey(original: original, LoadOptions(), transformer: Named(key: "K")).result == result)
    }

    @Test func `distinguish transformed animations from unchanged ones`() {
        var options = LoadOptions()
        let still = CacheKey(original: "a.gif", options, transformer: Named(key: "K")).result
        options.animation.transformsFrames = true
        let frames = CacheKey(original: "a.gif", options, transformer: Named(key: "K")).result
        #expect(still == "a-K.gif" && still != frames)
    }

    @Test func `prefer transformer and filter of the options to those of the manager`() {
        var request = ImageRequest("http://foo/image.png")
        let filter: CacheKeyFilter = { _ in "manager.png" }
        let own = Named(key: "K")

        #expect(CacheKey(request, filter: filter, transformer: own).result == "manager-K.png")
        request.options.parts.keyFilter = { $0 + "?own" }
        #expect(CacheKey(request, filter: filter, transformer: own).original == "http://foo/image.png?own")
        request.options.transformer = .none
        #expect(CacheKey(request, filter: filter, transformer: own).isOriginal)
        request.options.transformer = .custom(Named(key: "Own"))
        #expect(CacheKey(request, transformer: own).result == "http://foo/image-Own.png?own")
    }

    @Test func `are equal for both ways to request the first frame of an animation`() {
        let first = key { $0.decode.firstFrameOnly = true }
        #expect(key { $0.kind = .still } == first)
        let both = key {
            $0.kind = .still
            $0.decode.firstFrameOnly = true
        }
        #expect(both == first)
        let animated = key {
            $0.kind = .animated
            $0.decode.firstFrameOnly = true
        }
        #expect(animated != first && animated != key { $0.kind = .animated })
    }
}

@Suite struct `Scale factor of a key` {
    @Test(arguments: [
        ("test@2x.gif", 2), ("a@2x.png", 2), ("a@3x.png", 3), ("@2x.jpeg", 2), ("Test/image@1.5x.png", 1.5),
        ("image@12.125x.png", 12.125), ("http://foo/image@2x.png", 2), ("http://foo/image%402x.png", 2),
        ("https://foo/image%401.5x.png?a=b#c", 1.5), ("http://foo/a@2x.dir/image@3x.png", 3),
        ("image@2x.min.png", 2), ("a@2x.b@3x.png", 3), ("file:///a%402x.png", 2), ("faces/anna@2x.png?v=2", 2),
    ]) func `is the number after the at sign (U-05)`(_ key: String, _ factor: Double) {
        #expect(scaleFactor(ofKey: key) == factor)
    }

    @Test(arguments: [
        // Seven characters are too short for a name, a mark and an extension.
        "@2x.png", "a@2x.gi", "", "image.png", "imagex.png", "image2x.png", "image@x.png", "image@2x", "image@2xpng",
        "image@-2x.png", "image@2.x.png", "image@.5x.png", "image@1.2.3x.png", "image@0x.png", "image@0.5x.png",
        "image@ 2x.png", "image@1e3x.png", "image@123456789x.png", "image@2X.png", "image%402x.png",
        "http://foo@2x.com/image.png", "http://a@2x.b", "http://user@2x.foo/image.png",
        "http://foo/image.png?name=a@2x.png", "http://foo/image.png#a@2x.png", "http://foo/a@2x.dir/image.png",
        "data:text/plain,a@2x.png", "://image@x.png",
    ]) func `is 1 without a valid mark`(_ key: String) {
        #expect(scaleFactor(ofKey: key) == 1)
    }

    @Test func `is overridden by the options`() {
        var options = LoadOptions()
        #expect(options.scaleFactor(ofKey: "image@2x.png") == 2)
        options.scaleFactor = 1
        #expect(options.scaleFactor(ofKey: "image@2x.png") == 1)
        options.scaleFactor = 0.5
        #expect(options.scaleFactor(ofKey: "image@2x.png") == 1)
        options.scaleFactor = .nan
        #expect(options.scaleFactor(ofKey: "image@2x.png") == 1)
    }
}
