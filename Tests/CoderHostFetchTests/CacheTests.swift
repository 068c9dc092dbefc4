import CoderHost
import LoadingTestSupport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command cache` {
    /// The file and the bytes of an entry.
    private func entry(_ bench: Bench, _ url: String) async throws -> (path: String, bytes: [UInt8]) {
        let path = String(try await bench.cache("path", url).stdout.dropLast())
        return (path, try #require(readFile(path)))
    }

    @Test func `is warmed, listed and counted`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.jpg")
            let url = bench.server.url("/photo.jpg")

            let warm = try await bench.cache("warm", "--allow-private", "--json", url)
            let again = try await bench.cache("warm", "--allow-private", url)
            let list = try await bench.cache("ls", "--json")
            let stats = try await bench.cache("stats", "--json")

            #expect(warm.status == 0 && warm.documents.first?["format"].text == "jpeg")
            #expect(again.stdout.contains("already cached"))
            #expect(bench.server.requests.count == 1)
            #expect(bench.outputs.isEmpty)
            #expect(list.documents.map { $0["url"].text } == [url])
            #expect(list.documents.first?["bytes"].integer == bytes.count)
            #expect(stats.documents.first?["entries"].integer == 1)
            #expect(stats.documents.first?["bytes"].integer == bytes.count)
        }
    }

    @Test func `is empty before the first download and creates no files`() async throws {
        try await Bench.run { bench in
            for verb in ["ls", "stats", "prune", "verify", "clear", "path"] {
                let result = try await bench.cache(verb)
                #expect(result.status == 0, "\(verb)")
            }
            #expect(bench.entries.isEmpty)
        }
    }

    @Test func `prints the path of an entry`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            let url = bench.server.url("/photo.png")

            let before = try await bench.cache("path", url)
            _ = try await bench.cache("warm", "--allow-private", url)
            let (path, content) = try await entry(bench, url)

            #expect(before.status == 66)
            #expect(path.hasPrefix(bench.cache.path) && path.hasSuffix(".png"))
            #expect(content.starts(with: bytes))
        }
    }

    @Test func `detects, never returns and repairs damaged entries`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            _ = try bench.serve("photo.jpg")
            let urls = [bench.server.url("/photo.png"), bench.server.url("/photo.jpg")]
            _ = try await bench.cache("warm", "--allow-private", urls[0], urls[1])
            let (path, content) = try await entry(bench, urls[0])
            var damaged = content
            damaged[bytes.count / 2] ^= 1
            #expect(writeFile(path, damaged))

            let found = try await bench.cache("verify", "--json")
            let repaired = try await bench.cache("verify", "--repair")
            let after = try await bench.cache("verify", "--json")
            let fetched = try await bench.fetch(urls[0])

            #expect(found.status == 1)
            #expect(found.documents.first?["damaged"].list.compactMap(\.text) == [path])
            #expect(found.documents.first?["sound"].integer == 1)
            #expect(repaired.status == 0 && repaired.stdout.contains(path))
            #expect(after.status == 0 && after.documents.first?["damaged"].list.isEmpty == true)
            #expect(fetched.status == 0)
            #expect(bench.output("photo.png") == bytes)
            #expect(bench.server.requests(to: "/photo.png").count == 2)
        }
    }

    @Test func `does not trust an entry that another process damaged`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            let url = bench.server.url("/photo.png")
            _ = try await bench.cache("warm", "--allow-private", url)
            let (path, content) = try await entry(bench, url)
            #expect(writeFile(path, Array(content.dropLast(9))))

            #expect(try await bench.fetch(url).status == 0)

            #expect(bench.output("photo.png") == bytes)
            #expect(bench.server.requests.count == 2)
        }
    }

    @Test func `is pruned by age and by size, and cleared`() async throws {
        try await Bench.run { bench in
            for name in ["photo.jpg", "photo.png", "rgba.png"] { _ = try bench.serve(name) }
            let urls = ["/photo.jpg", "/photo.png", "/rgba.png"].map { bench.server.url($0) }
            _ = try await bench.cache("warm", "--allow-private", urls[0], urls[1], urls[2])

            let young = try await bench.cache("prune", "--max-age", "1h", "--json")
            let small = try await bench.cache("prune", "--max-size", "1", "--json")
            _ = try await bench.cache("warm", "--allow-private", urls[0])
            let cleared = try await bench.cache("clear", "--json")

            #expect(young.documents.first?["removed"].integer == 0 && young.documents.first?["kept"].integer == 3)
            #expect(small.documents.first?["kept"].integer == 0)
            #expect(cleared.documents.first?["removed"].integer == 1)
            #expect(try await bench.cache("ls").stdout.isEmpty)
        }
    }

    @Test func `keeps namespaces and folders apart`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.jpg")
            let url = bench.server.url("/photo.jpg")
            let other = bench.place.folder("other")

            _ = try await bench.cache("warm", "--allow-private", "--namespace", "a", url)
            _ = try await bench.cache("warm", "--allow-private", "--cache-dir", other, url)

            #expect(bench.server.requests.count == 2)
            #expect(try await bench.cache("ls").stdout.isEmpty)
            #expect(try await bench.cache("ls", "--namespace", "a").stdout.contains(url))
            #expect(try await bench.cache("path", "--cache-dir", other).stdout == "\(other)/default\n")
        }
    }

    @Test func `is distinguished from other folders`() async throws {
        try await Bench.run { bench in
            bench.place.write([], to: "file")
            _ = try await apart { [place = bench.place] in try TestSupport.run(["mkfifo", place.file("pipe")]) }
            for place in ["file", "pipe", "/dev/null"] {
                for verb in ["ls", "stats", "prune", "verify", "clear"] {
                    let result = try await bench.cache(verb, "--cache-dir", place)
                    #expect(result.status == 74 && result.stdout.isEmpty, "\(verb) \(place): \(result.stdout)")
                    #expect(result.stderr.contains("Not a directory") && result.stderr.contains("try: "))
                }
            }
        }
    }

    @Test func `keeps files of other programs`() async throws {
        try await Bench.run { bench in
            let name = "3f/3f0123456789abcdef0123456789abcd.jpg"
            for folder in ["default", "default/3f"] { bench.place.folder(folder) }
            bench.place.write([1], to: "default/\(name)")

            for words in [["clear"], ["verify", "--repair"], ["prune", "--max-age", "0s"]] {
                let result = try await bench.coderhost(["cache"] + words + ["--cache-dir", "."])
                #expect(result.status == 0, "\(result.stderr)")
            }

            #expect(bench.output("default/\(name)") == [1])
        }
    }

    @Test func `is not used if others can write to it`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.jpg")
            let url = bench.server.url("/photo.jpg")
            let open = bench.place.folder("open")
            bench.place.folder("open/default")
            _ = try await apart { try TestSupport.run(["chmod", "777", "\(open)/default"]) }

            let fetched = try await bench.fetch("--cache-dir", open, url)
            let listed = try await bench.cache("ls", "--cache-dir", open)
            let warmed = try await bench.cache("warm", "--allow-private", "--cache-dir", open, url)

            #expect(fetched.status == 0 && bench.output("photo.jpg") == bytes)
            #expect(fetched.stderr.contains("every user may write to it") && fetched.stderr.contains("chmod"))
            #expect(listed.status == 74 && listed.stderr.contains("every user may write to it"))
            #expect(warmed.status == 74)
            #expect(bench.outputs == ["photo.jpg"])
        }
    }

    @Test func `is in the home of its user, independent of the environment`() async throws {
        try await Bench.run { bench in
            let result = try await bench.coderhost(
                ["cache", "path"], environment: ["HOME": nil, "XDG_CACHE_HOME": nil])
            let home = try await apart {
                try TestSupport.run(["bash", "-c", "getent passwd $(id -u) | cut -d: -f6"]).stdout.dropLast()
            }

            #expect(result.stdout == "\(home)/.cache/coderhost/default\n")
        }
    }

    @Test func `does not store local files, and reports it`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.jpg")
            let local = "file://\(Repository.fixture("images/photo.png"))"

            let words = try await bench.cache("warm", "--allow-private", local)
            let facts = try await bench.cache(
                "warm", "--json", "--allow-private", local, bench.server.url("/photo.jpg"))
            let path = try await bench.cache("path", local)

            #expect(words.status == 0 && words.stdout.contains("not cached: local data"))
            #expect(facts.documents.map { $0["kept"].bool } == [false, true])
            #expect(path.status == 66 && path.stderr.contains("only http and https URLs"))
            #expect(!path.stderr.contains("cache warm"))
        }
    }

    @Test func `counts a misplaced copy separately, and does not list it`() async throws {
        try await Bench.run { bench in
            for name in ["photo.jpg", "photo.png"] { _ = try bench.serve(name) }
            let urls = ["/photo.jpg", "/photo.png"].map { bench.server.url($0) }
            _ = try await bench.cache("warm", "--allow-private", urls[0], urls[1])
            let (path, content) = try await entry(bench, urls[0])
            let copy = path.replacing(path.suffix(9), with: path.suffix(9).contains("0") ? "11111.jpg" : "00000.jpg")
            #expect(writeFile(copy, content))

            let text = try await bench.cache("verify")
            let facts = try await bench.cache("verify", "--json")
            let list = try await bench.cache("ls", "--json")

            #expect(text.status == 1)
            #expect(text.stdout.contains("2 entries sound, 0 damaged, 1 under a wrong name"), "\(text.stdout)")
            #expect(facts.documents.first?["misplaced"].list.compactMap(\.text) == [copy])
            #expect(facts.documents.first?["damaged"].list.isEmpty == true)
            #expect(Set(list.documents.map { $0["url"].text }) == Set(urls))
            #expect(list.documents.count == 2)
        }
    }

    /// Whether the test can mount file systems: it needs root, and not all containers allow it.
    static let mayMount =
        (try? TestSupport.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]))?.status == 0

    @Test(.enabled(if: mayMount)) func `reports that removal failed`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.jpg")
            let script = """
                cache() { "$0" cache "$@" --cache-dir ro; echo "status $?"; }
                mkdir ro; mount -t tmpfs -o mode=700 none ro
                cache warm --allow-private "$1" >warm
                mount -o remount,ro ro
                cache clear
                cache prune --max-age 0s
                cache prune --max-age 0s --json
                """
            let url = bench.server.url("/photo.jpg")
            let result = try await apart { [place = bench.place] in
                try TestSupport.run(
                    ["unshare", "-m", "bash", "-c", script, "\(Repository.products)/coderhost", url],
                    directory: place.path,
                    environment: ["HOME": place.path, "CODERHOST_PLUGIN_PATH": Repository.workerPluginPath])
            }
            let lines = result.stdout.split(separator: "\n").map(String.init)

            #expect(lines.count == 8, "\(result.stdout)\(result.stderr)")
            #expect(lines.filter { $0.hasPrefix("removed ") } == ["removed 0 entries, 0 B", "removed 0 entries, 0 B"])
            #expect(lines.filter { $0.hasPrefix("kept 1 entry, ") }.count == 2)
            #expect(lines.filter { $0 == "status 74" }.count == 3)
            #expect(result.documents.compactMap { $0["kept"].integer } == [1])
            #expect(result.stderr.contains("mounted read-only"))
        }
    }

    @Test func `does not prevent downloads if it cannot be written`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.jpg")
            let blocked = bench.place.write([], to: "file")

            let result = try await bench.fetch("--cache-dir", "\(blocked)/below", bench.server.url("/photo.jpg"))

            #expect(result.status == 0)
            #expect(result.stderr.contains("nothing was cached"))
            #expect(bench.output("photo.jpg") == bytes)
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Arguments of cache` {
    private func said(_ words: String...) async throws -> CommandResult {
        let home = TemporaryDirectory()
        return try await apart {
            try TestSupport.run(
                ["\(Repository.products)/coderhost", "cache"] + words,
                environment: [
                    "HOME": home.path, "XDG_CACHE_HOME": nil, "CODERHOST_PLUGIN_PATH": Repository.workerPluginPath,
                ])
        }
    }

    @Test(arguments: ["ls", "stats", "prune", "verify", "clear", "path", "warm"])
    func `have their own help with examples first and only their options`(
        verb: String
    ) async throws {
        let help = try await said(verb, "--help")
        let lines = help.stdout.split(separator: "\n", omittingEmptySubsequences: false)

        #expect(help.status == 0 && lines.count > 5)
        #expect(lines[0].hasPrefix("coderhost cache \(verb): ") && !lines[0].contains("list, check and prune"))
        #expect(lines[2] == "Examples:" && lines[3].hasPrefix("  coderhost cache \(verb)"))
        #expect(help.stdout.contains("--cache-dir") && help.stdout.contains("--json"))
        for option in ["--plugin-dir", "--trust", "--limits", "--isolation", "--workers"] {
            #expect(help.stdout.contains("  \(option) ") == (verb == "warm"), "\(option)")
        }
    }

    @Test func `refuse options of other subcommands and name these`() async throws {
        let result = try await said("ls", "--isolation", "off")

        #expect(result.status == 64 && result.stderr.contains("--isolation is an option of cache warm"))
    }

    @Test(arguments: ["", "../../x", ".hidden", "a/b", "a b"])
    func `refuse an invalid namespace`(name: String) async throws {
        let result = try await said("ls", "--namespace", name)

        #expect(result.status == 64 && result.stderr.contains("--namespace"))
    }

    @Test(arguments: [["--max-age", "0"], ["--max-size", "0"], ["--max-size", "x"]])
    func `suggest valid values`(words: [String]) async throws {
        let result = try await said("prune", words[0], words[1])

        #expect(result.status == 64)
        #expect(result.stderr.contains("for example \(words[0] == "--max-age" ? "12h" : "500M")"))
        #expect(result.stderr.contains("coderhost cache clear"))
    }

    @Test func `show sizes in the units of the options`() async throws {
        #expect(try await said("stats").stdout.contains("maximum 1 GiB"))
    }
}
