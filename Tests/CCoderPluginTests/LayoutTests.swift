import CCoderPlugin
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Layout of the contract` {
    /// The offset of each field in C, read from the file with the assertions that the C compiler checks.
    static let frozen: [String: Int] = {
        var figures: [String: Int] = [:]
        // The size of a struct in an earlier minor is asserted first, so the last line is current.
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

    @Test func `Swift sees every field at its C offset`() {
        let seen = Dictionary(SwiftView.all.flatMap(\.figures)) { first, _ in first }

        #expect(seen == Self.frozen)
    }

    @Test func `every struct of the header is frozen`() throws {
        // The helper for plugins in C declares no struct of the interface.
        let declared = try Headers.all.filter { $0 != "cpi/session.h" }.flatMap { header in
            try Headers.text(header).split(separator: "\n").compactMap { line -> String? in
                guard line.hasPrefix("} cpi_"), line.hasSuffix(";") else { return nil }
                return String(line.dropFirst(2).dropLast())
            }
        }

        #expect(declared.count == 35)
        #expect(Set(declared) == Set(Self.frozen.keys.filter { !$0.contains(".") }))
    }

    @Test(arguments: ["cc", "clang"])
    func `the assertions hold for every compiler`(compiler: String) throws {
        let result = try run([
            compiler, "-std=c11", "-fsyntax-only", "-Werror", "-I\(PluginBuilder.headers)", LayoutFile.path,
        ])

        #expect(result.status == 0, "\(result.stderr)")
    }

    @Test func `no struct ends in padding that a later field could occupy`() {
        let seen = SwiftView.all.flatMap(\.ends)

        #expect(seen.count == 35)
        #expect(seen.filter { $0.lastFieldEnds != $0.size }.map(\.type) == [])
    }

    @Test func `the header of a later minor only appends`() throws {
        let folder = TemporaryDirectory()
        let offsets = LayoutFile.lines.filter { !$0.hasPrefix("SIZE(") }.joined(separator: "\n")
        let source = folder.write(Array(offsets.utf8), to: "offsets.c")

        let result = try run(["cc", "-std=c11", "-fsyntax-only", "-I\(try PluginBuilder.futureHeaders())", source])

        #expect(result.status == 0, "\(result.stderr)")
    }
}

private enum LayoutFile {
    static let path = "\(Repository.root)/Sources/CCoderPlugin/layout.c"
    static let lines = String(decoding: readFile(path) ?? [], as: UTF8.self).split(separator: "\n")
}
