import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Coders manager` {
    /// A folder with a plugin that gives this answer, ranked before a good one.
    private func folder(_ answer: String) throws -> TemporaryDirectory {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put(
            "answers", ["-DNAME=first", "-DPRIORITY=200", "-DANSWER=\(answer)"], into: folder, as: "libcoder-1.so")
        try BuiltPlugin.put("claims-formats", ["-DNAME=second"], into: folder, as: "libcoder-2.so")
        return folder
    }

    @Test(arguments: ["CPI_NOT_MINE", "CPI_UNSUPPORTED"]) func `asks the next coder after`(answer: String) throws {
        let folder = try self.folder(answer)

        let image = try testHost(folder.path).manager.decode(badImage)

        #expect(image.coder == "org.example.second")
        #expect(image.pixels.packed.starts(with: [255, 0, 0]))
    }

    @Test(
        arguments: [
            ("CPI_CORRUPT", .corrupt), ("CPI_TRUNCATED", .truncated), ("CPI_LIMIT", .limitExceeded),
            ("CPI_NO_MEMORY", .outOfMemory), ("CPI_INTERNAL", .pluginFault), ("CPI_CANCELLED", .cancelled),
            ("CPI_DEADLINE", .deadlineExceeded), ("CPI_IO", .inputOutput), ("-9999", .pluginFault),
            ("CPI_NEED_INPUT", .needsInput),
        ] as [(String, CoderError.Code)])
    func `stops at`(answer: String, code: CoderError.Code) throws {
        let folder = try self.folder(answer)
        let manager = testHost(folder.path).manager

        let error = #expect(throws: CoderError.self) { try manager.decode(badImage) }

        #expect(error?.code == code)
        #expect(error?.coder == "org.example.first")
        #expect(error?.attempts == [])
    }

    /// An encoder that fails.
    private struct FailingWriter: ImageCoder {
        let failure: CoderError
        let descriptor = CoderDescriptor(
            id: "org.example.writer", version: "1", tier: .user, roles: [.encode],
            formats: [
                PluginManifest.Format(
                    id: "out", name: "Out", mimeTypes: [], extensions: ["out"], typeIdentifiers: [], signatures: [])
            ])

        func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
            throw .notMine("it only writes")
        }
        func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder { throw failure }
    }

    @Test(arguments: [
        CoderError.unsupported("lightning"), CoderError(.pluginRefused, "it is gone"),
        .limit("pixel count", allowed: 1, requested: 2),
        .invalidArgument("it cannot be"),
    ])
    func `attributes a refusal to the encoder, and asks no other decoder`(failure: CoderError) throws {
        let manager = testHost().manager
        let weaker = ScriptedCoder("weaker", roles: [.decode])
        manager.addCoder(weaker)
        manager.addCoder(ScriptedCoder("reader", roles: [.decode]))
        manager.addCoder(FailingWriter(failure: failure))
        func convert(_ options: CoderOptions) -> CoderError? {
            #expect(throws: CoderError.self) {
                try manager.withSession(badImage) { session throws(CoderError) in
                    let image = DecodedImage(
                        info: session.info, pixels: try session.decodeImage(), metadata: [], format: "bad",
                        coder: "reader")
                    _ = try manager.encode(image, to: "out", options: options)
                }
            }
        }

        let error = convert(CoderOptions())
        var mistyped = CoderOptions()
        mistyped["org.example.nothing"] = .bool(true)

        #expect(error?.code == failure.code && error?.coder == "org.example.writer", "\(String(describing: error))")
        #expect(error?.attempts == [])
        #expect(convert(mistyped)?.coder == "org.example.writer")
        #expect(weaker.sessions == 0)
    }

    @Test func `never asks a weaker coder after damage`() throws {
        let manager = testHost().manager
        let good = ScriptedCoder("good")
        manager.addCoder(good)
        manager.addCoder(ScriptedCoder("strict", failure: .corrupt("crafted", at: 3)))

        let error = #expect(throws: CoderError.self) { try manager.decode(badImage) }

        #expect(error?.code == .corrupt)
        #expect(error?.coder == "strict")
        #expect(error?.inputOffset == 3)
        #expect(good.sessions == 0)
    }

    @Test func `lists the coders asked before the failing one`() throws {
        let manager = testHost().manager
        manager.addCoder(ScriptedCoder("third", failure: .corrupt("broken")))
        manager.addCoder(ScriptedCoder("second", failure: .unsupported("lightning")))
        manager.addCoder(ScriptedCoder("first", failure: .notMine("no idea")))

        let error = #expect(throws: CoderError.self) { try manager.decode(badImage) }

        #expect(error?.coder == "third")
        #expect(error?.attempts == ["first: no idea", "second: lightning is not supported"])
    }

    @Test func `reports unrecognized bytes if every coder passed`() throws {
        let manager = testHost().manager
        manager.addCoder(ScriptedCoder("second", failure: .notMine("no")))
        manager.addCoder(ScriptedCoder("first", failure: .notMine("not me")))

        let error = #expect(throws: CoderError.self) { try manager.decode(badImage) }

        #expect(error?.code == .unrecognizedFormat)
        #expect(error?.attempts == ["first: not me", "second: no"])
    }

    @Test func `skips a plugin that is refused while loading`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("init-fails", ["-DNAME=first", "-DPRIORITY=200"], into: folder, as: "libcoder-1.so")
        try BuiltPlugin.put("claims-formats", ["-DNAME=second"], into: folder, as: "libcoder-2.so")
        let host = testHost(folder.path)

        #expect(try host.manager.decode(badImage).coder == "org.example.second")
        #expect(host.plugins.map(\.status.state) == [.initFailed, .loaded])
    }

    @Test func `lets the next coder write if a plugin is refused`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put(
            "manifest-mismatch", ["-DMISMATCH=2", "-DFORMAT=png", "-DPRIORITY=900"], into: folder,
            as: "libcoder-liar.so")
        folder.write(Array("priority = 900".utf8), to: "org.example.bad-plugin.conf")
        let host = testHost(folder.path, Repository.products, administration: [folder.path])
        let image = try host.manager.decode(ImageSource(Array("P5 1 1 255 ".utf8) + [7]))
        try #require(host.manager.encoders(for: "png").first?.descriptor.id == "org.example.bad")
        let sink = MemorySink()

        let report = try host.manager.encode(image, to: "png", into: sink)

        #expect(report.coder == "org.coderhost.png")
        #expect(sink.bytes.starts(with: [0x89, 0x50]))
        #expect(host.manager.encoders(for: "png").map(\.descriptor.id) == ["org.coderhost.png"])
    }

    // MARK: No coder

    @Test(
        arguments: [
            ("needs-newer", [], "abi-too-new: it needs interface 1.99"),
            ("claims-formats", ["-DABI_MAJOR=0"], "abi-too-old: "),
            ("claims-formats", ["-Dcpi_entry_1=other"], "not-a-plugin: it does not export"),
        ] as [(String, [String], String)])
    func `names the unusable plugin of the format`(source: String, flags: [String], why: String) throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put(source, flags, into: folder, as: "libcoder-x.so")
        let manager = testHost(folder.path).manager
        let image = DecodedImage(
            info: ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgb8),
            pixels: try .of(PixelSize(1, 1), .rgb8, [1]), format: "x", coder: "x")

        for (verb, error) in [
            ("decode", #expect(throws: CoderError.self) { try manager.decode(badImage) }),
            ("write", #expect(throws: CoderError.self) { try manager.encode(image, to: "bad") }),
        ] {
            #expect(error?.code == .noCoder)
            #expect(error?.attempts.count == 1)
            #expect(error?.attempts.first?.hasPrefix("libcoder-x.so could \(verb) it, but is \(why)") == true)
        }
        #expect(!manager.canEncode(to: "bad"))
    }

    @Test func `names the plugin to install`() throws {
        var configuration = HostConfiguration(directories: [], administrationDirectories: [])
        let text =
            #"{"schema":1,"plugin":{"id":"a","version":"1"},"abi":{"major":1,"minor_built":0,"minor_needed":0},"#
            + #""coders":[{"id":"a","roles":["decode"],"formats":[{"id":"bad","name":"Bad","#
            + #""signatures":[{"at":0,"bytes":"42414421"}]}]}]}"#
        let manifest = try PluginManifest(json: Array(text.utf8))
        configuration.catalogue = { [.init(file: "libcoder-bad.so", manifest: manifest)] }

        let error = #expect(throws: CoderError.self) {
            try CoderHost(configuration: configuration).manager.decode(badImage)
        }

        #expect(error?.code == .noCoder)
        #expect(error?.message == "no installed plugin decodes Bad")
        #expect(error?.hint?.contains("libcoder-bad.so") == true)
    }

    @Test func `names the searched folders if they are empty`() throws {
        let empty = TemporaryDirectory()
        let error = #expect(throws: CoderError.self) {
            try testHost(empty.path, "/nonexistent/folder").manager.decode(badImage)
        }

        #expect(error?.code == .unrecognizedFormat)
        #expect(error?.message.hasSuffix("there are no plugins") == true)
        #expect(error?.hint?.contains("CODERHOST_PLUGIN_PATH") == true)
        #expect(error?.hint?.hasSuffix("searched: \(empty.path), /nonexistent/folder") == true)
    }

    @Test func `does not name folders if there is a plugin`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", into: folder)

        let error = #expect(throws: CoderError.self) {
            try testHost(folder.path).manager.decode(ImageSource(Array("something else".utf8)))
        }

        #expect(error?.message == "no installed coder recognizes these bytes")
        #expect(error?.hint?.contains(folder.path) == false)
    }

    @Test func `works without a folder`() throws {
        let manager = testHost("/nonexistent/folder").manager

        let image = try manager.decode(ImageSource(Array("P5 1 1 255 ".utf8) + [7]))

        #expect(image.pixels.packed == [7])
        #expect(manager.format(ofExtension: "PGM") == "pgm")
        #expect(manager.fileExtension(of: "pam") == "pam")
        #expect(manager.fileExtension(of: "nothing") == "nothing")
    }

    // MARK: Encoding

    @Test(arguments: [(true, "png", [0x89, 0x50]), (false, "jpeg", [0xFF, 0xD8])] as [(Bool, String, [UInt8])])
    func `chooses a format if the caller names none`(hasAlpha: Bool, format: String, start: [UInt8]) throws {
        let manager = testHost(Repository.products).manager
        let pixelFormat: PixelFormat = hasAlpha ? .rgba8 : .rgb8
        let size = PixelSize(3, 2)
        let image = DecodedImage(
            info: ImageInfo(size: size, nativeFormat: pixelFormat),
            pixels: try .of(size, pixelFormat, [9, 8, 7, 6, 5]),
            format: "x", coder: "x")

        #expect(manager.defaultFormat(animated: false, alpha: hasAlpha) == ImageFormat(format))
        let bytes = try manager.encode(image)

        #expect(bytes.starts(with: start))
        #expect(manager.canEncode(to: nil))
        #expect(try manager.decode(ImageSource(bytes)).info.size == size)
    }

    @Test func `lists the formats that can be written`() throws {
        let image = try testHost().manager.decode(ImageSource(Array("P5 1 1 255 ".utf8) + [7]))

        let error = #expect(throws: CoderError.self) { try testHost().manager.encode(image, to: "jpeg") }

        #expect(error?.code == .noCoder)
        #expect(error?.hint == "available formats: pam, pbm, pgm, pnm, ppm")
    }

    @Test func `uses an added coder for decoding and encoding`() throws {
        let manager = testHost().manager
        manager.addCoder(ScriptedCoder("mine"))

        let image = try manager.decode(badImage)
        let bytes = try manager.encode(image, to: "bad")

        #expect(image.coder == "mine")
        #expect(image.pixels.packed == [1, 2, 3, 4])
        #expect(bytes == Array("BAD!".utf8) + [1, 2, 3, 4])
        manager.removeCoder("mine")
        #expect(!manager.canDecode(badImage))
        #expect(!manager.canEncode(to: "bad"))
    }

    // MARK: Many threads

    @Test func `may change while other threads decode`() async throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", into: folder)
        let host = testHost(folder.path, follows: true)
        let manager = host.manager

        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        if worker % 2 == 0 {
                            manager.addCoder(ScriptedCoder("coder \(worker)"))
                            if round % 2 == 0 { manager.removeCoder("coder \(worker)") }
                        }
                        let image = try manager.decode(badImage)
                        let expected: [UInt8] = image.coder == "org.example.bad" ? [255, 0, 0] : [1, 2, 3]
                        #expect(image.pixels.packed.starts(with: expected))
                        _ = manager.coders.count + host.plugins.count
                    }
                }
            }
            try await group.waitForAll()
        }

        for worker in 0..<8 { manager.removeCoder("coder \(worker)") }
        #expect(try manager.decode(badImage).coder == "org.example.bad")
    }

    @Test func `initializes a plugin once for concurrent first sessions`() async throws {
        let folder = TemporaryDirectory()
        let counter = folder.file("inits")
        try BuiltPlugin.put("claims-formats", into: folder)
        folder.write(
            Array(
                """
                #include <coder_plugin.h>
                #define INIT init
                static cpi_status init(cpi_error *error);
                #include "\(Repository.root)/Tests/ThirdParty/bad/plugin.h"
                static cpi_status init(cpi_error *error) {
                    (void)error;
                    FILE *file = fopen("\(counter)", "a");
                    if (file) { fputc('x', file); fclose(file); }
                    return CPI_OK;
                }

                """.utf8), to: "counts.c")
        let built = try run([
            "cc", "-shared", "-fPIC", "-I\(PluginBuilder.headers)", folder.file("counts.c"), "-DNAME=counts",
            "-DPRIORITY=900", "-o", folder.file("libcoder-counts.so"),
        ])
        try #require(built.status == 0, "\(built.stderr)")
        let hosts = [testHost(folder.path), testHost(folder.path)]

        try await withThrowingTaskGroup(of: String.self) { group in
            for worker in 0..<16 { group.addTask { try hosts[worker % 2].manager.decode(badImage).coder } }
            for try await coder in group { #expect(coder == "org.example.counts") }
        }

        #expect(readFile(counter) == Array("x".utf8))
    }
}
