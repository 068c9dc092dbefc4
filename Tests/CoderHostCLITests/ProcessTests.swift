import Foundation
import TestSupport
import Testing
import ImageProcessing

@Suite(.timeLimit(.minutes(40))) struct `The process` {
    /// With a hard limit that it cannot raise, the command must refuse; `setpriv` removes the privilege to raise it.
    @Test(arguments: [32, 64, 96, 128, 256, 512, 1023, 1024, 2048])
    func `works with a small stack limit, or reports the needed size`(kibibytes: Int) throws {
        let images = ["f.png", "f.avif", "f.heic", "f.jpg", "f.webp"].map { Repository.fixture("images/\($0)") }
        let place = TemporaryDirectory()
        for (limit, drop) in [("-S -s", ""), ("-s", "setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource ")] {
            for isolation in ["off", "auto", "require:limits"] {
                let result = try Tool.shell(
                    """
                    ulimit \(limit) \(kibibytes)
                    \(drop)"$coderhost" info --hash --isolation \(isolation) \(images.joined(separator: " ")) >info || exit
                    \(drop)"$coderhost" convert --isolation \(isolation) \(images[1]) -o out.avif --overwrite
                    """, directory: place.path)
                let mayRaise = drop.isEmpty || kibibytes >= 1024 || geteuid() != 0 && limit == "-S -s"
                #expect(result.status == (mayRaise ? 0 : 71), "\(limit) \(isolation): \(result.stderr)")
                if !mayRaise {
                    #expect(
                        result.stderr.hasPrefix(
                            "coderhost: the stack limit of \(kibibytes) KiB is too small: need 1024 KiB\n  try: "))
                }
            }
        }
    }

    let place = TemporaryDirectory()
    private let image = Fixture.named("images/f.png")

    // MARK: Exit codes

    static let ends: [(words: [String], status: Int32)] = [
        (["info", "images/f.png"], 0),
        (["info", "images/f.png", "nowhere"], 1),
        (["nonsense"], 64),
        (["info", "hostile/noise"], 65), (["info", "hostile/empty"], 65), (["info", "hostile/one-byte"], 65),
        (["info", "--hash", "hostile/truncated-f.png"], 65),
        (["info", "--hash", "hostile/wrong-checksum-idat.png"], 65),
        (["info", "nowhere"], 66),
        (["info", "--coder", "none", "images/f.png"], 69),
        (["convert", "images/f.png", "-o", "/dev/null", "-f", "xyz"], 69),
        (["convert", "images/f.png", "-o", "/nowhere/f.png"], 73),
        (["convert", "images/f.png", "-o", "/dev/full", "-f", "png"], 74), (["info", "images"], 74),
        (["info", "hostile/header-65535x65535.png"], 77),
    ]

    @Test(arguments: ends.indices)
    func `exits with the code of the error`(index: Int) throws {
        let (words, status) = Self.ends[index]

        #expect(try Tool.run(words, directory: "\(Repository.root)/Fixtures").status == status, "\(words)")
    }

    @Test func `reports file, reason and hint in one message`() throws {
        let result = try Tool.run("info", "nowhere.png", directory: place.path)

        #expect(result.stdout.isEmpty)
        #expect(result.stderr == "coderhost: nowhere.png: there is no such file\n  try: check the path\n")
    }

    /// Root can read every file, so the command runs as another user.
    private static let restricted =
        geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
    private static let otherUserMayRun = (try? run(restricted + [Tool.path, "--version"]).status) == 0

    @Test(.enabled(if: otherUserMayRun, "another user cannot run the command"))
    func `reports an unreadable file`() throws {
        place.write([1], to: "secret.png")
        try Tool.permit(0, place.file("secret.png"))
        try Tool.permit(0o755, place.path)

        let result = try run(
            Self.restricted + [Tool.path, "info", place.file("secret.png")], environment: Tool.environment)

        #expect(result.status == 74)
        #expect(result.stderr.contains("permission denied"))
    }

    // MARK: Pipes and names

    @Test func `is silent if the reader of its output is gone`() throws {
        let images = Repository.fixture("images")
        let script = """
            "$coderhost" list | head -1
            "$coderhost" info --json $(for i in $(seq 500); do echo f.png; done) | head -1
            "$coderhost" convert photo.png -o - -f pam | head -c 2
            "$coderhost" convert photo.png -o - -f png | head -c 1 | od -An -tx1
            """.split(separator: "\n").map { "\($0) || true" }.joined(separator: "\n")
        let result = try Tool.shell(script, directory: images)

        #expect(result.status == 0)
        #expect(result.stderr.isEmpty, "\(result.stderr)")
        #expect(result.stdout.hasPrefix("PLUGIN"))
        #expect(result.stdout.hasSuffix("P7 89\n"))
    }

    static let names = [
        "a b.png", "naïve 中文 🙂.png", "new\nline.png", "-dash.png", "quote'\".png", "{stem}.png", "a=b,c.png", ".hidden",
    ]

    @Test(arguments: names)
    func `accepts any file name`(name: String) throws {
        place.write(image.bytes, to: name)
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

    @Test func `escapes control characters in names`() throws {
        let result = try Tool.run("info", "\u{1B}[31mred\u{7}", directory: place.path)

        #expect(result.stderr == "coderhost: \\u{1b}[31mred\\u{7}: there is no such file\n  try: check the path\n")
    }

    // MARK: Plugin folders

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

    @Test func `finds its plugins in an installation`() throws {
        for folder in [
            "usr", "usr/bin", "usr/lib", "usr/lib/coderhost", "usr/lib/coderhost/plugins",
            "usr/lib/coderhost/plugins/1",
        ] {
            place.folder(folder)
        }
        try Tool.copy(Tool.path, to: place.file("usr/bin/coderhost"))
        let plugin = place.file("usr/lib/coderhost/plugins/1/libcoder-png.so")
        try Tool.copy("\(Repository.products)/libcoder-png.so", to: plugin)

        let result = try run([place.file("usr/bin/coderhost"), "info", image.path], environment: Tool.environment)
        let list = try run([place.file("usr/bin/coderhost"), "list"], environment: Tool.environment)

        #expect(result.stdout.contains("png 31x17"))
        #expect(list.stdout.contains(plugin))
    }

    @Test func `searches CODERHOST_PLUGIN_PATH, then the user's folder`() throws {
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
