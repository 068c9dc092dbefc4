import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// The comparable properties of an item.
private struct ItemAccount: Equatable {
    var item: ImageItem?
    var metadata: [MetadataBlob] = []
    var digest = ""
    var problem: CoderError?
}

/// A plugin lists and decodes the same items in this process and in a worker.
@Suite(.timeLimit(.minutes(40))) struct `Isolated items` {
    private static let inProcess = testHost(Repository.products)
    private static let isolated = testHost(
        Repository.workerPlugins, isolation: IsolationPolicy(.require, reuse: .reuse(20), needed: []))

    private func account(_ source: ImageSource, _ host: CoderHost) throws -> (items: [ItemAccount], warnings: [String])
    {
        try host.manager.withSession(source) { session throws(CoderError) in
            let accounts = try session.items().map { listed in
                var account = ItemAccount(item: listed.facts)
                do throws(CoderError) {
                    try session.select(item: listed.index)
                    account.metadata = try session.metadata()
                    account.digest = SessionAccount.digest(try session.decodeImage())
                } catch {
                    account.problem = error
                }
                return account
            }
            return (accounts, session.context.warnings)
        }
    }

    @Test(arguments: [
        ("jpeg/multi-picture.jpg", 3), ("jpeg/gain-map.jpg", 2), ("heif/collection.heic", 4),
        ("avif/with-thumbnail.avif", 2),
    ])
    func `equal the items in process`(name: String, count: Int) throws {
        let source = ImageSource(try #require(readFile(Repository.fixture(name))), name: name)
        let local = try account(source, Self.inProcess)
        let remote = try account(source, Self.isolated)
        #expect(local.items == remote.items && local.warnings == remote.warnings)
        #expect(local.items.count == count && local.items.allSatisfy { $0.problem == nil && !$0.digest.isEmpty })
    }

    /// The same file, truncated: its index refers to missing bytes.
    @Test func `of a damaged index are one image and a warning`() throws {
        let bytes = try #require(readFile(Repository.fixture("jpeg/multi-picture.jpg")))
        let source = ImageSource(Array(bytes.dropLast(9)), name: "cut.jpg")
        for host in [Self.inProcess, Self.isolated] {
            let found = try account(source, host)
            #expect(found.items.map(\.item?.role) == [.primary])
            #expect(found.warnings.count == 1 && found.warnings[0].contains("(MPF) is damaged"), "\(found.warnings)")
        }
    }

    @Test func `are the same for a large file read in pieces`() throws {
        let folder = TemporaryDirectory()
        let bytes = try #require(readFile(Repository.fixture("jpeg/multi-picture.jpg")))
        // Above the size from which files are read in pieces.
        let path = folder.write(bytes + [UInt8](repeating: 0, count: 9 << 20), to: "large.jpg")
        let whole = try account(ImageSource(bytes), Self.inProcess)
        for host in [Self.inProcess, Self.isolated] {
            #expect(try account(try ImageSource(path: path), host).items == whole.items)
        }
    }
}
