import Foundation
import TestSupport
import Testing
import ImageProcessing

@Suite(.timeLimit(.minutes(40))) struct `The process` {
    /// Under a hard limit that it cannot raise it has to refuse; `setpriv` takes the privilege to raise it away.
    @Test(arguments: [32, 64, 96, 128, 256, 512, 1023, 1024, 2048])
    func `works with a small stack limit, or says how much it needs`(kibibytes: Int) throws {
        let pictures = ["f.png", "f.avif", "f.heic", "f.jpg", "f.webp"].map { Repository.fixture("pictures/\($0)") }
        let place = TemporaryDirectory()
        for (limit, drop) in [("-S -s", ""), ("-s", "setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource ")] {
            for isolation in ["off", "auto", "require:limits"] {
                let result = try Tool.shell(
                    """
                    ulimit \(limit) \(kibibytes)
                    \(drop)"$coderhost" info --hash --isolation \(isolation) \(pictures.joined(separator: " ")) >info || exit
                    \(drop)"$coderhost" convert --isolation \(isolation) \(pictures[1]) -o out.avif --overwrite
                    """, directory: place.path)
                let mayRaise = drop.isEmpty || kibibytes >= 1024 || geteuid() != 0 && limit == "-S -s"
                #expect(result.status == (mayRaise ? 0 : 71), "\(limit) \(isolation): \(result.stderr)")
                if !mayRaise {
                    #expect(
                        result.stderr.hasPrefix(
                            "coderhost: the stack limit of \(kibibytes) KiB is too small: 1024 KiB are needed\n  try: "))
                }
            }
        }
    }

    let place = TemporaryDirectory()
    private let picture = Fixture.named("pictures/f.png")

    // MARK: How it ends

    static let ends: [(words: [String], status: Int32)] = [
        (["info", "pictures/f.png"], 0),
        (["info", "pictures/f.png", "nowhere"], 1),
        (["nonsense"], 64),
        (["info", "hostile/noise"], 65), (["info", "hostile/empty"], 65), (["info", "hostile/one-byte"], 65),
        (["info", "--hash", "hostile/truncated-f.png"], 65),
        (["info", "--hash", "hostile/wrong-checksum-idat.png"], 65),
        (["info", "nowhere"], 66),
        (["info", "--coder", "none", "pictures/f.png"], 69),
        (["convert", "pictures/f.png", "-o", "/dev/null", "-f", "xyz"], 69),
        (["convert", "pictures/f.png", "-o", "/nowhere/f.png"], 73),
        (["convert", "pictures/f.png", "-o", "/dev/full", "-f", "png"], 74), (["info", "pictures"], 74),
        (["info", "hostile/header-65535x65535.png"], 77),
    ]

    @Test(arguments: ends.indices)
    func `ends with the code of what went wrong`(index: Int) throws {
        let (words, status) = Self.ends[index]

        #expect(try Tool.run(words, directory: "\(Repository.root)/Fixtures").status == status, "\(words)")
    }

    @Test func `says in one message what, which file, why and what to try`() throws {
        let result = try Tool.run("info", "nowhere.png", directory: place.path)

        #expect(result.stdout.isEmpty)
        #expect(result.stderr == "coderhost: nowhere.png: there is no such file\n  try: check the path\n")
    }

    @Test func `reports a file that may not be read`() throws {
        place.write([1], to: "secret.png")
        try Tool.permit(0, place.file("secret.png"))
        let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        try Tool.permit(0o755, place.path)
        // Root reads everything, so the command runs as nobody there; and only where nobody may run it.
        let prefix = geteuid() == 0 ? words : []
        guard try run(prefix + [Tool.path, "--version"]).status == 0 else { return }

        let result = try run(prefix + [Tool.path, "info", place.file("secret.png")], environment: Tool.environment)

        #expect(result.status == 74 || result.status == 66, "\(result.status)")
        #expect(result.stderr.contains("reading it is not allowed"))
    }

    // MARK: Pipes and names

    @Test func `is silent when nobody reads its output`() throws {
        let pictures = Repository.fixture("pictures")
        let script = """
            "$coderhost" list | head -1
            "$coderhost" info --json $(for i in $(seq 500); do echo f.png; done) | head -1
            "$coderhost" convert photo.png -o - -f pam | head -c 2
            "$coderhost" convert photo.png -o - -f png | head -c 1 | od -An -tx1
            """.split(separator: "\n").map { "\($0) || true" }.joined(separator: "\n")
        let result = try Tool.shell(script, directory: pictures)

        #expect(result.status == 0)
        #expect(result.stderr.isEmpty, "\(result.stderr)")
        #expect(result.stdout.hasPrefix("PLUGIN"))
        #expect(result.stdout.hasSuffix("P7 89\n"))
    }

    static let names = [
        "a b.png", "naïve 中文 🙂.png", "new\nline.png", "-dash.png", "quote'\".png", "{stem}.png", "a=b,c.png", ".hidden",
    ]

    @Test(arguments: names)
    func `takes any file name`(name: String) throws {
        place.write(picture.bytes, to: name)
        place.folder("out")

        let info = try Tool.run("info", "--json", "--", name, directory: place.path)
        let line = try Tool.run("info", "--", name, directory: place.path)
        let converted = try Tool.run("convert", "-o", "out/", "-f", "webp", "--", name, directory: place.path)

        #expect(info.documents.map { $0["file"].text } == [name])
        #expect(line.lines.count == 1)
        #expect(converted.status == 0, "\(converted.stderr)")
        let stem = name == ".hidden" ? name : String(name.dropLast(4))
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.file("out")) == ["\(stem).webp"])
    }

    @Test func `shows no control characters of a name`() throws {
        let result = try Tool.run("info", "\u{1B}[31mred\u{7}", directory: place.path)

        #expect(result.stderr == "coderhost: \\u{1b}[31mred\\u{7}: there is no such file\n  try: check the path\n")
    }

    // MARK: Where it stands

    @Test func `finds its plugins from any folder, through links and through PATH`() throws {
        try Tool.link(Tool.path, at: place.file("linked"))
        place.folder("bin")
        try Tool.link("../linked", at: place.file("bin/coderhost"))

        for words in [
            [place.file("linked")], ["./linked"], ["env", "PATH=\(place.file("bin")):/usr/bin:/bin", "coderhost"],
        ] {
            let result = try run(words + ["list"], directory: place.path, environment: Tool.environment)
            #expect(result.status == 0)
            #expect(result.stdout.contains("libcoder-png.so"), "\(words)")
        }
    }

    @Test func `finds its plugins where an installation puts them`() throws {
        for folder in [
            "usr", "usr/bin", "usr/lib", "usr/lib/coderhost", "usr/lib/coderhost/plugins",
            "usr/lib/coderhost/plugins/1",
        ] {
            place.folder(folder)
        }
        try Tool.copy(Tool.path, to: place.file("usr/bin/coderhost"))
        let plugin = place.file("usr/lib/coderhost/plugins/1/libcoder-png.so")
        try Tool.copy("\(Repository.products)/libcoder-png.so", to: plugin)

        let result = try run([place.file("usr/bin/coderhost"), "info", picture.path], environment: Tool.environment)
        let list = try run([place.file("usr/bin/coderhost"), "list"], environment: Tool.environment)

        #expect(result.stdout.contains("png 31x17"))
        #expect(list.stdout.contains(plugin))
    }

    @Test func `takes plugins from CODERHOST_PLUGIN_PATH and the user's folder, in that order`() throws {
        for folder in ["a", "b", "data", "data/coderhost", "data/coderhost/plugins", "data/coderhost/plugins/1"] {
            place.folder(folder)
        }
        for folder in ["b", "data/coderhost/plugins/1"] {
            try FileManager.default.copyItem(
                atPath: "\(Repository.products)/libcoder-farbfeld.so",
                toPath: place.file("\(folder)/libcoder-farbfeld.so"))
        }
        let document = Document(
            try Tool.run(
                "list", "--json",
                environment: [
                    "CODERHOST_PLUGIN_PATH": "\(place.file("a")):\(place.file("b"))",
                    "XDG_DATA_HOME": place.file("data"),
                ]
            ).stdout)

        let files = document["plugins"].list.filter { $0["plugin"].text == "org.coderhost.farbfeld-plugin" }
        #expect(files.count >= 3)
        #expect(files.first?["file"].text == place.file("b/libcoder-farbfeld.so"))
        #expect(files.map { $0["status"].text } == ["ready"] + Array(repeating: "shadowed", count: files.count - 1))
    }
}
