import CoderHost
import Glibc
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `File sink` {
    private let folder = TemporaryDirectory()

    private func names() throws -> [String] {
        try run(["ls", "-A", folder.path]).stdout.split(separator: "\n").map(String.init)
    }

    private func mode(_ path: String) throws -> String {
        String(try run(["stat", "-c", "%a", path]).stdout.dropLast())
    }

    private func write(_ text: String, to path: String, replacing: Bool = true, committing: Bool = true) throws {
        let sink = try FileSink(path: path, replacing: replacing)
        try Array(text.utf8).withSpan { span throws(CoderError) in try sink.write(span) }
        if committing { try sink.commit() }
    }

    private func content(_ path: String) -> String? { readFile(path).map { String(decoding: $0, as: UTF8.self) } }

    @Test func `shows a file only when it is complete`() throws {
        let path = folder.file("out.png")
        do {
            let sink = try FileSink(path: path, replacing: false)
            try Array("half".utf8).withSpan { span throws(CoderError) in try sink.write(span) }
            #expect(try names().filter { !$0.hasPrefix(".") }.isEmpty)
            try Array(" whole".utf8).withSpan { span throws(CoderError) in try sink.write(span) }
            try sink.commit()
        }

        #expect(content(path) == "half whole")
        #expect(try names() == ["out.png"])
    }

    @Test func `leaves no files without a commit, and keeps an old file`() throws {
        let path = folder.write(Array("old".utf8), to: "out.png")

        try write("new", to: path, committing: false)

        #expect(content(path) == "old")
        #expect(try names() == ["out.png"])
    }

    @Test func `replaces only if allowed`() throws {
        let path = folder.write(Array("old".utf8), to: "out.png")

        let error = #expect(throws: CoderError.self) { try write("new", to: path, replacing: false) }
        #expect(error?.code == .cannotCreate)
        #expect(error?.message == "\(path) exists")
        #expect(error?.hint != nil)
        #expect(content(path) == "old")
        try write("new", to: path)

        #expect(content(path) == "new")
        #expect(try names() == ["out.png"])
    }

    @Test func `does not replace a file that was created meanwhile`() throws {
        let path = folder.file("out.png")
        let error = try {
            let sink = try FileSink(path: path, replacing: false)
            try Array("new".utf8).withSpan { span throws(CoderError) in try sink.write(span) }
            folder.write(Array("another writer".utf8), to: "out.png")
            return #expect(throws: CoderError.self) { try sink.commit() }
        }()

        #expect(error?.code == .cannotCreate)
        #expect(content(path) == "another writer")
        #expect(try names() == ["out.png"])
    }

    @Test(arguments: ["600", "640", "755", "444"]) func `keeps the permissions of a file it replaces`(
        mode: String
    ) throws {
        let path = folder.write(Array("old".utf8), to: "out.png")
        try shell("chmod", mode, path)

        try write("new", to: path)

        #expect(content(path) == "new")
        #expect(try self.mode(path) == mode)
    }

    @Test func `gives a new file the usual permissions`() throws {
        try write("new", to: folder.file("out.png"))
        try shell("sh", "-c", "umask; : > \(folder.file("usual"))")

        #expect(try mode(folder.file("out.png")) == mode(folder.file("usual")))
    }

    @Test(arguments: ["ln -s", "ln -sr"]) func `replaces the target of a link, not the link`(command: String) throws {
        let target = folder.write(Array("old".utf8), to: "target")
        _ = try run(command.split(separator: " ").map(String.init) + [target, folder.file("link.png")])

        try write("new", to: folder.file("link.png"))

        #expect(content(target) == "new")
        #expect(try run(["readlink", "-f", folder.file("link.png")]).stdout == target + "\n")
        #expect(try names() == ["link.png", "target"])
    }

    @Test func `follows links over several folders`() throws {
        folder.folder("a")
        folder.folder("b")
        folder.write(Array("old".utf8), to: "b/target")
        try shell("ln", "-s", "../b/target", folder.file("a/link"))

        try write("new", to: folder.file("a/link"))

        #expect(content(folder.file("b/target")) == "new")
        #expect(try run(["readlink", folder.file("a/link")]).stdout == "../b/target\n")
        #expect(try run(["ls", "-A", folder.file("a"), folder.file("b")]).stdout.contains(".tmp") == false)
    }

    @Test func `creates the target of a dangling link`() throws {
        try shell("ln", "-s", "target", folder.file("link"))

        try write("new", to: folder.file("link"))

        #expect(content(folder.file("target")) == "new")
        #expect(try run(["readlink", folder.file("link")]).stdout == "target\n")
    }

    @Test func `writes directly to pipes and devices`() throws {
        #expect(throws: Never.self) { try write("gone", to: "/dev/null") }
        let fifo = folder.file("fifo")
        try shell("mkfifo", fifo)
        try shell("sh", "-c", "cat \"$0\" > \"$1\" 2>/dev/null &", fifo, folder.file("read"))

        try write("through", to: fifo)
        try shell(
            "sh", "-c", "for i in $(seq 100); do test -s \"$0\" && exit 0; sleep 0.1; done; exit 1", folder.file("read")
        )

        #expect(content(folder.file("read")) == "through")
        #expect(try names() == ["fifo", "read"])
    }

    @Test(arguments: ["fifo", "/dev/null", "dangling", "folder-link"])
    func `treats anything with the name as existing`(name: String) throws {
        try shell("mkfifo", folder.file("fifo"))
        try shell("ln", "-s", "elsewhere", folder.file("dangling"))
        try shell("ln", "-s", folder.folder("folder"), folder.file("folder-link"))
        let path = name.hasPrefix("/") ? name : folder.file(name)

        let error = #expect(throws: CoderError.self) { try write("new", to: path, replacing: false) }

        #expect(error?.code == .cannotCreate && error?.message == "\(path) exists")
        #expect(try names() == ["dangling", "fifo", "folder", "folder-link"])
    }

    @Test func `waits for no pipe and follows no link if only files may be replaced`() throws {
        folder.write(Array("old".utf8), to: "file")
        try shell("mkfifo", folder.file("fifo"))
        try shell("ln", "-s", "file", folder.file("link"))
        try shell("ln", "-s", "elsewhere", folder.file("dangling"))
        func write(_ name: String, followingLinks: Bool) throws {
            let sink = try FileSink(path: folder.file(name), over: .files(followingLinks: followingLinks))
            try Array(name.utf8).withSpan { span throws(CoderError) in try sink.write(span) }
            try sink.commit()
        }

        for name in ["fifo", "link", "dangling"] {
            let error = #expect(throws: CoderError.self) { try write(name, followingLinks: false) }
            #expect(error?.code == .cannotCreate && error?.hint != nil)
        }
        #expect(throws: CoderError.self) { try write("fifo", followingLinks: true) }
        #expect(content(folder.file("file")) == "old")
        try write("link", followingLinks: true)
        #expect(content(folder.file("file")) == "link")
        try write("file", followingLinks: false)
        #expect(content(folder.file("file")) == "file")
        #expect(try names() == ["dangling", "fifo", "file", "link"])
    }

    @Test func `explains how to create a missing folder`() throws {
        let error = #expect(throws: CoderError.self) {
            try FileSink(path: folder.file("no folder/x.png"), replacing: true)
        }

        #expect(error?.hint == "make the folder first: mkdir -p '\(folder.file("no folder/"))'")
    }

    @Test(arguments: ["", "/", "/nofolder/x.png", "folder", "file/x.png"]) func `reports that it cannot create`(
        name: String
    ) throws {
        folder.folder("folder")
        folder.write([], to: "file")
        let path = name.hasPrefix("/") || name.isEmpty ? name : folder.file(name)

        let error = #expect(throws: CoderError.self) { try FileSink(path: path, replacing: true) }

        #expect(error?.code == .cannotCreate)
        #expect(error?.hint != nil)
        #expect(try names() == ["file", "folder"])
    }

    @Test(.enabled(if: geteuid() != 0, "root may write everywhere")) func `reports a folder without write permission`()
        throws
    {
        try shell("chmod", "555", folder.path)
        defer { try? shell("chmod", "755", folder.path) }

        let error = #expect(throws: CoderError.self) { try FileSink(path: folder.file("x.png"), replacing: true) }

        #expect(error?.code == .cannotCreate)
        #expect(error?.message.contains("Permission denied") == true)
    }

    @Test(arguments: ["é", "絵", "😀", "a"]) func `accepts the longest possible file names`(character: String) throws {
        let count = 255 / character.utf8.count
        let path = folder.file(String(repeating: character, count: count))

        try write("new", to: path)

        #expect(content(path) == "new")
        #expect(try names().count == 1)
    }

    @Test func `reports a full device`() throws {
        let error = #expect(throws: CoderError.self) { try write("text", to: "/dev/full") }

        #expect(error?.code == .inputOutput)
        #expect(error?.message.contains("No space left") == true)
        #expect(error?.hint == "free some space, or write to another place")
    }

    /// A file system of one page, if mounting is allowed.
    @Test(.enabled(if: geteuid() == 0 && `File sink`.canMount, "a small file system cannot be mounted"))
    func `leaves no files on a full disk`() throws {
        let disk = folder.folder("disk")
        try shell("mount", "-t", "tmpfs", "-o", "size=64k", "none", disk)
        defer { try? shell("umount", disk) }
        folder.write(Array("old".utf8), to: "disk/out.pam")
        let buffer = try PixelBuffer(size: PixelSize(200, 200), format: .rgba8)
        let image = DecodedImage(
            info: ImageInfo(size: buffer.size, nativeFormat: .rgba8), pixels: buffer, format: "x", coder: "x")

        let error = #expect(throws: CoderError.self) {
            let sink = try FileSink(path: "\(disk)/out.pam", replacing: true)
            try testHost().manager.encode(image, to: "pam", into: sink)
            try sink.commit()
        }

        #expect(error?.code == .inputOutput)
        #expect(content("\(disk)/out.pam") == "old")
        #expect(try run(["ls", "-A", disk]).stdout == "out.pam\n")
    }

    fileprivate static let canMount: Bool = {
        let folder = TemporaryDirectory()
        guard (try? shell("mount", "-t", "tmpfs", "-o", "size=64k", "none", folder.path)) != nil else { return false }
        try? shell("umount", folder.path)
        return true
    }()
}
