import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The conformance kit passes` {
    @Test(arguments: BundledPlugin.names) func `every plugin of the project`(name: String) throws {
        let plugin = try #require(BundledPlugin.all.first { $0.name == name })
        // The kit makes samples with the plugin's own encoder; a plugin without one needs a file.
        let isEncoder = plugin.coders.contains { !Set(["encode", "encode-animation"]).isDisjoint(with: $0.roles) }
        let formats = plugin.coders.flatMap(\.formats).map(\.format)
        let samples = isEncoder ? [] : Fixture.valid.filter { formats.contains($0.format) }.prefix(3).map(\.path)

        let verdicts = try ConformanceKit.verdicts([plugin.path] + samples.flatMap { ["--sample", $0] })

        #expect(verdicts.filter(\.value.isBad).isEmpty, "\(verdicts.filter(\.value.isBad))")
        #expect(verdicts.values.filter { $0.word == "passed" || $0.isUnseen }.count >= 55)
    }

    @Test(arguments: PluginBuilder.Edition.allCases)
    func `a third-party coder built with any minor`(edition: PluginBuilder.Edition) throws {
        let folder = TemporaryDirectory()

        let verdicts = try ConformanceKit.verdicts([PluginBuilder.buildQOI(edition, into: folder.path)])

        // The other editions are compiled with the flags of their time, which export more names.
        let bad = verdicts.filter { $0.value.isBad }
        #expect(bad.isEmpty, "\(bad)")
    }
}
