import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

/// Files that no cache has created are never removed, for any name.
@Suite(.timeLimit(.minutes(40))) struct `Foreign files in a cache` {
    private let place = TemporaryDirectory()
    /// File names of another program that uses MD5 digests as names.
    private let names = ["3f/3f0123456789abcdef0123456789abcd", "3f/3f0123456789abcdef0123456789abce.jpg", "3f/note"]

    private func cache(_ name: String) -> DiskCache {
        var configuration = DiskCacheConfiguration()
        configuration.sweepInterval = nil
        return DiskCache(directory: place.file(name), configuration: configuration)
    }

    private func files(_ name: String) throws -> Set<String> {
        let found = try run(["find", place.file(name), "-type", "f", "-printf", "%P\n"]).stdout
        return Set(found.split(separator: "\n").map(String.init))
    }

    /// Creates a folder with files of another program.
    private func foreignStore() -> DiskCache {
        place.folder("store")
        place.folder("store/3f")
        for name in names + ["3f/.storing-notes.tmp"] { place.write(Array("precious".utf8), to: "store/\(name)") }
        return cache("store")
    }

    @Test func `survive all operations that remove entries`() throws {
        let cache = foreignStore()
        let before = try files("store")
        cache.configuration.maxAge = .zero
        cache.configuration.maxSize = 1

        #expect(cache.totalCount == 0)
        #expect(cache.prune().removed == 0)
        cache.clear()
        let report = cache.verify(repair: true)

        #expect(report.removed == 0 && report.damaged.isEmpty)
        #expect(Set(report.foreign) == Set(before.map { "\(cache.directory)/\($0)" }))
        #expect(try files("store").subtracting([".janitor"]) == before)
        #expect(try self.cache("new").moveEntries(from: cache.directory) == 0)
        #expect(try files("store").subtracting([".janitor"]) == before)
    }

    @Test func `survive the removal of entries in the same folder`() throws {
        let cache = foreignStore()
        let before = try files("store")
        for number in 0..<20 { try cache.store(CachedData([1, 2, 3]), for: "\(number)") }
        // It ends like an entry.
        var damaged = try #require(readFile(cache.path(for: "1")))
        damaged[0] ^= 1
        _ = writeFile(cache.path(for: "1"), damaged)

        #expect(!FolderStatus.isMarked(cache))
        #expect(cache.totalCount == 20)
        #expect(cache.verify(repair: true).removed == 1)
        cache.configuration.maxAge = .zero
        #expect(cache.prune().removed == 19)
        try cache.store(CachedData([1]), for: "a")
        cache.clear()

        #expect(try files("store").subtracting([".janitor"]) == before)
    }

    @Test func `are distinguished from damaged entries by the folder's mark`() throws {
        let cache = cache("cache")
        for key in ["a", "b", "c"] { try cache.store(CachedData([1, 2, 3]), for: key) }
        let mark = try #require(readFile("\(cache.directory)/CACHEDIR.TAG"))
        // https://bford.info/cachedir/: the first 43 bytes.
        #expect(mark.starts(with: Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)))
        for key in ["a", "b"] { _ = writeFile(cache.path(for: key), [1]) }

        #expect(cache.verify(repair: true).removed == 2)
        _ = writeFile(cache.path(for: "c"), [])
        cache.clear()
        #expect(try files("cache") == ["CACHEDIR.TAG"])
    }

    @Test func `prevent marking a folder; an empty one is marked`() throws {
        place.folder("empty")
        place.folder("full")
        place.write([1], to: "full/mine")
        place.folder("tagged")
        let other = "Signature: 8a477f597d28d172789f06886806bc55\n# of a browser\n"
        place.write(Array(other.utf8), to: "tagged/CACHEDIR.TAG")
        place.folder("swept")
        cache("swept").prune()
        let caches = ["empty", "full", "tagged", "swept", "new/one"].map(cache)
        for cache in caches { try cache.store(CachedData([1]), for: "a") }

        #expect(caches.map(FolderStatus.isMarked) == [true, false, false, true, true])
        #expect(readFile(place.file("tagged/CACHEDIR.TAG"))?.count == 59)
    }

    private enum FolderStatus {
        static func isMarked(_ cache: DiskCache) -> Bool { cache.files.isMarked() }
    }

    // MARK: The file .janitor

    @Test func `are not overwritten if their name is .janitor`() throws {
        let text = Array("precious\n".utf8)
        for kind in ["linked", "foreign"] {
            let cache = cache(kind)
            try cache.store(CachedData([1]), for: "a")
            let precious = place.write(text, to: "\(kind).txt")
            let command = kind == "linked" ? ["ln"] : ["cp"]
            #expect(try run(command + [precious, "\(cache.directory)/.janitor"]).status == 0)
            cache.configuration.maxAge = .zero

            #expect(cache.prune().removed == 1)

            #expect(readFile(precious) == text)
            #expect(readFile("\(cache.directory)/.janitor") == text)
        }
    }

    @Test(arguments: [[], Array("coderho".utf8), Array("coderhost-cache 1 x".utf8), Array(repeating: 0, count: 160)])
    func `do not include an incomplete .janitor file`(left: [UInt8]) throws {
        let cache = cache("cache")
        try cache.store(CachedData([1]), for: "a")
        place.write(left, to: "cache/.janitor")
        cache.prune()

        #expect(readFile("\(cache.directory)/.janitor").flatMap(SweepRecord.init) != nil)
    }

    // MARK: Obstacles

    @Test func `are reported if they block entries, and removed if they are links or empty folders`() throws {
        let cache = cache("cache")
        try cache.store(CachedData([1]), for: "a")
        let free = EntryName.folders.filter { $0 != EntryName(key: "a").folder }
        let digits = String(repeating: "0", count: 30)
        place.folder("elsewhere")
        for name in free.prefix(2) { place.folder("cache/\(name)") }
        let link = "cache/\(free[5])"
        #expect(try run(["ln", "-s", "../elsewhere", place.file(link)]).status == 0)
        let file = "cache/\(free[6])"
        place.write([1], to: file)
        let (empty, full) = ("cache/\(free[0])/\(free[0])\(digits)", "cache/\(free[1])/\(free[1])\(digits).png")
        for name in [empty, full] { place.folder(name) }
        place.write([1], to: "\(full)/precious")
        let all = [link, file, empty, full].map(place.file)

        let report = cache.verify()
        #expect(report.obstacles.sorted() == all.sorted())
        #expect(report.sound == 1 && !report.isSound && report.foreign.isEmpty)
        #expect(cache.verify(repair: true).removed == 2)

        #expect(cache.verify().obstacles.sorted() == [file, full].map(place.file).sorted())
        #expect(readFile(place.file("\(full)/precious")) == [1])
    }

    // MARK: Missing write permission

    @Test func `and entries are still counted when nothing can be removed`() throws {
        let disk = ModelDisk(seed: 4)
        var configuration = DiskCacheConfiguration()
        configuration.sweepInterval = nil
        configuration.maxAge = .zero
        let cache = DiskCache(directory: "/var/cache/images", configuration: configuration, system: disk)
        for key in ["a", "b"] { try cache.store(CachedData([1]), for: key) }
        disk.setReadOnly(true)

        let report = cache.prune()
        #expect(report.removed == 0 && report.kept == 2 && report.keptSize == cache.totalSize)
        #expect(cache.state != .working)
        cache.clear()
        #expect(cache.totalCount == 2 && cache.state != .working)
        disk.setReadOnly(false)
        #expect(cache.prune().removed == 2)
    }
}
