import Foundation
import TestSupport
import Testing

/// An installed coderhost and the part of the source tree that the README's commands use.
struct Demonstration {
    let place = TemporaryDirectory()
    var tree: String { place.file("tree") }

    init() throws {
        let products = Repository.products
        let script = """
            umask 022
            prefix=usr/local
            mkdir -p tree/Fixtures tree/Tests/ThirdParty $prefix/bin $prefix/libexec/coderhost $prefix/lib/coderhost/plugins/1 $prefix/lib/pkgconfig
            cp '\(products)/coderhost' $prefix/bin
            cp '\(products)'/coderhost-{worker,fetch} $prefix/libexec/coderhost
            cp '\(products)'/libcoder-{\(BundledPlugin.names.joined(separator: ","))}.so $prefix/lib/coderhost/plugins/1
            cd '\(Repository.root)'
            cp -r Sources/CCoderPlugin/include "$OLDPWD/$prefix"
            sed 's/@ABI_MAJOR@/1/; s/@VERSION@/0.1.0/' Sources/CCoderPlugin/coderhost-plugin.pc.in \
                >"$OLDPWD/$prefix/lib/pkgconfig/coderhost-plugin.pc"
            cp -r Fixtures/images Fixtures/hostile "$OLDPWD/tree/Fixtures"
            cp -r Tests/ThirdParty/qoi "$OLDPWD/tree/Tests/ThirdParty"
            """
        let result = try TestSupport.run(["bash", "-euc", script], directory: place.path)
        if result.status != 0 { throw PluginBuilder.Failure(description: result.stderr) }
    }

    /// Runs commands in one shell, and returns the output and status of each.
    func run(_ commands: [String]) throws -> [(output: String, status: Int32)] {
        let script = commands.map { "printf '\\036'\n{ \($0)\n} 2>&1\nprintf '\\037%d' $?" }.joined(separator: "\n")
        let result = try TestSupport.run(
            ["bash", "-c", script], directory: tree,
            environment: [
                "PATH": "\(place.file("usr/local/bin")):/usr/local/bin:/usr/bin:/bin",
                "PKG_CONFIG_PATH": place.file("usr/local/lib/pkgconfig"), "HOME": place.path, "XDG_DATA_HOME": nil,
                "XDG_CONFIG_HOME": nil, "CODERHOST_PLUGIN_PATH": nil,
            ], timeout: .seconds(120))
        let text = result.stdout.replacing(place.file("usr/local"), with: "/usr/local")
        return text.split(separator: "\u{1E}").map { part in
            let pieces = part.split(separator: "\u{1F}", omittingEmptySubsequences: false)
            return (String(pieces[0]), pieces.count > 1 ? Int32(pieces[1]) ?? -1 : -1)
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `The README` {
    static let blocks = Markdown.readme.blocks.filter { $0.language == "sh" }

    /// The commands of a block that shows a session, each with its output.
    private static func session(_ block: Markdown.Block) -> [(command: String, shown: [String])] {
        var result: [(command: String, shown: [String])] = []
        for line in block.lines {
            if line.hasPrefix("$ ") {
                result.append((String(line.dropFirst(2)), []))
            } else {
                result[result.count - 1].shown.append(line)
            }
        }
        return result
    }

    @Test(arguments: blocks.indices.filter { blocks[$0].lines.first?.hasPrefix("$ ") == true })
    func `shows the actual output of its commands`(index: Int) throws {
        let session = Self.session(Self.blocks[index])

        let results = try Demonstration().run(session.map(\.command))

        try #require(results.count == session.count)
        for ((command, shown), result) in zip(session, results) {
            let isRefusal = shown.first?.hasPrefix("coderhost: ") == true
            #expect((result.status == 0) != isRefusal, "\(command) ended with \(result.status): \(result.output)")
            #expect(result.output == shown.map { "\($0)\n" }.joined(), "\(command)")
        }
    }

    @Test(arguments: blocks.indices.filter { blocks[$0].lines.first?.hasPrefix("$ ") == false })
    func `names only existing make targets`(index: Int) throws {
        for line in Self.blocks[index].lines {
            let command = line.prefix { $0 != "#" }.split(separator: " ").map(String.init)

            #expect(command.first == "make")
            #expect(try run(["make", "-n"] + command.dropFirst(), directory: Repository.root).status == 0, "\(line)")
        }
    }

    @Test func `has the commands that its text refers to`() {
        #expect(Self.blocks.count >= 4)
        #expect(Self.blocks.flatMap(\.lines).contains { $0.contains("convert") })
    }

    @Test func `fits on a screen or two`() {
        #expect(Markdown.readme.lines.count <= 161, "160 lines and the end of the last")
    }

    @Test func `shows the current code of the example plugin`() throws {
        let room = Markdown("Plugins/Farbfeld/Codec/FarbfeldDecoder.swift").text
        let blocks = Markdown.readme.blocks.filter { $0.language == "swift" && $0.heading.contains("coder") }

        #expect(!blocks.isEmpty)
        for block in blocks { #expect(room.contains(block.lines.joined(separator: "\n"))) }
    }

    @Test func `lists the formats of the plugins`() throws {
        let wanted = try FormatsTable.make()
        let readme = Markdown.readme

        if ProcessInfo.processInfo.environment["CODERHOST_RECORD"] == "1", let old = readme.marked("formats") {
            let fresh = readme.text.replacing(
                "<!-- formats -->\n\(old)<!-- /formats -->", with: "<!-- formats -->\n\(wanted)<!-- /formats -->")
            #expect(writeFile("\(Repository.root)/README.md", Array(fresh.utf8)))
        }
        #expect(
            Markdown("README.md").marked("formats") == wanted, "if this is meant, run the tests with CODERHOST_RECORD=1"
        )
    }

    @Test func `states the command for each figure`() throws {
        let figures = try #require(Markdown.readme.marked("numbers"))

        #expect(figures.contains("make bench") && figures.contains("| photo12.jpg |"))
    }
}
