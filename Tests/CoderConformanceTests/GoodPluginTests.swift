import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The conformance kit passes` {
    @Test(arguments: BundledPlugin.names) func `every plugin of the project`(name: String) throws {
        let verdicts = try ConformanceKit.verdicts(["\(Repository.products)/libcoder-\(name).so"])

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
