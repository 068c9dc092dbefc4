import CCoderPlugin
import TestSupport
import Testing

/// Compares the recorded layouts of each minor with the current headers.
@Suite(.timeLimit(.minutes(40))) struct `Kept layouts` {
    static let museum = "\(Repository.root)/Tests/Museum"
    static let minors = Array(0...Int(CPI_ABI_MINOR))

    private func layout(_ headers: String, _ flags: String...) throws -> [String] {
        let result = try run(["\(Self.museum)/layout", headers] + flags)
        try #require(result.status == 0, "\(result.stderr)")
        return lines(result.output)
    }

    private func kept(_ minor: Int) throws -> [String] {
        lines(try #require(readFile("\(Self.museum)/layout-1.\(minor).txt"), "run Tests/Museum/keep"))
    }

    private func lines(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func isOfStruct(_ line: String) -> Bool { line.hasPrefix("cpi_") }

    @Test(arguments: minors) func `hold for a plugin built against that minor today`(minor: Int) throws {
        let today = try layout(PluginBuilder.headers, "-DCPI_TARGET_MINOR=\(minor)")
        let kept = try kept(minor)
        let structs = Set(kept.filter(isOfStruct).map { $0.prefix { $0 != " " && $0 != "." } })

        // Extensions may have been added since; existing entries must not move, grow or change their value.
        #expect(kept.filter { !today.contains($0) } == [])
        let known = today.filter { isOfStruct($0) && structs.contains($0.prefix { $0 != " " && $0 != "." }) }
        #expect(known == kept.filter(isOfStruct))
        #expect(kept.count > 380 && structs.count >= 34)
    }

    @Test(arguments: minors) func `match the kept headers`(minor: Int) throws {
        #expect(try layout("\(Self.museum)/1.\(minor)/include") == kept(minor))
    }

    @Test(arguments: minors.dropLast()) func `only grow at the end from each minor to the next`(minor: Int) throws {
        let (older, newer) = (try kept(minor), try kept(minor + 1))
        // `type.field offset size` and constants stay; `type size` may grow.
        let fixed = older.filter { !isOfStruct($0) || $0.contains(".") }

        #expect(fixed.filter { !newer.contains($0) } == [])
        for line in older where isOfStruct(line) && !line.contains(".") {
            let parts = line.split(separator: " ")
            let later = try #require(newer.first { $0.hasPrefix("\(parts[0]) ") }).split(separator: " ")
            #expect(try #require(Int(later[1])) >= #require(Int(parts[1])), "\(line)")
        }
    }

    @Test func `include the current header for the current minor`() throws {
        let texts = try [PluginBuilder.headers, "\(Self.museum)/1.\(CPI_ABI_MINOR)/include"].map { folder in
            let words = ["cc", "-std=c11", "-E", "-P", "-dD", "-nostdinc", "-I\(folder)", "-x", "c", "-"]
            let standard = "#define NULL 0\n#include <coder_plugin.h>\n"
            // Its two standard headers are not part of it.
            let place = TemporaryDirectory()
            place.write([], to: "stddef.h")
            place.write([], to: "stdint.h")
            let result = try run(words + ["-I\(place.path)"], input: Array(standard.utf8))
            try #require(result.status == 0, "\(result.stderr)")
            return result.stdout
        }

        #expect(texts[0] == texts[1], "run Tests/Museum/keep; if the minor is released, create a new one")
    }

    @Test func `match the declarations of the Rust template`() throws {
        let path = "\(Repository.root)/Sources/CoderHostCLI/Templates/rust/src/cpi.rs"
        let kept = try kept(0)
        var type = ""
        var fields = 0
        for line in lines(try #require(readFile(path))) {
            if let head = line.firstMatch(of: /^contract!\((?:#\[[^\]]*\] )?(\w+), (\d+), \{/) {
                let words = head.1.replacing(/[A-Z]/) { "_" + $0.output.lowercased() }
                type = "cpi" + (words == "_coder_option" ? "_option" : words)
                #expect(kept.contains("\(type) \(head.2)"), "\(line)")
            } else if let field = line.firstMatch(of: /^    (\w+): .* = (\d+),$/), !type.isEmpty {
                let name = type == "cpi_option" && field.1 == "kind" ? "type" : field.1
                #expect(kept.contains { $0.hasPrefix("\(type).\(name) \(field.2) ") }, "\(type): \(line)")
                fields += 1
            }
        }
        #expect(fields > 150)
    }
}
