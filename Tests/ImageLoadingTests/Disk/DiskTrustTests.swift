import Glibc
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

/// A folder that another user controls is not used, because its files cannot be trusted.
@Suite(.timeLimit(.minutes(40))) struct `Folders of caches` {
    private static let directory = "/var/cache/images"
    private let disk = ModelDisk(seed: 3)

    private func cache(_ directory: String = directory) -> DiskCache {
        var configuration = DiskCacheConfiguration()
        configuration.sweepInterval = nil
        return DiskCache(directory: directory, configuration: configuration, system: disk)
    }

    @Test(
        arguments: [
            // Owner, group, permissions, and whether the cache is used; the user is 1000 with group 1000.
            (1000, 1000, 0o700, true), (1000, 1000, 0o755, true), (1000, 1000, 0o775, true), (0, 0, 0o755, true),
            (1000, 50, 0o755, true), (1000, 50, 0o775, false), (1000, 1000, 0o777, false), (0, 0, 0o1777, false),
            (0, 0, 0o775, false), (1001, 1000, 0o755, false), (1001, 1000, 0o700, false), (1000, 1000, 0o702, false),
        ] as [(UInt32, UInt32, UInt32, Bool)])
    func `must belong to their user or to root, and be closed to other users`(
        owner: UInt32, group: UInt32, permissions: UInt32, isUsed: Bool
    ) throws {
        try cache().store(CachedData([1]), for: "a")
        disk.give(Self.directory, to: owner, group, permissions)
        let cache = cache()

        #expect((cache.data(for: "a") != nil) == isUsed)
        #expect((cache.state == .working) == isUsed)
    }

    @Test(
        arguments: [
            (1000, 0o755, true), (0, 0o755, true), (0, 0o1777, true), (1000, 0o1777, true), (0, 0o777, false),
            (1001, 0o755, false), (1001, 0o1777, false),
        ] as [(UInt32, UInt32, Bool)])
    func `need a parent folder that protects them`(owner: UInt32, permissions: UInt32, isUsed: Bool) throws {
        try cache().store(CachedData([1]), for: "a")
        disk.give("/var/cache", to: owner, 50, permissions)

        #expect((cache().data(for: "a") != nil) == isUsed)
        #expect(((try? cache().store(CachedData([2]), for: "a")) != nil) == isUsed)
    }

    @Test func `are never changed when they belong to another user`() throws {
        try cache().store(CachedData([1], extended: [2]), for: "a")
        let before = disk.paths()
        disk.give(Self.directory, to: 1001, 1001, 0o755)
        let cache = cache()
        cache.configuration.maxAge = .zero

        #expect(cache.data(for: "a") == nil && !cache.contains("a") && cache.extendedData(for: "a") == nil)
        let error = #expect(throws: CoderError.self) { try cache.store(CachedData([3]), for: "b") }
        #expect(throws: CoderError.self) { try cache.setAttributes([:], for: "a") }
        cache.remove("a")
        cache.clear()
        #expect(cache.prune() == PruneReport() && cache.verify(repair: true) == VerifyReport())
        #expect(cache.totals == (0, 0))

        #expect(disk.paths() == before)
        #expect(error?.code == .inputOutput && error?.message.contains("belongs to user 1001") == true)
        #expect(error?.hint?.contains("another cache directory") == true)
        #expect(cache.state == .degraded(try #require(error)))
        disk.give(Self.directory, to: 1000, 1000, 0o700)
        #expect(cache.data(for: "a") == CachedData([1], extended: [2]))
        #expect(cache.state == .working)
    }

    @Test func `do not move entries from another user's folder`() throws {
        try cache("/var/cache/other").store(CachedData([1]), for: "a")
        disk.give("/var/cache/other", to: 1001, 1001, 0o755)

        #expect(throws: CoderError.self) { try cache().moveEntries(from: "/var/cache/other") }
        #expect(cache().data(for: "a") == nil)
    }

    @Test func `are checked again when they were created again`() throws {
        let place = TemporaryDirectory()
        var configuration = DiskCacheConfiguration()
        configuration.sweepInterval = nil
        let cache = DiskCache(directory: place.file("cache"), configuration: configuration)
        try cache.store(CachedData([1]), for: "a")
        _ = try run(["rm", "-r", cache.directory])
        _ = try run(["mkdir", "-m", "777", cache.directory])

        let error = #expect(throws: CoderError.self) { try cache.store(CachedData([1]), for: "a") }

        #expect(error?.message.contains("every user may write to it") == true)
        #expect(error?.hint?.contains("chmod") == true)
        #expect(try run(["find", cache.directory, "-type", "f", "-name", "*a*"]).stdout == "")
        _ = try run(["chmod", "700", cache.directory])
        try cache.store(CachedData([1]), for: "a")
        #expect(cache.state == .working)
    }

    @Test func `cannot be files, pipes or devices`() throws {
        let place = TemporaryDirectory()
        place.write([1], to: "file")
        _ = try run(["mkfifo", place.file("pipe")])
        for path in [place.file("file"), place.file("pipe"), "/dev/null", place.file("file/below")] {
            let cache = DiskCache(directory: path)
            #expect(throws: CoderError.self, "\(path)") { try cache.examine() }
            #expect(cache.data(for: "a") == nil)
            #expect(cache.state != .working, "\(path)")
        }
        try DiskCache(directory: place.file("none")).examine()
    }

    @Test func `may be reached through a link`() throws {
        let place = TemporaryDirectory()
        place.folder("real")
        _ = try run(["chmod", "700", place.file("real")])
        #expect(try run(["ln", "-s", "real", place.file("link")]).status == 0)
        let cache = DiskCache(directory: place.file("link"))
        cache.configuration.isDurable = true
        try cache.store(CachedData([1]), for: "a")
        #expect(cache.verify().sound == 1 && cache.files.isMarked())
        #expect(cache.data(for: "a") == CachedData([1]))
        _ = try run(["chmod", "707", place.file("real")])

        #expect(DiskCache(directory: place.file("link")).data(for: "a") == nil)
    }
}
