import TestSupport
import Testing

/// Plugins with one fault each, and the checks that must find it; all other checks must pass or be skipped.
@Suite(.timeLimit(.minutes(40))) struct `The conformance kit finds` {
    static let table: [(plugin: String, checks: Set<String>)] = [
        ("abort", ["lifecycle.decode"]), ("closes-descriptors", ["state.descriptors"]), ("connects", ["state.network"]),
        ("crashes-at-exit", ["state.exit"]), ("cut-is-fine", ["input.truncated"]),
        ("different-pixels", ["determinism.decode"]), ("endless", ["lifecycle.decode"]),
        ("environment", ["state.environment"]), ("every-extension", ["negotiation.ids"]),
        ("exit", ["lifecycle.decode"]),
        ("exports-more", ["manifest.exports"]), ("forgets-errors", ["lifecycle.sticky"]),
        ("fork-bomb", ["state.processes"]), ("ignores-cancel", ["cancel.decode", "cancel.encode"]),
        ("ignores-limits", ["memory.budget"]), ("keeps-memory", ["memory.released"]), ("leak", ["memory.growth"]),
        ("wide-frame", ["frames.facts"]),
        // The C library reads a file for a locale.
        ("locale", ["state.locale", "state.files"]), ("longer-structs", ["negotiation.short-structs"]),
        ("long-metadata", ["limits.metadata"]), ("longjmp", ["lifecycle.decode"]),
        ("version-mismatch", ["manifest.reports"]),
        ("miscounts-frames", ["limits.frames"]), ("more-threads", ["threads.count"]),
        ("no-memory", ["memory.allocations", "contract.failed-open"]), ("opens-files", ["state.files"]),
        ("past-the-end", ["surface.guards"]),
        ("past-the-row", ["surface.guards"]), ("promises-metadata", ["roundtrip.metadata"]),
        ("reads-table", ["state.files", "isolation.decode"]), ("rounding", ["state.rounding"]),
        ("segfault", ["lifecycle.decode"]), ("signals", ["state.signals"]),
        ("thread-stays", ["state.threads"]), ("umask", ["state.umask"]), ("unset-pixels", ["surface.every-pixel"]),
        ("writes-output", ["state.output"]), ("wrong-signature", ["manifest.signatures"]),
        // Statuses, values, refusals and regions.
        ("odd-status", ["contract.statuses"]), ("odd-blend", ["contract.values"]),
        ("odd-disposal", ["contract.values"]), ("odd-loops", ["contract.values"]),
        ("odd-density", ["contract.values"]), ("odd-region-cost", ["contract.values"]),
        ("odd-role", ["contract.values"]), ("odd-concurrency", ["manifest.tables"]),
        ("newer-image-flag", ["contract.values"]), ("newer-frame-flag", ["contract.values"]),
        ("odd-blob", ["contract.values"]), ("odd-offer", ["contract.values"]), ("odd-outcome", ["abilities.rewrite"]),
        ("reserved-color", ["contract.values"]), ("reserved-frame", ["contract.values"]),
        ("keeps-refusals", ["contract.refusals"]), ("ignores-region", ["contract.region"]),
        ("other-region", ["contract.region"]), ("band-goes-on", ["contract.bands"]),
        ("dirty-late", ["contract.dirty"]), ("leaks-failed-open", ["contract.failed-open"]),
        ("blob-after-error", ["lifecycle.sticky"]),
        // Duties of a guest.
        ("leaks-unused", ["lifecycle.close"]), ("decodes-once", ["frames.again"]),
        ("counts-threads", ["determinism.threads"]), ("counts-images", ["determinism.encode"]),
        ("writes-process", ["determinism.processes"]), ("thread-of-init", ["isolation.fork"]),
        ("one-source", ["lifecycle.interleaved"]), ("shared-session", ["threads.together"]),
        ("working-folder", ["state.folder"]),
        // Optional abilities.
        ("chooses-first-item", ["abilities.items"]), ("describes-first-item", ["abilities.items"]),
        ("endless-items", ["abilities.items"]), ("hides-items", ["abilities.items"]),
        ("rows-differ", ["abilities.rows"]), ("drops-items", ["abilities.encode-items"]),
        ("thread-in-pixels", ["abilities.parallel"]),
        ("task-reads-source", ["abilities.parallel"]),
        ("rewrites-pixels", ["abilities.rewrite"]), ("keeps-text", ["abilities.metadata"]),
        ("claims-dropped-items", ["abilities.rewrite"]), ("loses-text", ["abilities.metadata"]),
        ("mends-files", ["abilities.damage"]), ("loses-end", ["abilities.transcode"]),
    ]

    /// With a worker the set differs, because a sealed process also reports forbidden calls.
    private static func isExpected(_ id: String, _ expected: Set<String>) -> Bool {
        expected.contains(id) || id.hasPrefix("isolation.")
    }

    @Test(arguments: table.map(\.plugin))
    func `the one fault of a plugin, and names it`(plugin: String) throws {
        let folder = TemporaryDirectory()
        let expected = try #require(Self.table.first { $0.plugin == plugin }).checks
        let timeout = plugin == "endless" ? ["--timeout", "3"] : []

        let verdicts = try ConformanceKit.verdicts([ConformanceKit.faulty(plugin, folder)] + timeout)

        let bad = verdicts.filter(\.value.isBad)
        let unseen = expected.filter { verdicts[$0]?.isUnseen == true }
        for id in expected.subtracting(unseen) { #expect(bad[id] != nil, "\(id) does not find it") }
        if !unseen.isEmpty { try Test.cancel("a sanitizer in the kit hides the fault: \(unseen.sorted())") }
        for (id, verdict) in bad {
            #expect(Self.isExpected(id, expected), "\(id): \(verdict.what)")
            #expect(!verdict.what.isEmpty && !verdict.rule.isEmpty && !verdict.remedy.isEmpty)
        }
    }

    @Test func `every plugin of its folder, each listed once`() throws {
        let names = try run(["ls", "\(Repository.root)/Tests/ThirdParty/faulty"]).stdout.split(separator: "\n")
            .filter { $0.hasSuffix(".c") && $0 != "none.c" }.map { String($0.dropLast(2)) }

        #expect(names.sorted() == Self.table.map(\.plugin).sorted())
        #expect(names.count >= 12)
    }

    @Test func `no fault in the plugin from which the others are made`() throws {
        let folder = TemporaryDirectory()

        let verdicts = try ConformanceKit.verdicts([ConformanceKit.faulty("none", folder)])

        #expect(verdicts.filter(\.value.isBad).isEmpty, "\(verdicts.filter(\.value.isBad))")
        #expect(verdicts.values.filter { $0.word == "passed" || $0.isUnseen }.count >= 60)
    }

    /// Permitted variations of the correct plugin.
    static let legal: [[String]] = [
        // A rectangle left of the canvas, bands of rows, items, regions.
        ["-DFRAME_X=-3"], ["-DBANDS=1"], ["-DITEM_ROLE=CPI_ITEM_PRIMARY"],
        ["-DMANIFEST_ROLES=\", \\\"region\\\"\"", "-DMORE_ROLES=CPI_CODER_REGION"],
        // Rows of an encoder, the host's threads, rewriting, transcoding.
        ["-DTAKES_ROWS"],
        ["-DENCODES_ITEMS"], ["-DPARALLEL"], ["-DREWRITES"], ["-DTRANSCODES"],
        ["-DITEM_ROLE=CPI_ITEM_PRIMARY", "-DREWRITES"],
    ]

    @Test(arguments: legal)
    func `no fault in permitted variations`(flags: [String]) throws {
        let folder = TemporaryDirectory()
        let plugin = try PluginBuilder.build("faulty/none.c", flags: ["-pthread"] + flags, into: folder.path)

        let verdicts = try ConformanceKit.verdicts([
            plugin, "--only", "frames,contract,lifecycle,surface,input,abilities",
        ])

        #expect(verdicts.filter(\.value.isBad).isEmpty, "\(verdicts.filter(\.value.isBad))")
    }

    @Test func `the function that crashed, and the signal`() throws {
        let folder = TemporaryDirectory()

        let verdict = try #require(
            try ConformanceKit.verdicts([ConformanceKit.faulty("segfault", folder), "--only", "lifecycle.decode"])[
                "lifecycle.decode"])

        #expect(verdict.word == "crashed")
        #expect(verdict.call == "decode" && verdict.signal == "SIGSEGV")
    }

    @Test func `a plugin that hangs by the time it takes`() throws {
        let folder = TemporaryDirectory()

        let verdicts = try ConformanceKit.verdicts(
            [ConformanceKit.faulty("endless", folder), "--only", "lifecycle.decode", "--timeout", "2"])

        #expect(verdicts["lifecycle.decode"]?.word == "hung")
        #expect(verdicts["lifecycle.decode"]?.call == "decode")
    }

    @Test(arguments: [
        ("connects", "socket (system call ", "do without the network"),
        ("reads-table", "openat (system call ", "read no file"),
    ])
    func `the call that the kernel denied a sealed plugin`(plugin: String, call: String, advice: String) throws {
        let folder = TemporaryDirectory()

        let verdict = try ConformanceKit.verdicts([ConformanceKit.faulty(plugin, folder), "--only", "isolation"])[
            "isolation.decode"]

        #expect(verdict?.word == "failed")
        #expect(verdict?.what.contains(call) == true, "\(verdict?.what ?? "")")
        #expect(verdict?.remedy.contains(advice) == true, "\(verdict?.remedy ?? "")")
    }

    @Test func `a plugin that does not load, and reports it once`() throws {
        let folder = TemporaryDirectory()
        let plugin = try PluginBuilder.build("bad/constructor-aborts.c", into: folder.path)

        let verdicts = try ConformanceKit.verdicts([plugin])
        let text = try ConformanceKit.run([plugin])

        #expect(verdicts.filter(\.value.isBad).map(\.key) == ["lifecycle.load"])
        let others = verdicts.filter { $0.key != "lifecycle.load" && $0.value.word != "passed" }
        #expect(others.count > 60 && others.allSatisfy { $0.value.what == "it does not load" })
        #expect(text.status == 1)
        #expect(text.stdout.contains("       7 checks skipped: it does not load\n"))
    }
}
