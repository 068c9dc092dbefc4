import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Manifest note` {
    /// JSON texts of every length modulo 4, because notes are padded to 4.
    static let texts = ["{ }", "{  }", "{   }", "{    }", "{ \\\"name\\\": \\\"K\\303\\244se\\\" }"]

    @Test(arguments: Dialect.all.filter { !$0.flags.contains("-ffreestanding") }, texts)
    func `is one note with the given text`(dialect: Dialect, literal: String) throws {
        let folder = TemporaryDirectory()

        let file = try link(literal, with: dialect, into: folder)
        let elf = try #require(Elf(file))

        #expect(elf.manifests.map(\.text) == [plain(literal)])
        #expect(Set(elf.notes.filter { $0.owner == "CoderHost" }).count == 1)
        #expect(elf.manifests.allSatisfy { $0.type == 0x4350_4931 })
    }

    @Test(arguments: ["-fuse-ld=bfd", "-fuse-ld=gold"])
    func `survives garbage collection and stripping`(linker: String) throws {
        let folder = TemporaryDirectory()

        let file = try link(
            "{ }", with: Dialect(compiler: "gcc", flags: ["-x", "c", "-std=c11"]), into: folder,
            flags: ["-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", linker])
        #expect(try run(["strip", file]).status == 0)

        #expect(Elf(file)?.manifests.map(\.text) == ["{ }"])
    }

    @Test func `is read by readelf as one note of its own section`() throws {
        let folder = TemporaryDirectory()
        let file = try PluginBuilder.build("bad/claims-formats.c", into: folder.path)

        let shown = try run(["readelf", "-nW", file]).stdout

        #expect(shown.split(separator: "\n").filter { $0.contains("CoderHost") }.count == 1)
        #expect(shown.contains(".note.coderhost"))
    }

    private func link(
        _ literal: String, with dialect: Dialect, into folder: TemporaryDirectory, flags: [String] = []
    ) throws -> String {
        let source = "#include <coder_plugin.h>\nCPI_MANIFEST(\"\(literal)\");\n"
        let file = folder.file("note.so")
        let result = try run(
            [dialect.compiler] + dialect.flags + flags
                + ["-shared", "-fPIC", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I\(PluginBuilder.headers)", "-"]
                + ["-nostdlib", "-o", file],
            input: Array(source.utf8))
        try #require(result.status == 0, "\(result.stderr)")
        return file
    }

    /// Returns the C string of a literal above.
    private func plain(_ literal: String) -> String {
        literal == Self.texts[4] ? "{ \"name\": \"Käse\" }" : literal
    }
}
