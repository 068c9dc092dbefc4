import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Commands with folders` {
    let place = TemporaryDirectory()

    init() throws {
        for folder in ["photos/2023", "photos/2024/may", "photos/.hidden"] {
            try FileManager.default.createDirectory(atPath: place.file(folder), withIntermediateDirectories: true)
        }
        try copy("images/f.png", "photos/2023/b.png")
        try copy("images/photo.jpg", "photos/2024/may/a.JPG")
        try copy("images/three-frames.gif", "photos/c.gif")
        try copy("images/f.png", "photos/.hidden/no.png")
        #expect(writeFile(place.file("photos/notes.txt"), Array("no image".utf8)))
        try Tool.link("..", at: place.file("photos/2023/loop"))
    }

    private func copy(_ fixture: String, _ name: String) throws {
        try Tool.copy(Repository.fixture(fixture), to: place.file(name))
    }

    private func run(_ words: String..., input: [UInt8] = []) throws -> CommandResult {
        try Tool.run(words, input: input, directory: place.path)
    }

    private func files(in folder: String) -> [String] {
        let all = FileManager.default.enumerator(atPath: place.file(folder))?.allObjects as? [String] ?? []
        return all.filter { FileName($0).contains(".") }.sorted()
    }

    private func FileName(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? "" }

    @Test func `convert keeps the tree, and counts files that are no images`() throws {
        let result = try run("convert", "-r", "photos", "-o", "web", "-f", "webp")

        #expect(result.status == 0, "\(result.stderr)")
        #expect(files(in: "web") == ["2023/b.webp", "2024/may/a.webp", "c.webp"])
        #expect(
            result.stderr.hasPrefix(
                "coderhost: 3 written, 1 file skipped because no coder recognizes it; 8.7 KiB -> "), "\(result.stderr)")
    }

    @Test func `a second run with --skip-existing continues, and writes only outputs older than their input`() throws {
        let words = ["convert", "-r", "photos", "-o", "web/", "-f", "webp", "--skip-existing", "--json"]
        #expect(try Tool.run(words, directory: place.path).status == 0)
        try FileManager.default.removeItem(atPath: place.file("web/c.webp"))
        let future = Date(timeIntervalSinceNow: 1000)
        try FileManager.default.setAttributes(
            [.modificationDate: future], ofItemAtPath: place.file("photos/2023/b.png"))
        // An output of the same time is not older.
        for name in ["photos/2024/may/a.JPG", "web/2024/may/a.webp"] {
            try FileManager.default.setAttributes([.modificationDate: future], ofItemAtPath: place.file(name))
        }

        let result = try Tool.run(words, directory: place.path)
        let skipped = result.documents.filter { $0["skipped"].exists }.map { $0["file"].text }
        #expect(skipped == ["photos/2024/may/a.JPG", "photos/notes.txt"])
        let summary = result.documents.last?["summary"]
        #expect(summary?["written"].integer == 2 && summary?["skipped"].integer == 1, "\(result.stdout)")
        #expect(summary?["unrecognized"].integer == 1 && summary?["failed"].integer == 0)
    }

    @Test func `--skip-existing writes an empty output again, and keeps one as old as its input`() throws {
        let words = [
            "convert", "photos/c.gif", "photos/2023/b.png", "-o", "web/", "-f", "webp", "--skip-existing", "-v",
        ]
        #expect(try Tool.run(words, directory: place.path).status == 0)
        let time = Date(timeIntervalSince1970: 1_000_000_000)
        for name in ["photos/2023/b.png", "web/b.webp"] {
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: place.file(name))
        }
        #expect(writeFile(place.file("web/c.webp"), []))

        let result = try Tool.run(words, directory: place.path)

        #expect(result.status == 0)
        #expect(result.stderr.contains("photos/2023/b.png -> web/b.webp  [skipped: the output is up to date]"))
        #expect(result.stderr.contains("coderhost: 1 written, 1 skipped because the output is up to date; "))
        #expect(try #require(readFile(place.file("web/c.webp"))).count > 0)
    }

    @Test(arguments: [["convert", "-f", "webp"], ["rewrite", "--strip", "gps"]])
    func `--skip-existing does not hide that two inputs have one output`(command: [String]) throws {
        for folder in ["photos/2023", "photos/2024"] { try copy("images/f.png", "\(folder)/same.png") }
        let words = command + ["photos/2023/same.png", "photos/2024/same.png", "-o", "web/", "--skip-existing"]
        for _ in 0..<2 {
            let result = try Tool.run(words, directory: place.path)

            #expect(result.status == 1)
            #expect(result.stderr.contains("written from photos/2023/same.png"), "\(result.stderr)")
        }
    }

    @Test func `a damaged image is a failure, although other files are skipped`() throws {
        #expect(writeFile(place.file("photos/broken.jpg"), Array("no image".utf8)))

        let result = try run("convert", "-r", "photos", "-o", "web/", "-f", "png")
        #expect(result.status == 1)
        #expect(result.stderr.contains("coderhost: photos/broken.jpg: ") && result.stderr.contains(", 1 failed; "))
        #expect(files(in: "web").count == 3)
    }

    @Test func `a run does not find the outputs of an earlier run`() throws {
        for _ in 0..<2 {
            let result = try run("convert", "-r", "photos", "-o", "photos/web/", "-f", "webp")
            #expect(result.stderr.hasPrefix("coderhost: 3 written"), "\(result.stderr)")
        }
        #expect(files(in: "photos/web") == ["2023/b.webp", "2024/may/a.webp", "c.webp"])
    }

    @Test func `--glob selects files by name and by path`() throws {
        _ = try run("convert", "-r", "photos", "--glob", "*.{jpg,gif}", "-o", "one/", "-f", "png")
        #expect(files(in: "one") == ["2024/may/a.png", "c.png"])
        _ = try run("convert", "--glob", "photos/202*/**", "--glob", "c.gif", "-o", "two/", "-f", "png")
        #expect(files(in: "two") == ["photos/2023/b.png", "photos/2024/may/a.png", "photos/c.png"])
        let none = try run("convert", "-r", "photos", "--glob", "*.tif", "-o", "three/", "-f", "png")
        #expect(none.status == 66 && none.stderr.contains("no files that match --glob in photos"))
    }

    @Test(arguments: ["\n", "\0"])
    func `--files-from reads a list with lines or NUL`(end: String) throws {
        let list = ["photos/2023/b.png", place.file("photos/c.gif")].joined(separator: end)
        let result = try run(
            "convert", "--files-from", "-", "-o", "out/{tree}{stem}.png", input: Array(list.utf8))

        #expect(result.status == 0, "\(result.stderr)")
        #expect(files(in: "out") == ["c.png", "photos/2023/b.png"])
    }

    @Test func `--files-from accepts an empty list, and refuses a missing one`() throws {
        let empty = try run("convert", "--files-from", "-", "-o", "out/")
        #expect(empty.status == 0 && empty.stderr == "coderhost: the list of files is empty\n")
        #expect(try run("convert", "--files-from", "nowhere", "-o", "out/").status == 66)
    }

    @Test func `several folders keep their own names`() throws {
        _ = try run("convert", "-r", "photos/2023", "photos/2024", "-o", "out/", "-f", "png")

        #expect(files(in: "out") == ["2023/b.png", "2024/may/a.png"])
    }

    @Test func `missing folders are made for composed names, unless --no-mkdir forbids it`() throws {
        #expect(try run("convert", "photos/c.gif", "-o", "x/y/{stem}.png").status == 0)
        #expect(files(in: "x/y") == ["c.png"])
        for output in ["z/", "z/{stem}.png"] {
            let result = try run("convert", "photos/c.gif", "-o", output, "--no-mkdir")
            #expect(result.status == 73 && result.stderr.contains("mkdir -p z/"), "\(result.stderr)")
        }
        #expect(try run("convert", "photos/c.gif", "-o", "w/a.png").status == 73)
        #expect(try run("convert", "photos/c.gif", "-o", "w/a.png", "--mkdir").status == 0)
    }

    @Test func `thumbnail makes its folder, and needs one with -r`() throws {
        #expect(try run("thumbnail", "-r", "photos").stderr.contains("thumbnail -r needs -o"))
        #expect(try run("thumbnail", "-r", "photos", "-s", "8", "-o", "thumbs/").status == 0)
        #expect(files(in: "thumbs") == ["2023/b.png", "2024/may/a.jpg", "c.gif"])
    }

    @Test func `info and rewrite take folders`() throws {
        let info = try run("info", "-r", "photos", "-f", "format")
        #expect(info.stdout == "png\njpeg\ngif\n")
        #expect(info.stderr == "coderhost: 1 file skipped because no coder recognizes it\n")
        let rewrite = try run("rewrite", "-r", "photos", "--glob", "*.jpg", "--strip", "exif", "-o", "clean/")
        #expect(rewrite.status == 0 && files(in: "clean") == ["2024/may/a.JPG"], "\(rewrite.stderr)")
    }

    @Test func `a folder without -r names the option`() throws {
        let result = try run("convert", "photos", "-o", "out/", "-f", "png")

        #expect(result.status == 74 && result.stderr.contains("try: pass -r"), "\(result.stderr)")
    }

    @Test func `frames without a subcommand mean info, or extract into a folder`() throws {
        #expect(try run("frames", "photos/c.gif").stdout == run("frames", "info", "photos/c.gif").stdout)
        #expect(try run("frames", "photos/c.gif", "-o", "fr/").status == 0)
        #expect(files(in: "fr") == ["c-0.png", "c-1.png", "c-2.png"])
        #expect(try run("frames", "extract", "photos/c.gif", "-o", "new", "-f", "ppm").status == 0)
        #expect(files(in: "new") == ["c-0.ppm", "c-1.ppm", "c-2.ppm"])
        #expect(try run("frames", "photos/c.gif", "-o", "other").status == 0)
        #expect(files(in: "other") == ["c-0.png", "c-1.png", "c-2.png"])
        let unclear = try run("frames", "photos/c.gif", "-o", "x.gif")
        #expect(unclear.status == 64 && unclear.stderr.contains("frames assemble writes an animation to x.gif"))
    }
}
