import TestSupport
import Testing

/// Compiles code against the modules as another package does: only public symbols are visible.
@Suite(.timeLimit(.minutes(40))) struct `Code of another package` {
    private static let pages = ["AbilityExample", "ImageExample", "PageExample", "ReadmeLibrary"]
        .map { "Tests/DocumentationTests/\($0)Tests.swift" }

    @Test func `compiles the examples of the pages`() throws {
        let examples = Self.pages.flatMap(Self.examples)
        #expect(examples.count > 20)
        let functions = examples.enumerated().map { index, lines in
            let effects = lines.contains { $0.contains("await") } ? "async throws" : "throws"
            return """
                func example\(index)(
                    _ host: CoderHost, _ manager: CodersManager, _ image: PixelBuffer, _ bytes: [UInt8],
                    _ show: (PixelBuffer) -> Void
                ) \(effects) {
                \(lines.joined(separator: "\n"))
                }
                """
        }
        let imports =
            "import CoderHost\nimport Foundation\nimport ImageLoading\nimport ImageModel\nimport ImageProcessing"
        let place = TemporaryDirectory()
        let file = place.write(
            Array("\(imports)\n\(functions.joined(separator: "\n"))\n".utf8), to: "examples.swift")

        let errors = try Self.errors([file])
        #expect(errors.isEmpty, "\(errors)")
    }

    @Test(arguments: ["Tests/Examples/Mosaic", "Plugins/Farbfeld/Codec"])
    func `compiles the example plugin`(folder: String) throws {
        let files = try run(["sh", "-c", "ls \(Repository.root)/\(folder)/*.swift"]).stdout
            .split(separator: "\n").map(String.init)

        #expect(files.count > 1)
        #expect(try Self.errors(files) == "")
    }

    @Test func `does not see the symbols of the package`() throws {
        let place = TemporaryDirectory()
        let file = place.write(
            Array("import CoderHost\nlet names = CoderRoles.decode.names\n".utf8), to: "hidden.swift")

        #expect(try Self.errors([file]).contains("is inaccessible due to 'package'"))
    }

    /// The lines between "// name begins" and "// name ends".
    private static func examples(_ path: String) -> [[String]] {
        var result: [[String]] = []
        var isInside = false
        for line in Markdown(path).lines {
            if line.hasSuffix(" ends") { isInside = false }
            if isInside { result[result.count - 1].append(line) }
            if line.contains("// "), line.hasSuffix(" begins") {
                isInside = true
                result.append([])
            }
        }
        return result
    }

    /// The errors of the compiler; empty if it accepts the files.
    private static func errors(_ files: [String]) throws -> String {
        let script = """
            for folder in Sources/C*/include .build/checkouts/*/Sources/*/include; do set -- "$@" -I $folder; done
            for map in \(Repository.products)/*.build/module.modulemap; do set -- "$@" -Xcc -fmodule-map-file=$map; done
            exec swiftc -typecheck -parse-as-library -swift-version 6 -suppress-warnings -package-name another \\
                -I \(Repository.products)/Modules "$@"
            """
        let result = try run(
            ["sh", "-c", script, "sh"] + files, directory: Repository.root, timeout: .seconds(300))
        return result.status == 0 ? "" : result.stdout + result.stderr
    }
}
