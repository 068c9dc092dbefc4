import CoderHost
import ImageModel
import PluginCatalogue
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The default format` {
    /// A host whose only plugins are these bundled ones.
    private func host(_ plugins: String...) throws -> (host: CoderHost, folder: TemporaryDirectory) {
        let folder = TemporaryDirectory()
        for plugin in plugins {
            let file = "libcoder-\(plugin).so"
            folder.write(try #require(readFile("\(Repository.products)/\(file)")), to: file)
        }
        return (testHost(folder.path), folder)
    }

    private func image(_ format: PixelFormat) throws -> DecodedImage {
        let size = PixelSize(3, 2)
        return DecodedImage(
            info: ImageInfo(size: size, nativeFormat: format), pixels: try .of(size, format, [9, 8, 7, 6, 5]),
            format: "x", coder: "x")
    }

    @Test(arguments: [(false, true, "png"), (false, false, "jpeg"), (true, true, "gif"), (true, false, "gif")])
    func `of the bundled plugins is the usual one`(animated: Bool, alpha: Bool, format: String) {
        let manager = testHost(Repository.products).manager

        #expect(manager.defaultFormat(animated: animated, alpha: alpha) == ImageFormat(format))
    }

    @Test(arguments: [true, false]) func `is one that an installed coder writes`(alpha: Bool) throws {
        let (farbfeld, first) = try host("farbfeld")
        let (webp, second) = try host("farbfeld", "webp")
        let (jpeg, third) = try host("farbfeld", "jpeg")
        defer { withExtendedLifetime((first, second, third)) {} }

        #expect(farbfeld.manager.defaultFormat(animated: false, alpha: alpha) == "farbfeld")
        #expect(webp.manager.defaultFormat(animated: false, alpha: alpha) == "webp")
        // JPEG cannot store alpha.
        #expect(jpeg.manager.defaultFormat(animated: false, alpha: alpha) == (alpha ? "farbfeld" : "jpeg"))
        let bytes = try farbfeld.manager.encode(image(alpha ? .rgba8 : .rgb8))
        #expect(bytes.starts(with: Array("farbfeld".utf8)))
    }

    @Test func `of a host without plugins is its own`() throws {
        let manager = testHost().manager

        let bytes = try manager.encode(image(.rgba8))

        #expect(bytes.starts(with: Array("P7".utf8)))
        #expect(manager.defaultFormat(animated: true, alpha: false) == nil)
        #expect(manager.canEncode(to: nil))
    }

    @Test func `for animations is one in which a coder writes animations`() throws {
        let (host, folder) = try host("png", "webp", "awebp", "apng")
        defer { withExtendedLifetime(folder) {} }

        #expect(host.manager.defaultFormat(animated: true, alpha: true) == "apng")
    }

    @Test func `of the configuration precedes the coders`() {
        var configuration = HostConfiguration(
            directories: [.init(Repository.products, origin: .argument)], trustPolicy: .owned, stateDirectory: nil)
        configuration.defaultAlphaFormat = "webp"
        configuration.defaultOpaqueFormat = "avif"
        let manager = CoderHost(configuration: configuration).manager

        #expect(manager.defaultFormat(animated: false, alpha: true) == "webp")
        #expect(manager.defaultFormat(animated: false, alpha: false) == "avif")
        #expect(manager.defaultFormat(animated: true, alpha: false) == "gif")
    }

    @Test func `is not taken over by a coder that declares nothing`() {
        let manager = testHost(Repository.products).manager
        manager.addCoder(ScriptedCoder("mine", priority: 900, roles: [.encode, .encodeAnimation]))

        #expect(manager.defaultFormat(animated: false, alpha: true) == "png")
        #expect(manager.defaultFormat(animated: true, alpha: true) == "gif")
    }

    @Test func `is that of a coder without declaration before one of the host`() {
        let manager = testHost().manager
        manager.addCoder(ScriptedCoder("mine", roles: [.encode, .encodeAnimation]))

        #expect(manager.defaultFormat(animated: false, alpha: false) == "bad")
        #expect(manager.defaultFormat(animated: true, alpha: false) == "bad")
    }

    // MARK: Stills and animations

    @Test(arguments: [("apng", "PNG", "png"), ("awebp", "WebP", "webp")])
    func `a coder of animations writes no stills that another plugin would read`(
        plugin: String, room: String, format: String
    ) throws {
        let (_, folder) = try host(plugin)
        var configuration = HostConfiguration(
            directories: [.init(folder.path, origin: .argument)], trustPolicy: .owned, stateDirectory: nil)
        let text = try #require(readFile("\(Repository.root)/Plugins/\(room)/Plugin/manifest.json"))
        let missing = KnownPlugin(file: "libcoder-\(format).so", manifest: try PluginManifest(json: text))
        configuration.catalogue = { [missing] }
        let (manager, format) = (CoderHost(configuration: configuration).manager, ImageFormat(format))

        #expect(!manager.canEncode(to: format))
        #expect(manager.writes(format))
        #expect(manager.format(named: format.id) == format)
        let error = #expect(throws: CoderError.self) { try manager.encode(image(.rgba8), to: format) }
        #expect(error?.code == .noCoder)
        #expect(error?.message == "no usable coder writes stills as \(format)")
        #expect(error?.hint == "formats for stills: pam, pbm, pgm, pnm, ppm")
        #expect(manager.defaultFormat(animated: false, alpha: true) == "pam")
    }

    @Test func `a coder of animations writes no stills of a disabled plugin`() throws {
        let (_, folder) = try host("apng", "png")
        folder.write(Array("enabled = no".utf8), to: "org.coderhost.png-plugin.conf")
        let manager = testHost(folder.path, administration: [folder.path]).manager

        let error = #expect(throws: CoderError.self) { try manager.encode(image(.rgba8), to: "png") }

        #expect(error?.code == .noCoder)
        #expect(error?.attempts.first?.contains("libcoder-png.so could write it, but is disabled") == true)
    }

    @Test func `a coder of animations writes stills of its own format`() throws {
        let (host, folder) = try host("apng", "png")
        defer { withExtendedLifetime(folder) {} }

        let bytes = try host.manager.encode(image(.rgba8), to: "apng")

        #expect(try host.manager.decode(ImageSource(bytes)).info.size == PixelSize(3, 2))
    }
}
