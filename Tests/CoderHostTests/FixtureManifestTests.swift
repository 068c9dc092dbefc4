import CoderHost
import Foundation
import ImageModel
import TestSupport
import Testing

@Suite struct `Fixture manifest` {
    static let largestFile = 64 << 10
    static let largestSum = 2 << 20

    @Test func `has an entry for every file`() throws {
        let known = Set(Fixture.all.map(\.name))

        let strangers = try files().filter { !known.contains($0) }

        #expect(strangers.isEmpty, "add them with Fixtures/add-entry")
    }

    @Test func `has a file for every entry, and no entry twice`() throws {
        let present = Set(try files())
        let names = Fixture.all.map(\.name)

        #expect(names.filter { !present.contains($0) }.isEmpty)
        #expect(Set(names).count == names.count)
    }

    @Test(arguments: Fixture.all)
    func `contains size and digest of the file`(fixture: Fixture) {
        let bytes = fixture.bytes

        #expect(bytes.count == fixture.byteCount)
        #expect(SHA256.hexDigest(of: bytes) == fixture.sha256)
    }

    @Test func `meets the size limits`() {
        #expect(Fixture.all.filter { $0.byteCount > Self.largestFile }.isEmpty)
        #expect(Fixture.all.map(\.byteCount).reduce(0, +) <= Self.largestSum)
    }

    @Test(arguments: Fixture.all)
    func `expects an error in a folder of bad files and pixels elsewhere`(fixture: Fixture) {
        let folders = fixture.name.split(separator: "/").dropLast()
        // Profiles, certificates and fonts are not images.
        let isBadPlace = folders.contains { ["bad", "hostile", "color", "server", "fonts"].contains($0) }

        #expect(fixture.isValid != isBadPlace)
        #expect((fixture.expect == nil) == isBadPlace)
    }

    @Test(arguments: Fixture.bad)
    func `names existing error codes`(fixture: Fixture) {
        let codes: [CoderError.Code] = [
            .unrecognizedFormat, .noCoder, .corrupt, .truncated, .unsupportedFeature, .limitExceeded,
        ]

        #expect(Set(fixture.errors).isSubset(of: codes.map(\.description)))
    }

    @Test(arguments: Fixture.valid)
    func `expects a possible image`(fixture: Fixture) throws {
        let expect = try #require(fixture.expect)

        #expect(!expect.size.isEmpty)
        #expect(expect.orientation.map { Orientation(rawValue: $0) != nil } ?? true)
        #expect(expect.pixelSHA256.map { $0.utf8.count == 64 } ?? true)
        #expect((expect.pixelSHA256 == nil) == (expect.digestBy == nil))
    }

    @Test(arguments: Fixture.all)
    func `describes the file and its license`(fixture: Fixture) {
        #expect(!fixture.shows.isEmpty)
        #expect(!fixture.license.isEmpty)
    }

    /// Every file below `Fixtures/` except recipes and tools.
    private func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: Repository.fixture(""))
            .filter { name in
                let facts = try FileManager.default.attributesOfItem(atPath: Repository.fixture(name))
                return facts[.type] as? FileAttributeType != .typeDirectory && !isTool(name)
            }
    }

    private func isTool(_ name: String) -> Bool {
        ["README.md", "manifest.json", "add-entry"].contains(name) || name.hasPrefix("recipes/")
            || name.hasPrefix("found/")
            || name.hasSuffix("/recipes.txt") || name.hasSuffix(".recipe.txt")
    }
}
