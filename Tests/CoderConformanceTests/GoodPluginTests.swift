import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The conformance kit passes` {
    @Test(arguments: ["apng", "avif", "awebp", "farbfeld", "gif", "heif", "jpeg", "png", "webp"])
    func `every plugin of the project`(format: String) throws {
        let verdicts = try Kit.verdicts(["\(Repository.products)/libcoder-\(format).so"])

        #expect(verdicts.filter(\.value.isBad).isEmpty, "\(verdicts.filter(\.value.isBad))")
        #expect(verdicts.values.filter { $0.word == "passed" || $0.isUnseen }.count >= 55)
    }

    @Test(arguments: PluginBuilder.Edition.allCases)
    func `a coder of a third party, whatever minor it was built with`(edition: PluginBuilder.Edition) throws {
        let folder = TemporaryDirectory()

        let verdicts = try Kit.verdicts([PluginBuilder.buildQOI(edition, into: folder.path)])

        // The editions of other times are compiled as one would then, which shows more names.
        let bad = verdicts.filter { $0.value.isBad }
        #expect(bad.isEmpty, "\(bad)")
    }
}
