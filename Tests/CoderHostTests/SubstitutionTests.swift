import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// A coder that replaces one whose plugin is unusable.
@Suite(.timeLimit(.minutes(40))) struct `A substitute coder` {
    private let folder = TemporaryDirectory()
    private let second = TemporaryDirectory()

    /// A plugin that declares animation without implementing it, so loading fails with a manifest mismatch.
    private static let full = [
        "-DNAME=full", "-DPRIORITY=200", #"-DMANIFEST_ROLES="\"decode\", \"animation\", \"metadata\"""#,
    ]
    private static let plain = ["-DNAME=plain"]

    private func host(full: [String] = full, plain: [String] = plain) throws -> CoderHost {
        try BuiltPlugin.put("claims-formats", full, into: folder, as: "libcoder-full.so")
        try BuiltPlugin.put("claims-formats", plain, into: second, as: "libcoder-plain.so")
        return testHost(folder.path, second.path, state: TemporaryDirectory().path)
    }

    private func quarantine(_ file: String, _ host: CoderHost) throws {
        let record = try #require(host.plugins.first { $0.fileName == file })
        host.quarantine.record(failure: .crash, phase: .load, of: record, try #require(record.contentHash))
    }

    @Test func `warns if it declares less than a quarantined one`() throws {
        let host = try host()
        try quarantine("libcoder-full.so", host)

        let image = try host.manager.decode(badImage)

        #expect(image.coder == "org.example.plain")
        #expect(image.warnings.count == 1)
        let warning = try #require(image.warnings.first)
        #expect(
            warning.hasPrefix(
                "org.example.plain is used instead of org.example.full, without animation, metadata: "
                    + "libcoder-full.so is quarantined: "))
        #expect(warning.contains("coderhost quarantine clear"))
    }

    @Test func `warns every time if it declares less than one that is refused while loading`() throws {
        let host = try host()
        for _ in 0..<2 {
            let image = try host.manager.decode(badImage)
            #expect(image.coder == "org.example.plain")
            #expect(image.warnings.count == 1)
            #expect(image.warnings.first?.contains("without animation, metadata") == true, "\(image.warnings)")
        }
    }

    @Test func `warns if it declares less than one with a missing library`() throws {
        let library = TemporaryDirectory()
        try PluginBuilder.build(
            "bad/absent.c", flags: ["-Wl,-soname,libcoderhost-absent.so.3"], into: library.path,
            named: "libcoderhost-absent.so")
        try PluginBuilder.build(
            "bad/missing-library.c",
            flags: Self.full + ["-L\(library.path)", "-Wl,--no-as-needed", "-lcoderhost-absent"], into: folder.path,
            named: "libcoder-full.so")
        try BuiltPlugin.put("claims-formats", Self.plain, into: second, as: "libcoder-plain.so")
        let host = testHost(folder.path, second.path)

        let image = try host.manager.decode(badImage)

        #expect(host.plugins.first?.status.state == .missingLibrary)
        #expect(image.warnings.contains { $0.contains("libcoder-full.so is missing-library") }, "\(image.warnings)")
    }

    @Test func `warns if it declares less than a newer file of the same id that it shadows`() throws {
        let newer = [
            "-DNAME=plain", #"-DMANIFEST_VERSION="2.0.0""#, #"-DMANIFEST_ROLES="\"decode\", \"animation\"""#,
        ]
        let host = try host(full: Self.plain, plain: newer)

        let image = try host.manager.decode(badImage)

        #expect(host.plugins.map(\.status.state) == [.loaded, .shadowed])
        #expect(image.warnings.contains { $0.contains("libcoder-plain.so is shadowed") }, "\(image.warnings)")
    }

    @Test func `does not warn if it declares as much, or precedes anyway`() throws {
        let same = ["-DNAME=same", "-DPRIORITY=200"]
        let first = try host(full: same)
        try quarantine("libcoder-full.so", first)
        #expect(try first.manager.decode(badImage).warnings.isEmpty)

        let later = ["-DNAME=later", "-DPRIORITY=50", #"-DMANIFEST_ROLES="\"decode\", \"animation\"""#]
        let second = try host(full: later)
        try quarantine("libcoder-full.so", second)
        #expect(try second.manager.decode(badImage).warnings.isEmpty)
    }

    @Test func `warns in place of the AVIF plugin that reads animations`() throws {
        let host = testHost(Repository.products, state: TemporaryDirectory().path)
        try quarantine("libcoder-avif.so", host)

        let image = try host.manager.decode(ImageSource(Fixture.named("avif/sequence-alpha.avif").bytes))

        #expect(image.coder == "org.coderhost.heif-avif")
        #expect(image.warnings.contains { $0.contains("without animation: libcoder-avif.so is quarantined") })
    }
}
