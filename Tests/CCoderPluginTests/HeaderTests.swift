import CCoderPlugin
import TestSupport
import Testing

/// The files that an author includes, directly or indirectly.
enum Headers {
    static let parts = [
        "cpi/version.h", "cpi/status.h", "cpi/image.h", "cpi/frame.h", "cpi/io.h", "cpi/option.h", "cpi/host.h",
        "cpi/decoder.h", "cpi/encoder.h", "cpi/plugin.h", "cpi/manifest.h", "cpi/extension.h", "cpi/items.h",
        "cpi/rows.h", "cpi/parallel.h", "cpi/rewrite.h",
    ]
    /// The additional header for authors of plugins in C.
    static let helper = "cpi/session.h"
    static let all = ["coder_plugin.h"] + parts + [helper]

    static func text(_ header: String) throws -> String {
        String(decoding: try #require(readFile("\(PluginBuilder.headers)/\(header)")), as: UTF8.self)
    }
}

/// A compiler with a language dialect.
struct Dialect: Sendable, CustomTestStringConvertible {
    var compiler: String
    var flags: [String]

    static let all: [Dialect] = [
        Dialect(compiler: "gcc", flags: ["-x", "c", "-std=c11"]),
        Dialect(compiler: "clang", flags: ["-x", "c", "-std=c11"]),
        Dialect(compiler: "gcc", flags: ["-x", "c", "-std=c11", "-ffreestanding"]),
        Dialect(compiler: "gcc", flags: ["-x", "c++", "-std=c++17"]),
        Dialect(compiler: "clang", flags: ["-x", "c++", "-std=c++17"]),
    ].filter(\.isInstalled)

    var testDescription: String { "\(compiler) \(flags.dropFirst().joined(separator: " "))" }

    /// A gcc without C++ support is a valid setup for this project.
    private var isInstalled: Bool {
        (try? run([compiler] + flags + ["-fsyntax-only", "/dev/null"]))?.status == 0
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Contract header` {
    @Test(arguments: Dialect.all, Headers.all)
    func `compiles alone without a warning`(dialect: Dialect, header: String) throws {
        let source = "#include \"\(header)\"\n"

        let result = try run(
            [dialect.compiler] + dialect.flags
                + ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I\(PluginBuilder.headers)", "-"],
            input: Array(source.utf8))

        #expect(result.status == 0, "\(result.stderr)")
    }

    @Test func `is compiled by gcc and clang in C and by one of them in C++`() {
        let names = Dialect.all.map(\.testDescription)

        #expect(names.contains("gcc c -std=c11"))
        #expect(names.contains("clang c -std=c11"))
        #expect(names.contains { $0.contains("c++17") })
    }

    @Test(arguments: Headers.all)
    func `includes only stddef, stdint and its own parts, and the helper the C library`(header: String) throws {
        let library = header == Headers.helper ? ["<stdarg.h>", "<stdio.h>", "<string.h>"] : []
        let allowed = Set(
            ["<stddef.h>", "<stdint.h>"] + library + Headers.parts.map { "\"\($0)\"" }
                + Headers.parts.map { "\"\($0.dropFirst(4))\"" })

        let included = try Headers.text(header).split(separator: "\n").filter { $0.hasPrefix("#include") }
            .map { String($0.dropFirst("#include ".count)) }

        #expect(Set(included).subtracting(allowed).isEmpty)
    }

    @Test func `includes all of its parts`() throws {
        let text = try Headers.text("coder_plugin.h")

        #expect(Headers.parts.filter { !text.contains("#include \"\($0)\"") } == [])
        #expect(!text.contains("#include \"\(Headers.helper)\""))
    }

    @Test func `has fewer than 1350 lines in all, of at most 120 columns`() throws {
        let names = try run(["ls", "\(PluginBuilder.headers)/cpi"]).stdout.split(separator: "\n").map { "cpi/\($0)" }
        let lines = try Headers.all.flatMap {
            try Headers.text($0).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        }

        #expect(names.sorted() == Headers.all.filter { $0.hasPrefix("cpi/") }.sorted())
        #expect(lines.count < 1350)
        #expect(lines.filter { $0.count > 120 } == [])
    }

    @Test(arguments: Dialect.all.filter { !$0.flags.contains("-ffreestanding") })
    func `has a helper that keeps errors, sizes and bounds`(dialect: Dialect) throws {
        let folder = TemporaryDirectory()
        let source = "\(Repository.root)/Tests/ThirdParty/session/session.c"

        let built = try run(
            [dialect.compiler] + dialect.flags
                + ["-Wall", "-Wextra", "-Werror", "-I\(PluginBuilder.headers)", source, "-o", folder.file("session")])
        try #require(built.status == 0, "\(built.stderr)")
        let result = try run([folder.file("session")])

        #expect(result.status == 0, "\(result.stderr)")
    }

    // The test vectors of FNV-1a with 64 bits, from the appendix of draft-eastlake-fnv.
    @Test(
        arguments: [
            ("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8),
        ] as [(String, UInt64)])
    func `hashes extension ids with FNV-1a`(id: String, tag: UInt64) {
        #expect(unsafe cpi_tag(id) == tag)
    }

    @Test(arguments: [
        "CPI_EXT_ITEMS", "CPI_EXT_THUMBNAIL_ENCODE", "CPI_EXT_ENCODE_ITEMS", "CPI_EXT_ENCODE_ROWS", "CPI_EXT_PARALLEL",
        "CPI_EXT_REWRITE", "CPI_EXT_TRANSCODE",
    ])
    func `states the tag of an extension`(name: String) throws {
        let source = """
            #include <coder_plugin.h>
            int main(void) { return cpi_tag(\(name)) != \(name)_TAG; }
            """
        let folder = TemporaryDirectory()
        let program = folder.file("tag")

        let built = try run(
            ["cc", "-x", "c", "-", "-I\(PluginBuilder.headers)", "-o", program], input: Array(source.utf8))
        try #require(built.status == 0, "\(built.stderr)")

        #expect(try run([program]).status == 0)
    }
}
