import TestSupport
import Testing

/// The plugins in `Tests/ThirdParty/bad`, checked without running them.
@Suite(.timeLimit(.minutes(40))) struct `Bad plugins` {
    struct Sample: Sendable, CustomTestStringConvertible {
        var source: String
        var flags: [String] = []
        /// The number of manifests in the file.
        var manifests = 1
        /// The text in the manifest that shows the fault.
        var says = ""
        var exports = "cpi_entry_1"

        var testDescription: String { ([source] + flags).joined(separator: " ") }
    }

    static let samples = [
        Sample(source: "constructor-aborts"),
        Sample(source: "no-note", manifests: 0),
        Sample(source: "two-notes", manifests: 2),
        Sample(source: "manifest-mismatch", says: "\"org.example.promised\""),
        Sample(source: "manifest-mismatch", flags: ["-DMISMATCH=2"], says: "[\"decode\", \"encode\"]"),
        Sample(source: "manifest-mismatch", flags: ["-DMISMATCH=3"], says: "\"9.9.9\""),
        Sample(source: "manifest-mismatch", flags: ["-DMISMATCH=4"], says: "\"org.example.second\""),
        Sample(source: "null-entry"),
        Sample(source: "init-fails"),
        Sample(source: "needs-newer", says: "\"minor_needed\": 99"),
        Sample(source: "major-2", says: "\"major\": 2", exports: "cpi_entry_2"),
        Sample(source: "not-json", says: "\"plugin\": { \"id\": "),
        Sample(source: "oversized", says: String(repeating: " ", count: 1 << 16)),
        Sample(source: "same-pointer"),
        Sample(source: "bad-table-size"),
        Sample(source: "bad-table-size", flags: ["-DTABLE=2"]),
        Sample(source: "bad-table-size", flags: ["-DTABLE=3"]),
        Sample(source: "bad-table-size", flags: ["-DTABLE=4"]),
        Sample(
            source: "claims-formats", flags: ["-DNAME=first", "-DPRIORITY=200", "-DCOLOR=0x00ff00"],
            says: "\"priority\": 200"),
        Sample(
            source: "claims-formats", flags: ["-DNAME=second", "-DFORMAT=png", "-DSIGNATURE=89504e47"],
            says: "\"89504e47\""),
        Sample(source: "writes-nothing"),
        Sample(source: "answers", flags: ["-DANSWER=CPI_CORRUPT"]),
        Sample(source: "answers", flags: ["-DANSWER=CPI_NOT_MINE"]),
        Sample(source: "answers", flags: ["-DANSWER=CPI_UNSUPPORTED"]),
        Sample(source: "huge-size"),
        Sample(source: "undefined-values"),
        Sample(source: "endless"), Sample(source: "serial"),
    ]

    @Test(arguments: samples) func `are built and have the expected file structure`(sample: Sample) throws {
        let folder = TemporaryDirectory()

        let file = try PluginBuilder.build("bad/\(sample.source).c", flags: sample.flags, into: folder.path)
        let elf = try #require(Elf(file))

        #expect(elf.manifests.count == sample.manifests)
        #expect(elf.manifests.allSatisfy { $0.text.contains(sample.says) } || sample.says.isEmpty)
        #expect(try exportedSymbols(file) == [sample.exports])
    }

    @Test func `are all in the list above`() throws {
        let folder = "\(Repository.root)/Tests/ThirdParty/bad"

        let sources = try run(["ls", folder]).stdout.split(separator: "\n").filter { $0.hasSuffix(".c") }
            .map { String($0.dropLast(2)) }

        let helpers: Set = ["absent", "missing-library"]
        #expect(Set(sources).subtracting(helpers) == Set(Self.samples.map(\.source)))
    }

    @Test func `with an aborting constructor end the process that maps them`() throws {
        let folder = TemporaryDirectory()
        let host = try PluginBuilder.buildHost(into: folder.path)
        let file = try PluginBuilder.build("bad/constructor-aborts.c", into: folder.path)

        let result = try run([host, file, "decode", "memory"])

        #expect(result.status == -6)
        #expect(result.stderr.contains("was mapped"))
    }

    @Test func `can need a missing library`() throws {
        let folder = TemporaryDirectory()

        let file = try PluginBuilder.buildMissingLibrary(into: folder.path)

        #expect(try neededLibraries(file).contains("libcoderhost-absent.so.3"))
        #expect(try run(["ldd", file]).stdout.contains("libcoderhost-absent.so.3 => not found"))
    }

    @Test func `can be for another architecture`() throws {
        let folder = TemporaryDirectory()
        let ours = try #require(Elf(try PluginBuilder.build("bad/no-note.c", into: folder.path)))

        let elf = try #require(Elf(try PluginBuilder.buildWrongArchitecture(into: folder.path)))

        #expect(elf.machine != ours.machine)
        #expect(elf.manifests.count == 1)
    }

    @Test(arguments: [0, 4, 63, 64, 200, 4000]) func `can be truncated anywhere`(count: Int) throws {
        let folder = TemporaryDirectory()

        let file = try PluginBuilder.buildTruncated(to: count, into: folder.path)

        #expect(readFile(file)?.count == count)
    }

    @Test func `can be a file that is not a shared object`() throws {
        let folder = TemporaryDirectory()

        #expect(Elf(try PluginBuilder.writeText(into: folder.path)) == nil)
    }

    @Test(
        arguments: [
            ("answers", ["-DANSWER=CPI_NOT_MINE"], 101), ("answers", ["-DANSWER=CPI_UNSUPPORTED"], 102),
            ("answers", ["-DANSWER=CPI_CORRUPT"], 103), ("null-entry", [], 102), ("init-fails", [], 111),
            ("needs-newer", [], 99), ("same-pointer", [], 99),
        ] as [(String, [String], Int32)])
    func `return the status in their comment`(source: String, flags: [String], status: Int32) throws {
        let folder = TemporaryDirectory()
        let host = try PluginBuilder.buildHost(into: folder.path)
        let file = try PluginBuilder.build("bad/\(source).c", flags: flags, into: folder.path)

        #expect(try run([host, file, "decode", "memory"], input: Array("BAD!".utf8)).status == status)
    }
}
