import CCoderPlugin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Layout of the contract` {
    /// Where C says each field stands, read from the file whose assertions the C compiler checks.
    static let frozen: [String: Int] = {
        var figures: [String: Int] = [:]
        // The size a struct had in minor 0 is asserted first, the size it has now later, so the last line holds.
        for line in LayoutFile.lines where line.hasPrefix("OFFSET(") || line.hasPrefix("SIZE(") {
            let parts = line.split { "(), ;".contains($0) }
            if line.hasPrefix("SIZE(") {
                figures["\(parts[1])"] = Int(parts[2])
            } else {
                figures["\(parts[1]).\(parts[2])"] = Int(parts[3])
            }
        }
        return figures
    }()

    @Test func `Swift sees every field where C put it`() {
        let seen = Dictionary(SwiftView.all.flatMap(\.figures)) { first, _ in first }

        #expect(seen == Self.frozen)
    }

    @Test func `every struct of the header is frozen`() throws {
        let declared = try Headers.all.flatMap { header in
            try Headers.text(header).split(separator: "\n").compactMap { line -> String? in
                guard line.hasPrefix("} cpi_"), line.hasSuffix(";") else { return nil }
                return String(line.dropFirst(2).dropLast())
            }
        }

        #expect(declared.count == 25)
        #expect(Set(declared) == Set(Self.frozen.keys.filter { !$0.contains(".") }))
    }

    @Test(arguments: ["cc", "clang"], [0, 1])
    func `the assertions hold for a plugin of either minor`(compiler: String, minor: Int) throws {
        let result = try run([
            compiler, "-std=c11", "-fsyntax-only", "-Werror", "-DCPI_TARGET_MINOR=\(minor)",
            "-I\(PluginBuilder.headers)", LayoutFile.path,
        ])

        #expect(result.status == 0, "\(result.stderr)")
    }

    @Test(arguments: [
        ("cpi_image_info", 80, 88), ("cpi_limits", 88, 96), ("cpi_services", 64, 80), ("cpi_decoder_api", 96, 104),
    ])
    func `a plugin built for minor 0 has the shorter structs`(type: String, older: Int, current: Int) throws {
        for (minor, size) in [(0, older), (1, current)] {
            let result = try compile(
                "#include <coder_plugin.h>\n_Static_assert(sizeof(\(type)) == \(size), \"size\");",
                flags: ["-DCPI_TARGET_MINOR=\(minor)"])
            #expect(result.status == 0, "minor \(minor): \(result.stderr)")
        }
    }

    @Test(arguments: [
        "cpi_limits x; x.max_scans = 1", "cpi_services x; x.now = 0", "cpi_decoder_api x; x.dirty = 0",
        "cpi_image_info x; x.thumbnail_count = 1",
    ])
    func `a plugin built for minor 0 cannot use what came later`(statement: String) throws {
        let source = "#include <coder_plugin.h>\nvoid f(void); void f(void) { \(statement); }"

        #expect(try compile(source, flags: ["-DCPI_TARGET_MINOR=1"]).status == 0)
        #expect(try compile(source, flags: ["-DCPI_TARGET_MINOR=0"]).status != 0)
    }

    @Test func `the header of a later minor only appends`() throws {
        let folder = TemporaryDirectory()
        let offsets = LayoutFile.lines.filter { !$0.hasPrefix("SIZE(") }.joined(separator: "\n")
        let source = folder.write(Array(offsets.utf8), to: "offsets.c")

        let result = try run(["cc", "-std=c11", "-fsyntax-only", "-I\(try PluginBuilder.futureHeaders())", source])

        #expect(result.status == 0, "\(result.stderr)")
    }

    private func compile(_ source: String, flags: [String]) throws -> CommandResult {
        try run(
            ["cc", "-std=c11", "-x", "c", "-fsyntax-only", "-I\(PluginBuilder.headers)"] + flags + ["-"],
            input: Array(source.utf8))
    }
}

private enum LayoutFile {
    static let path = "\(Repository.root)/Sources/CCoderPlugin/layout.c"
    static let lines = String(decoding: readFile(path) ?? [], as: UTF8.self).split(separator: "\n")
}
