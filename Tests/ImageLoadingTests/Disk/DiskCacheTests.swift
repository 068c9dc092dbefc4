import CoderHost
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Disk cache` {
    private let place = TemporaryDirectory()
    private let image = readFile(Repository.fixture("images/photo.jpg")) ?? Array(repeating: 1, count: 30_000)
    private let day: Int64 = 86_400_000_000_000

    private func cache(
        _ name: String = "cache", namespace: String? = nil, _ body: (inout DiskCacheConfiguration) -> Void = { _ in }
    ) -> DiskCache {
        var configuration = DiskCacheConfiguration()
        configuration.sweepInterval = nil
        body(&configuration)
        return DiskCache(directory: place.file(name), namespace: namespace, configuration: configuration)
    }

    /// Sets the dates of an entry back.
    private func age(_ path: String, days: Double, modified: Bool = true) throws {
        let disk = LocalDisk()
        let file = try disk.open(path)
        defer { disk.close(file) }
        let date = disk.now() - Int64(days * Double(day))
        try disk.setDates(file, accessed: date, modified: modified ? date : nil)
    }

    private func files(_ name: String = "cache") throws -> [String] {
        let own = ["-not", "-name", ".janitor", "-not", "-name", "CACHEDIR.TAG"]
        return try run(["find", place.file(name), "-type", "f"] + own).stdout.split(separator: "\n").map(String.init)
    }

    @Test func `removes expired entries by their last use (S-13, S-45)`() throws {
        let cache = cache { $0.maxAge = .seconds(7 * 86_400) }
        for key in ["old", "used", "new"] { try cache.store(CachedData([1]), for: key) }
        try age(cache.path(for: "old"), days: 8)
        try age(cache.path(for: "used"), days: 8, modified: false)
        #expect(cache.data(for: "used") != nil)
        _ = cache.prune()
        #expect(!cache.contains("old") && cache.contains("used") && cache.contains("new"))
    }

    // MARK: Entries

    @Test func `returns stored data byte for byte (S-33, S-40)`() throws {
        let cache = cache()
        let key = "https://example.com/photo.jpg"
        let data = CachedData(
            image, extended: [0, 1, 2, 255], attributes: ["etag": "\"x\"", "": "", "url": key, "ü": "\0"])

        #expect(cache.data(for: key) == nil)
        #expect(!cache.contains(key))
        #expect(try run(["ls", "-A", place.path]).stdout == "")
        try cache.store(data, for: key)

        #expect(cache.contains(key))
        #expect(cache.data(for: key) == data)
        #expect(try files() == [cache.path(for: key)])
        #expect(cache.state == .working)
    }

    @Test(arguments: [0, 1, 3900, 3983, 3984, 4095, 4096, 4097, 100_000]) func `keeps any number of bytes`(
        count: Int
    ) throws {
        let cache = cache()
        let data = CachedData((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try cache.store(data, for: "key")
        let withMore = CachedData(
            data.bytes, extended: data.bytes, attributes: ["a": String(repeating: "b", count: count)])
        try cache.store(withMore, for: "key2")

        #expect(cache.data(for: "key") == data)
        #expect(cache.data(for: "key2") == withMore)
        #expect(cache.extendedData(for: "key2") == data.bytes)
    }

    @Test func `begins each file with the image, so that any program can open it`() throws {
        let cache = cache()
        try cache.store(CachedData(image, attributes: ["a": "b"]), for: "x.jpg")

        let file = try #require(readFile(cache.path(for: "x.jpg")))

        #expect(file.starts(with: image))
        #expect(file.count < image.count + 200)
        #expect(cache.path(for: "x.jpg").hasSuffix(".jpg"))
    }

    @Test func `returns the path of a key without an entry (S-32)`() {
        #expect(cache().path(for: "https://example.com/none.png").hasPrefix(place.file("cache/")))
    }

    @Test func `replaces and removes an entry`() throws {
        let cache = cache()
        try cache.store(CachedData([1]), for: "a")
        try cache.store(CachedData([2]), for: "a")
        try cache.store(CachedData([3]), for: "b")

        #expect(cache.data(for: "a") == CachedData([2]))
        cache.remove("a")
        cache.remove("never there")

        #expect(cache.data(for: "a") == nil)
        #expect(cache.data(for: "b") == CachedData([3]))
        #expect(cache.totalCount == 1)
        cache.clear()
        #expect(try files() == [])
        try cache.store(CachedData([4]), for: "a")
        #expect(cache.data(for: "a") == CachedData([4]))
    }

    @Test func `finds an entry under its name without an extension`() throws {
        let cache = cache()
        try cache.store(CachedData([1, 2]), for: "a.jpg")
        let path = cache.path(for: "a.jpg")
        try LocalDisk().rename(path, to: String(path.dropLast(4)))

        #expect(cache.data(for: "a.jpg") == CachedData([1, 2]))
        #expect(cache.contains("a.jpg"))
        cache.remove("a.jpg")
        #expect(cache.data(for: "a.jpg") == nil)
    }

    @Test func `keeps namespaces apart`() throws {
        let (one, two, odd) = (cache(namespace: "one"), cache(namespace: "two"), cache(namespace: "../x/y"))
        try one.store(CachedData([1]), for: "a")
        try odd.store(CachedData([3]), for: "a")

        #expect(two.data(for: "a") == nil)
        #expect(one.directory == place.file("cache/one"))
        #expect(odd.directory.hasPrefix(place.file("cache/")))
        two.clear()
        #expect(one.data(for: "a") == CachedData([1]))
        #expect(odd.data(for: "a") == CachedData([3]))
    }

    @Test func `refuses an entry above the limit, and keeps the older one`() throws {
        let cache = cache { $0.maxEntrySize = 1000 }
        try cache.store(CachedData([1]), for: "a")

        let error = #expect(throws: CoderError.self) {
            try cache.store(CachedData(Array(repeating: 0, count: 1000)), for: "a")
        }

        #expect(error?.code == .limitExceeded)
        #expect(cache.data(for: "a") == CachedData([1]))
        // An entry that was stored under another limit stays, and is not read.
        cache.configuration.maxEntrySize = 100
        #expect(cache.data(for: "a") == nil)
        #expect(cache.state == .working)
        cache.configuration.maxEntrySize = 1000
        #expect(cache.data(for: "a") == CachedData([1]))
    }

    @Test func `creates folders and files for their owner only`() throws {
        let cache = cache()
        try cache.store(CachedData([1]), for: "a")
        try cache.store(CachedData([2]), for: "a")
        cache.prune()
        // On a file system without unnamed files.
        let hidden = "\(cache.directory)/hidden"
        LocalDisk().close(try LocalDisk().create(hidden))

        let modes = try run(["find", cache.directory, "-printf", "%y%m\n"]).stdout.split(separator: "\n")
        #expect(Set(modes) == ["d700", "f600"])
        #expect(modes.count == 6)
    }

    // MARK: Extended data

    @Test func `reads, writes and removes extended data without touching the bytes (S-47)`() throws {
        let cache = cache()
        try cache.store(CachedData(image, attributes: ["a": "b"]), for: "a.jpg")
        try age(cache.path(for: "a.jpg"), days: 3)
        let before = try LocalDisk().facts(at: cache.path(for: "a.jpg"))
        #expect(cache.extendedData(for: "a.jpg") == nil)

        try cache.setExtendedData([9, 8, 7], for: "a.jpg")
        #expect(cache.extendedData(for: "a.jpg") == [9, 8, 7])
        let after = try LocalDisk().facts(at: cache.path(for: "a.jpg"))
        #expect(after.dates.modified == before.dates.modified && after.dates.accessed == before.dates.accessed)
        #expect(cache.data(for: "a.jpg") == CachedData(image, extended: [9, 8, 7], attributes: ["a": "b"]))

        try cache.setExtendedData([], for: "a.jpg")
        #expect(cache.extendedData(for: "a.jpg") == [])
        try cache.setExtendedData(nil, for: "a.jpg")
        #expect(cache.data(for: "a.jpg") == CachedData(image, attributes: ["a": "b"]))
        try cache.setAttributes(["c": "d"], for: "a.jpg")
        #expect(cache.data(for: "a.jpg") == CachedData(image, attributes: ["c": "d"]))
        let error = #expect(throws: CoderError.self) { try cache.setExtendedData([1], for: "none") }
        #expect(error?.code == .notFound)
        #expect(try files().count == 1)
    }

    // MARK: Sizes

    @Test func `counts entries and their bytes on the disk (S-20, S-21)`() throws {
        let cache = cache()
        #expect(cache.totals == (0, 0))
        try cache.store(CachedData(image), for: "a")

        #expect(cache.totalCount == 1)
        let blocks = try #require(Int(try run(["stat", "-c", "%b", cache.path(for: "a")]).stdout.dropLast()))
        #expect(cache.totalSize == blocks * 512)
        #expect(cache.totalSize >= image.count)
        let report = cache.prune()
        #expect(report.kept == 1 && report.keptSize == cache.totalSize)
    }

    @Test func `lists the facts of its entries`() throws {
        let cache = cache()
        let begin = LocalDisk().now()
        try cache.store(CachedData([1, 2, 3], attributes: ["url": "https://example.com/a.jpg"]), for: "a key")
        try cache.store(CachedData([], extended: [1]), for: "b")
        var entries: [DiskCacheEntry] = []
        cache.forEachEntry { entries.append($0) }
        entries.sort { $0.key < $1.key }

        #expect(entries.map(\.key) == ["a key", "b"])
        #expect(entries.map(\.byteCount) == [3, 0])
        #expect(entries.map(\.url) == ["https://example.com/a.jpg", nil])
        #expect(entries.map(\.hasExtendedData) == [false, true])
        #expect(entries[0].path == cache.path(for: "a key"))
        #expect(entries[0].size > 0)
        #expect(entries.allSatisfy { $0.stored >= begin && $0.accessed >= begin })
    }

    // MARK: Moving

    @Test func `moves the entries of another directory (S-44)`() throws {
        let (old, new) = (cache("old"), cache("new"))
        for key in ["a", "b.png", "c"] { try old.store(CachedData(Array(key.utf8)), for: key) }
        try age(old.path(for: "c"), days: 1)
        try new.store(CachedData([3]), for: "c")
        try new.store(CachedData([1]), for: "a")
        try age(new.path(for: "a"), days: 1)
        old.prune()

        #expect(try new.moveEntries(from: old.directory) == 2)

        // The later of two entries stays.
        #expect(new.data(for: "a") == CachedData(Array("a".utf8)))
        #expect(new.data(for: "b.png") == CachedData(Array("b.png".utf8)))
        #expect(new.data(for: "c") == CachedData([3]))
        #expect(new.totalCount == 3)
        #expect(FileStatus.of(old.directory) == nil)
        #expect(try new.moveEntries(from: old.directory) == 0)
    }

    @Test func `moves entries to a new directory, and leaves other files in place`() throws {
        let (old, new) = (cache("old"), cache("parent/new"))
        try old.store(CachedData([1]), for: "a")
        place.write([7], to: "old/note.txt")

        #expect(try new.moveEntries(from: old.directory) == 1)

        #expect(new.data(for: "a") == CachedData([1]))
        #expect(readFile(place.file("old/note.txt")) == [7])
    }

    // MARK: Read-only folders

    @Test func `searches extra folders after its own, and never writes to them`() throws {
        let other = cache("other")
        place.folder("flat")
        place.write([6, 6], to: "flat/\(EntryName(key: "raw.png").file)")
        try other.store(CachedData([1], extended: [2]), for: "kept")
        try other.store(CachedData([1]), for: "both")
        let cache = cache {
            $0.extraDirectories = [place.file("nowhere"), other.directory, place.file("flat")]
        }
        try cache.store(CachedData([2]), for: "both")
        // A file that ends like an entry must be a valid one.
        var damaged = try #require(readFile(other.path(for: "kept")))
        damaged[0] ^= 1
        place.write(damaged, to: "flat/\(EntryName(key: "damaged").file)")

        #expect(cache.data(for: "kept") == CachedData([1], extended: [2]))
        #expect(cache.data(for: "raw.png") == CachedData([6, 6]))
        #expect(cache.data(for: "both") == CachedData([2]))
        #expect(cache.data(for: "damaged") == nil)
        #expect(cache.data(for: "nothing") == nil)
        #expect(["kept", "raw.png"].allSatisfy { cache.contains($0) })
        cache.clear()
        cache.remove("kept")
        #expect(cache.data(for: "kept") != nil)
        #expect(cache.totalCount == 0)
    }
}
