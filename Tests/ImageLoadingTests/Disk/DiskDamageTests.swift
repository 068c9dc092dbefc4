import CoderHost
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

/// A damaged entry is a miss and is removed; the cache never returns wrong bytes.
@Suite(.timeLimit(.minutes(40))) struct `Damaged entries` {
    private let place = TemporaryDirectory()
    private let cache: DiskCache
    private let data = CachedData(
        (0..<5000).map { UInt8(truncatingIfNeeded: $0 / 7) }, extended: [1, 2, 3],
        attributes: ["etag": "x", "url": "y"])
    private let sound: [UInt8]
    private let path: String

    init() throws {
        var configuration = DiskCacheConfiguration()
        configuration.sweepInterval = nil
        cache = DiskCache(directory: place.file("cache"), configuration: configuration)
        try cache.store(data, for: "key.png")
        path = cache.path(for: "key.png")
        sound = try #require(readFile(path))
    }

    /// Overwrites the entry's file; returns whether the lookup missed and removed it.
    private func isMiss(_ bytes: [UInt8]) -> Bool {
        _ = writeFile(path, bytes)
        return cache.data(for: "key.png") == nil && FileStatus.of(path) == nil
    }

    @Test func `are detected at every byte of the metadata`() {
        for at in (data.bytes.count..<sound.count) {
            var bytes = sound
            bytes[at] ^= UInt8(1 << (at % 8))
            #expect(isMiss(bytes), "byte \(at)")
        }
        _ = writeFile(path, sound)
        #expect(cache.data(for: "key.png") == data)
    }

    @Test func `are detected at random bytes`() {
        var random = SeededRandom(3)
        for _ in 0..<500 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] &+= UInt8.random(in: 1...255, using: &random)
            }
            #expect(bytes == sound || isMiss(bytes))
        }
    }

    @Test func `are detected at every length`() {
        for count in Array(0..<300) + Array((sound.count - 300)..<sound.count) {
            #expect(isMiss(Array(sound.prefix(count))), "\(count) bytes")
        }
        #expect(isMiss(sound + [0]))
        #expect(isMiss([0] + sound))
        #expect(isMiss(Array(sound.dropFirst())))
        #expect(isMiss(sound + sound.suffix(112)))
        #expect(isMiss(Array(repeating: 0, count: sound.count)))
    }

    @Test(arguments: [UInt64.max, UInt64(Int.max), 1 << 62, 5001, 4999, 0, 1 << 40])
    func `are detected when a length field is wrong`(count: UInt64) {
        for field in 0..<3 {
            var bytes = sound
            for at in 0..<8 {
                bytes[sound.count - 112 + field * 8 + at] = UInt8(truncatingIfNeeded: count >> (8 * UInt64(at)))
            }
            #expect(isMiss(bytes), "field \(field)")
        }
    }

    @Test func `include entries of another key`() throws {
        try cache.store(CachedData([1]), for: "other.png")
        let other = try #require(readFile(cache.path(for: "other.png")))

        #expect(isMiss(other))
        #expect(cache.data(for: "other.png") == CachedData([1]))
    }

    @Test func `include entries of another version`() throws {
        var bytes = sound
        bytes[sound.count - 112 + 80] = 2
        #expect(isMiss(bytes))
    }

    @Test func `are not reached through a link`() throws {
        let target = place.write(sound, to: "elsewhere")
        try LocalDisk().unlink(path)
        #expect(try run(["ln", "-s", target, path]).status == 0)

        #expect(cache.data(for: "key.png") == nil)
        #expect(readFile(target) == sound)
        try cache.store(data, for: "key.png")
        #expect(cache.data(for: "key.png") == data)
        #expect(readFile(target) == sound)
    }

    @Test func `cannot be changed`() throws {
        var bytes = sound
        bytes[sound.count - 60] ^= 1
        _ = writeFile(path, bytes)

        #expect(throws: CoderError.self) { try cache.setExtendedData([5], for: "key.png") }
        #expect(cache.extendedData(for: "key.png") == nil)
    }

    // MARK: Verifying

    @Test func `are reported, and removed on request`() throws {
        for number in 0..<5 { try cache.store(CachedData([UInt8(number)]), for: "\(number)") }
        let (damaged, misplaced) = (cache.path(for: "1"), cache.path(for: "2"))
        var bytes = try #require(readFile(damaged))
        bytes[0] ^= 1
        _ = writeFile(damaged, bytes)
        _ = writeFile(misplaced, try #require(readFile(cache.path(for: "3"))))
        let folder = EntryStore.parent(of: path)
        let forsaken = "\(folder)/.storing-0.tmp"
        let foreign = ["\(folder)/note.txt", place.file("cache/readme")]
        for file in foreign + [forsaken] { _ = writeFile(file, [1]) }

        let report = cache.verify()
        #expect(report.damaged == [damaged])
        #expect(report.misplaced == [misplaced])
        #expect(report.forsaken == [forsaken])
        #expect(Set(report.foreign) == Set(foreign))
        #expect(report.sound == 4 && report.soundSize > 0)
        #expect(!report.isSound && report.removed == 0)
        #expect(readFile(damaged) == bytes)

        #expect(cache.verify(repair: true).removed == 3)

        let rest = cache.verify()
        #expect(rest.isSound && rest.sound == 4)
        #expect(Set(rest.foreign) == Set(foreign))
        #expect(cache.data(for: "key.png") == data)
    }

    @Test func `an unfinished file stays while it is written, and is removed when its process has ended`() throws {
        let disk = LocalDisk()
        let temporary = "\(EntryStore.parent(of: path))/.storing-1.tmp"
        let file = try disk.create(temporary)
        try disk.lock(file, .exclusive)

        #expect(cache.prune().forsaken == 0)
        #expect(cache.verify().forsaken == [])
        cache.clear()
        #expect(readFile(temporary) == [])

        disk.close(file)
        #expect(cache.prune().forsaken == 1)
        #expect(readFile(temporary) == nil)
    }
}
