import CoderHost
import TestSupport
import Testing

/// Files that were linked in an unsafe way.
@Suite(.timeLimit(.minutes(40))) struct `The gate for shared objects` {
    struct Sample: Sendable, CustomTestStringConvertible {
        var name: String
        /// Options for linker and compiler; `@` stands for the test's folder.
        var flags: [String] = []
        /// Assembly that is linked in.
        var assembly = ""
        var reason: String
        var testDescription: String { name }
    }

    private static let note = ".section .note.GNU-stack,\"\",%progbits\n"

    static let refused = [
        Sample(name: "executable stack", flags: ["-Wl,-z,execstack"], reason: "asks for an executable stack"),
        Sample(name: "assembly without a note", assembly: ".text\n", reason: "asks for an executable stack"),
        Sample(
            name: "text relocation", flags: ["-Wl,-z,notext"], assembly: note + ".text\n.balign 8\n.quad cpi_entry_1\n",
            reason: "TEXTREL"),
        Sample(
            name: "writable code", assembly: note + ".section .both,\"awx\",%progbits\n.quad 1\n",
            reason: "writable and executable"),
        Sample(name: "relative run path", flags: ["-Wl,-rpath,lib"], reason: "run path has \"lib\""),
        Sample(name: "working directory", flags: ["-Wl,-rpath,/usr/lib:"], reason: "run path has \"\""),
        Sample(name: "old run path", flags: ["-Wl,-rpath,.", "-Wl,--disable-new-dtags"], reason: "run path has \".\""),
        Sample(name: "token of the loader", flags: ["-Wl,-rpath,/usr/$LIB"], reason: "run path has \"/usr/$LIB\""),
        Sample(name: "run path of others", flags: ["-Wl,-rpath,@/open"], reason: "open: any user can write to it"),
        Sample(
            name: "run path that others could make", flags: ["-Wl,-rpath,@/open/later/lib"],
            reason: "open: any user can write to it"),
        Sample(
            name: "run path beside it", flags: ["-Wl,-rpath,$ORIGIN/../open"],
            reason: "open: any user can write to it"),
        Sample(name: "auxiliary", flags: ["-Wl,-f,libother.so"], reason: "DT_AUXILIARY"),
        Sample(name: "filter", flags: ["-Wl,-F,libother.so"], reason: "DT_FILTER"),
        Sample(name: "audit", flags: ["-Wl,--audit=libother.so"], reason: "DT_AUDIT"),
        Sample(name: "audit of what it needs", flags: ["-Wl,--depaudit=libother.so"], reason: "DT_DEPAUDIT"),
    ]

    /// Builds the plugin in the folder `plugins` beside a folder that any user can write to.
    private func build(_ sample: Sample) throws -> TemporaryDirectory {
        let place = TemporaryDirectory()
        try shell("chmod", "0777", place.folder("open"))
        place.folder("plugins")
        var flags = sample.flags.map { $0.replacing("@", with: place.path) }
        if !sample.assembly.isEmpty { flags.append(place.write(Array(sample.assembly.utf8), to: "more.s")) }
        try PluginBuilder.build("bad/claims-formats.c", flags: flags, into: place.file("plugins"))
        return place
    }

    @Test(arguments: refused) func `refuses`(sample: Sample) throws {
        let place = try build(sample)

        let host = testHost(place.file("plugins"))

        let status = try #require(host.plugins.first).status
        #expect(status.state == .unsafeELF)
        #expect(status.reason.contains(sample.reason), "\(status.reason)")
        #expect(!status.remedy.isEmpty)
        #expect(!host.manager.canDecode(badImage))
        #expect(testHost(place.file("plugins"), policy: .any).plugins.map(\.status.state) == [.unsafeELF])
    }

    static let allowed = [
        ["-Wl,-rpath,$ORIGIN"], ["-Wl,-rpath,${ORIGIN}/lib"], ["-Wl,-rpath,/usr/lib:/lib"], ["-Wl,-rpath,/nowhere/lib"],
        ["-Wl,-z,now"], ["-Wl,-z,noexecstack"], ["-Wl,--hash-style=sysv"], ["-Wl,--hash-style=both"],
    ]

    @Test(arguments: allowed) func `accepts common link options`(flags: [String]) throws {
        let place = try build(Sample(name: "", flags: flags, reason: ""))
        let host = testHost(place.file("plugins"))

        let plugin = try #require(host.plugins.first)

        #expect(plugin.status == PluginStatus(.ready))
        #expect(plugin.warnings.isEmpty)
        #expect(try host.manager.decode(badImage).coder == "org.example.bad")
    }

    @Test func `refuses a file that needs another one by path`() throws {
        let place = try build(Sample(name: "", reason: ""))
        let library = try PluginBuilder.build("bad/absent.c", into: place.path, named: "libabsent.so")
        try shell("chmod", "o+w", library)

        for (path, reason) in [
            ("./libabsent.so", "relative to the working directory"), (library, "any user can write to it"),
        ] {
            let built = try run(
                [
                    "cc", "-shared", "-fPIC", "-fvisibility=hidden", "-I\(PluginBuilder.headers)", "-Wl,--no-as-needed",
                    "\(Repository.root)/Tests/ThirdParty/bad/claims-formats.c", path, "-o",
                    place.file("plugins/libcoder-claims-formats.so"),
                ], directory: place.path)
            try #require(built.status == 0, "\(built.stderr)")

            let status = try #require(testHost(place.file("plugins")).plugins.first).status

            #expect(status.state == .unsafeELF)
            #expect(status.reason.contains(path) && status.reason.contains(reason), "\(status.reason)")
        }
    }

    // MARK: Files that no linker produces

    /// - Source: System V ABI, program header: type 0, flags 4, offset 8, file size 32; `DT_FLAGS_1` of GNU.
    private func patched(_ flags: [String] = [], _ change: (inout [UInt8], _ headers: [Int]) throws -> Void) throws
        -> PluginStatus
    {
        let folder = TemporaryDirectory()
        var bytes = try BuiltPlugin.bytes("claims-formats", flags)
        let first = number(bytes, 32, 8)
        try change(&bytes, (0..<number(bytes, 56, 2)).map { first + $0 * 56 })
        folder.write(bytes, to: "libcoder-x.so")
        return try #require(testHost(folder.path).plugins.first).status
    }

    private func number(_ bytes: [UInt8], _ at: Int, _ count: Int) -> Int {
        (0..<count).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
    }

    @Test func `refuses a file without a stack header`() throws {
        let status = try patched { bytes, headers in
            let stack = try #require(headers.first { number(bytes, $0, 4) == 0x6474_E551 })
            for at in stack..<stack + 4 { bytes[at] = 0 }
        }

        #expect(status.state == .unsafeELF)
        #expect(status.reason.contains("has no GNU_STACK header"))
    }

    @Test func `refuses a program`() throws {
        let status = try patched(["-Wl,-z,now"]) { bytes, headers in
            let dynamic = try #require(headers.first { number(bytes, $0, 4) == 2 })
            let start = number(bytes, dynamic + 8, 8)
            let entries = stride(from: start, to: start + number(bytes, dynamic + 32, 8), by: 16)
            let flags = try #require(entries.first { number(bytes, $0, 8) == 0x6FFF_FFFB })
            bytes[flags + 8 + 3] |= 0x08  // DF_1_PIE
        }

        #expect(status.state == .unsafeELF)
        #expect(status.reason.contains("a program"))
    }

    @Test func `refuses a dynamic section that the loader would not use`() throws {
        let moved = try patched { bytes, headers in
            let dynamic = try #require(headers.first { number(bytes, $0, 4) == 2 })
            bytes[dynamic + 8] ^= 0x10
        }
        let second = try patched { bytes, headers in
            let note = try #require(headers.last { number(bytes, $0, 4) == 0x6474_E551 })
            bytes[note] = 2
            for at in note + 1..<note + 4 { bytes[at] = 0 }
        }

        for status in [moved, second] {
            #expect(status.state == .notAPlugin)
            #expect(status.reason.contains("not at the address that the loader uses"), "\(status)")
        }
    }

    // MARK: Exports

    @Test func `warns about names that may clash, and uses the file`() throws {
        let names = (0..<5).map { ".globl helper\($0)\n.type helper\($0), %function\nhelper\($0):\n" }.joined()
        let place = try build(Sample(name: "", assembly: Self.note + ".text\n" + names + ".quad 0\n", reason: ""))

        let plugin = try #require(testHost(place.file("plugins")).plugins.first)

        #expect(plugin.status == PluginStatus(.ready))
        #expect(plugin.warnings.count == 1)
        #expect(plugin.warnings.first?.contains("exports 5 more") == true)
        #expect(plugin.warnings.first?.contains("helper0, helper1, helper2, …") == true)
    }

    @Test func `handles a broken symbol table`() throws {
        let bytes = try BuiltPlugin.bytes("claims-formats", ["-Wl,--hash-style=gnu"])
        let folder = TemporaryDirectory()
        var random = SeededRandom(7)
        // The tables are in the first page.
        for _ in 0..<400 {
            var damaged = bytes
            for _ in 0..<4 { damaged[Int(random.next() % 2048) + 64] = UInt8(truncatingIfNeeded: random.next()) }
            folder.write(damaged, to: "libcoder-x.so")
            #expect(testHost(folder.path).plugins.count == 1)
        }
    }
}
