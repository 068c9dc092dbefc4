import CoderHost
import LoadingTestSupport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Outputs of fetch` {
    /// Creates a special file with the name of the image.
    private func block(_ bench: Bench, _ kind: String) async throws {
        let (path, elsewhere) = (bench.place.file("photo.png"), bench.place.file("elsewhere"))
        let command = kind == "pipe" ? ["mkfifo", path] : ["ln", "-s", elsewhere, path]
        _ = try await apart { try TestSupport.run(command) }
    }

    @Test(arguments: ["pipe", "dangling link"])
    func `are written without blocking if the name is not a regular file`(kind: String) async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.png")
            let url = bench.server.url("/photo.png")
            try await block(bench, kind)

            let plain = try await bench.fetch(url)
            let typed = try await bench.fetch(url, "--no-overwrite", "-o", "photo.png")
            let over = try await bench.fetch(url, "--overwrite")

            #expect(plain.status == 73 && plain.stderr.contains("photo.png exists"))
            #expect(typed.status == 73 && typed.stderr.contains("photo.png exists"))
            #expect(over.status == 73 && over.stderr.contains("try: "))
            #expect(!bench.outputs.contains("elsewhere"))
        }
    }

    @Test func `go to a named pipe once it has a reader`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            try await block(bench, "pipe")
            let path = bench.place.file("photo.png")

            async let read = apart { try TestSupport.run(["cat", path]) }
            let result = try await bench.fetch(bench.server.url("/photo.png"), "-o", "photo.png")

            #expect(result.status == 0, "\(result.stderr)")
            #expect(try await read.output == bytes)
        }
    }

    @Test func `have the file extension of the written format`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.jpg")
            for path in ["/show.php", "/none", "/wrong.png"] { bench.server.on(path) { _ in .bytes(bytes, type: nil) } }
            let urls = ["/show.php", "/none", "/wrong.png"].map { bench.server.url($0) }

            let kept = try await bench.coderhost(["fetch", "--allow-private", "-o", "{stem}.{ext}"] + urls)
            let made = try await bench.fetch("-o", "made.{ext}", "-f", "png", urls[0])

            #expect(kept.status == 0 && made.status == 0, "\(kept.stderr)\(made.stderr)")
            for name in ["show.jpg", "none.jpg", "wrong.jpg"] { #expect(bench.output(name) == bytes, "\(name)") }
            #expect(bench.output("made.png")?.prefix(4) == [0x89, 0x50, 0x4E, 0x47])
        }
    }

    @Test func `with equal names go to the first URL, and downloads do not wait`() async throws {
        try await Bench.run { bench in
            let (jpeg, png) = (try bench.serve("photo.jpg"), try bench.serve("photo.png"))
            let gate = Gate()
            bench.server.on("/slow/photo.jpg") { _ in .gated(jpeg, after: 10, gate) }
            bench.server.on("/other.png") { _ in
                // Requested while the first download is running.
                gate.open()
                return .bytes(png)
            }
            let result = try await bench.fetch(
                bench.server.url("/slow/photo.jpg"), bench.server.url("/photo.jpg"), bench.server.url("/other.png"))

            #expect(result.status == 1 && result.stderr.contains("was already written from"), "\(result.stderr)")
            #expect(result.stderr.contains("{stem}-{n}.jpg'"))
            #expect(bench.output("photo.jpg") == jpeg && bench.output("other.png") == png)
        }
    }

    @Test(arguments: [
        ["fetch", "--overwrite", "--no-overwrite"], ["fetch", "--header", "A: 1", "--header", "a: 2"],
        ["fetch", "--header", "Host: x"], ["fetch", "--offline", "--refresh"],
    ])
    func `with contradicting options are refused`(words: [String]) async throws {
        try await Bench.run { bench in
            let result = try await bench.coderhost(words + ["--allow-private", bench.server.url("/photo.png")])
            #expect(result.status == 64 && result.stderr.contains("try: "), "\(result.stderr)")
            #expect(bench.server.connections == 0)
        }
    }

    @Test(arguments: [
        ["-o", "there.png", "--no-overwrite"], ["-o", "./", "--no-overwrite"], ["-o", "{stem}.jpg", "--no-overwrite"],
        ["-o", "none/x.png"], ["-o", "none/{stem}.png", "--no-mkdir"], [], ["-f", "webp"],
    ])
    func `are refused before any request`(words: [String]) async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.png")
            for name in ["there.png", "photo.png", "photo.jpg", "photo.webp"] { bench.place.write([1], to: name) }

            let result = try await bench.coderhost(
                ["fetch", "--allow-private", bench.server.url("/photo.png")] + words)

            #expect(result.status == 73, "\(result.stderr)")
            #expect(bench.server.connections == 0)
        }
    }

    @Test(arguments: ["none/", "none/x.png", "none/{stem}.png"])
    func `have the same remedy and exit code for a missing folder`(output: String) async throws {
        try await Bench.run { bench in
            let result = try await bench.fetch(bench.server.url("/photo.png"), "-o", output, "--no-mkdir")

            #expect(result.status == 73)
            #expect(result.stderr.contains("mkdir -p none/"), "\(result.stderr)")
        }
    }

    @Test func `are numbered from 0, and ignore the folder of a URL`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.png")
            let url = bench.server.url("/photo.png")

            let numbered = try await bench.fetch(url, url, "-o", "{n}-{stem}.png")
            let folder = try await bench.fetch(url, "-o", "{dir}{stem}.png")
            let twice = try await bench.fetch(url, url, "-o", "{stem}-x.png")

            #expect(numbered.status == 0 && bench.outputs.starts(with: ["0-photo.png", "1-photo.png"]))
            #expect(folder.status == 64 && folder.stderr.contains("{stem} {ext} {n} {w} {h}"), "\(folder.stderr)")
            #expect(twice.status == 1 && !twice.stderr.contains("{dir}"), "\(twice.stderr)")
        }
    }

    @Test func `that are complete are reported before a signal ends the process`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            let gate = Gate()
            bench.server.on("/slow.png") { _ in .gated(bytes, after: bytes.count / 2, gate) }
            let script = """
                "$0" fetch --allow-private "$1" "$2" >said & child=$!
                until [ -e photo.png ]; do sleep 0.02; done
                kill -INT $child
                wait $child
                """
            let words = ["/slow.png", "/photo.png"].map { bench.server.url($0) }

            // A shell without job control makes background processes ignore interrupts.
            let result = try await bench.shell("set -m\n" + script, words)
            gate.open()

            #expect(result.status == 130, "\(result.stderr)")
            #expect(bench.output("said").map { String(decoding: $0, as: UTF8.self) }?.hasPrefix("photo.png: ") == true)
            #expect(result.stderr.contains("interrupted: 1 of 2"), "\(result.stderr)")
            #expect(bench.outputs == ["photo.png", "said"])
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Previews of fetch` {
    private func serve(_ bench: Bench) throws -> [UInt8] {
        let bytes = try #require(readFile(Repository.fixture("images/f-progressive.jpg")))
        bench.server.on("/p.jpg") { _ in .chunked(bytes, piece: max(1, bytes.count / 8), every: 400) }
        bench.place.folder("looks")
        return bytes
    }

    @Test(arguments: ["mkfifo looks/p-0000.png", "ln -s ../victim looks/p-0000.png"])
    func `follow no link and do not block on a pipe`(command: String) async throws {
        try await Bench.run { bench in
            let bytes = try serve(bench)
            bench.place.write([1, 2, 3], to: "victim")
            _ = try await bench.shell(command, [])

            let result = try await bench.fetch(
                "--json", "--progressive-to", "looks", bench.server.url("/p.jpg"), "-o", "p.jpg")
            let warnings = try #require(result.documents.first)["warnings"].list.compactMap(\.text)

            #expect(result.status == 0 && bench.output("p.jpg") == bytes)
            #expect(bench.output("victim") == [1, 2, 3])
            #expect(warnings.contains { $0.contains("cannot write a preview: looks/p-0000.png exists") })
        }
    }

    @Test func `of a failed download are reported`() async throws {
        try await Bench.run { bench in
            let bytes = try serve(bench)
            // A decodable beginning, followed by invalid data.
            let broken = bytes.prefix(bytes.count * 3 / 4)
            bench.server.on("/cut.jpg") { _ in .chunked(Array(broken), piece: max(1, bytes.count / 8), every: 400) }
            let words = ["--progressive-to", "looks", bench.server.url("/cut.jpg")]

            let told = try await bench.coderhost(["fetch", "--allow-private", "--json"] + words)
            let said = try await bench.coderhost(["fetch", "--allow-private"] + words)
            let previews = try #require(told.documents.first)["previews"].list.compactMap(\.text)

            #expect(told.status == 65 && said.status == 65, "\(told.stdout)")
            #expect(previews.first == "looks/cut-0000.png" && previews.allSatisfy { bench.output($0) != nil })
            #expect(said.stderr.contains("previews kept: looks/cut-0000.png"), "\(said.stderr)")
        }
    }

    @Test func `that are missing cause a warning`() async throws {
        try await Bench.run { bench in
            // The format shows nothing before its last byte.
            let bytes = try #require(readFile(Repository.fixture("images/f.heic")))
            bench.server.on("/f.heic") { _ in .chunked(bytes, piece: bytes.count / 3, every: 50) }
            bench.place.folder("looks")

            let result = try await bench.fetch("--json", "--progressive-to", "looks", bench.server.url("/f.heic"))
            let document = try #require(result.documents.first)

            #expect(result.status == 0 && document["previews"].list.isEmpty, "\(result.stdout)")
            #expect(
                document["warnings"].list.compactMap(\.text)
                    == ["no previews: no part was visible before the download was complete"])
            #expect(!bench.outputs.contains { $0.hasPrefix("looks/") })
        }
    }

    @Test(arguments: ["images/three-frames.gif", "images/three-frames.webp", "apng/three-frames.png"])
    func `of an animation are its frames`(name: String) async throws {
        try await Bench.run { bench in
            let bytes = try #require(readFile(Repository.fixture(name)))
            let gate = Gate()
            // APNG: without the end mark and the last checksum, the last frame is already complete.
            let count = name.hasSuffix(".png") ? bytes.count - 4 : bytes.count - 1
            bench.server.on("/a") { _ in .gated(bytes, after: count, gate, type: nil) }
            bench.place.folder("looks")
            let manager = CoderHost(
                configuration: HostConfiguration(directories: [.init(Repository.products, origin: .argument)])
            ).manager
            let whole = try AnimatedImage(ImageSource(bytes), manager: manager)
            // The last byte of a WebP belongs to its last frame.
            let frames = (0..<whole.frameCount - (name.hasSuffix(".webp") ? 1 : 0)).map { $0 }

            let output = name.hasSuffix(".png") ? "a.apng" : name.hasSuffix(".gif") ? "a.gif" : "a.webp"

            async let fetched = bench.fetch(
                "--json", "--progressive-to", "looks", bench.server.url("/a"), "-o", output)
            let last = bench.place.file("looks/a-000\(frames.count - 1).png")
            while readFile(last) == nil, !Task.isCancelled { try await Task.sleep(for: .milliseconds(20)) }
            gate.open()
            let result = try await fetched
            let document = try #require(result.documents.first)
            let previews = document["previews"].list.compactMap(\.text)

            #expect(result.status == 0, "\(result.stderr)")
            #expect(
                document["warnings"].list.compactMap(\.text).allSatisfy { !$0.contains("preview") }, "\(result.stdout)")
            #expect(previews.count >= frames.count)
            for (index, path) in zip(frames, previews.suffix(frames.count)) {
                let written = try manager.decode(ImageSource(path: bench.place.file(path)))
                #expect(try PixelDigest.of(written.pixels) == PixelDigest.of(whole.frame(at: index).pixels), "\(path)")
            }
        }
    }
}
