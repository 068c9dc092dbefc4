import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Libraries of plugins` {
    @Test func `are named when they are missing`() throws {
        let folder = TemporaryDirectory()
        try PluginBuilder.buildMissingLibrary(into: folder.path)
        let host = testHost(folder.path)

        let status = try #require(host.plugins.first).status
        let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }

        #expect(status.state == .missingLibrary)
        #expect(status.reason == "libcoderhost-absent.so.3 not found")
        #expect(status.remedy == "install the package that contains libcoderhost-absent.so.3")
        #expect(error?.code == .noCoder)
        #expect(
            error?.attempts == [
                "libcoder-missing-library.so could decode it, but is missing-library: \(status.reason)"
            ])
    }

    @Test func `are named when one of their libraries is missing`() throws {
        let folder = TemporaryDirectory()
        try buildWithLibrary("lost", into: folder)
        try shell("rm", folder.file("libcoderhost-lost.so.3"))

        let status = try #require(testHost(folder.path).plugins.first).status

        #expect(status.state == .missingLibrary)
        #expect(status.reason == "libcoderhost-lost.so.3 (needed by libcoderhost-above-lost.so) not found")
    }

    @Test func `are found beside the plugin`() throws {
        let folder = TemporaryDirectory()
        try buildWithLibrary("found", into: folder)
        let host = testHost(folder.path)

        #expect(host.plugins.map(\.status.state) == [.ready])
        #expect(try host.manager.decode(badImage).pixels.packed.starts(with: [255, 0, 0]))
    }

    /// Builds a plugin that needs a library that needs `name`, all in one folder; loaded libraries count as found.
    private func buildWithLibrary(_ name: String, into folder: TemporaryDirectory) throws {
        folder.write(Array("int absent_answer(void) { return 42; }".utf8), to: "absent.c")
        folder.write(
            Array("int absent_answer(void); int between(void) { return absent_answer(); }".utf8), to: "between.c")
        let beside = ["-L\(folder.path)", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN"]
        let shared = ["cc", "-shared", "-fPIC"]
        for words in [
            shared + [folder.file("absent.c"), "-Wl,-soname,libcoderhost-\(name).so.3"]
                + ["-o", folder.file("libcoderhost-\(name).so.3")],
            shared + [folder.file("between.c")] + beside + ["-l:libcoderhost-\(name).so.3"]
                + ["-o", folder.file("libcoderhost-above-\(name).so")],
        ] {
            let result = try run(words)
            try #require(result.status == 0, "\(result.stderr)")
        }
        try PluginBuilder.build(
            "bad/claims-formats.c", flags: beside + ["-l:libcoderhost-above-\(name).so"], into: folder.path)
    }
}
