import CoderHost
@testable import ImageLoading
import ImageModel
import TestSupport
import Testing

/// Conformance: S-13, S-45.
@Suite(.timeLimit(.minutes(40))) struct `Pruning` {
    private let disk = ModelDisk(seed: 1)

    private func cache(_ body: (inout DiskCacheConfiguration) -> Void = { _ in }) -> DiskCache {
        var configuration = DiskCacheConfiguration()
        configuration.sweepInterval = nil
        body(&configuration)
        return DiskCache(directory: "/var/cache/images", configuration: configuration, system: disk)
    }

    private func keys(_ cache: DiskCache) -> Set<String> {
        var keys: Set<String> = []
        cache.forEachEntry { keys.insert($0.key) }
        return keys
    }

    // MARK: Age

    @Test func `removes entries that are older than the limit (S-13)`() throws {
        let cache = cache { $0.maxAge = .seconds(1) }
        for key in ["a", "b", "c"] { try cache.store(CachedData([1]), for: key) }
        #expect(cache.prune().removed == 0)
        disk.wait(1)

        #expect(cache.prune().removed == 3)

        #expect(disk.paths() == ["/var/cache/images/.janitor", "/var/cache/images/CACHEDIR.TAG"])
    }

    @Test func `removes no entry with a negative age limit, and every entry with zero`() throws {
        let cache = cache { $0.maxAge = .seconds(-1) }
        try cache.store(CachedData([1]), for: "a")
        disk.wait(100_000_000)
        #expect(cache.prune().kept == 1)

        cache.configuration.maxAge = .zero
        try cache.store(CachedData([1]), for: "b")
        #expect(cache.prune().removed == 2)
    }

    @Test func `removes an entry that is small but expired, and one that is too large (S-45)`() throws {
        let cache = cache {
            $0.maxSize = 10
            $0.maxAge = .seconds(-1)
        }
        try cache.store(CachedData(Array(repeating: 0, count: 20)), for: "large")
        #expect(cache.prune().removed == 1)
        #expect(cache.totalCount == 0)

        cache.configuration.maxSize = 0
        cache.configuration.maxAge = .seconds(1)
        try cache.store(CachedData([1]), for: "small")
        disk.wait(2)
        #expect(cache.prune().removed == 1)
        #expect(cache.totalCount == 0)
    }

    @Test func `counts the age from the configured date`() throws {
        let day: Int64 = 86400
        for expiry in DiskCacheConfiguration.Expiry.allCases {
            let cache = cache {
                $0.maxAge = .seconds(10 * day)
                $0.expiry = expiry
            }
            cache.clear()
            for key in ["read", "changed", "neither"] { try cache.store(CachedData([1]), for: key) }
            disk.wait(6 * day)
            #expect(cache.data(for: "read") != nil)
            try cache.setExtendedData([1], for: "changed")
            disk.wait(5 * day)
            cache.prune()

            let expected: [DiskCacheConfiguration.Expiry: Set<String>] = [
                .accessed: ["read"], .modified: [], .created: [], .changed: ["changed"],
            ]
            #expect(keys(cache) == expected[expiry], "\(expiry)")
        }
    }

    // MARK: Size

    @Test func `removes the least recently read entries until less than half of the limit is left`() throws {
        let cache = cache { $0.maxSize = 10 * 4608 }
        for number in 0..<10 { try cache.store(CachedData(Array(repeating: 1, count: 4400)), for: "\(number)") }
        #expect(cache.totalSize == 10 * 4608)
        #expect(cache.prune().removed == 0)
        for number in [0, 3, 1] { #expect(cache.data(for: "\(number)") != nil) }
        try cache.store(CachedData(Array(repeating: 1, count: 4400)), for: "10")

        let report = cache.prune()

        #expect(report.removed == 7)
        #expect(report.keptSize == 4 * 4608)
        #expect(report.keptSize == cache.totalSize)
        #expect(keys(cache) == ["0", "3", "1", "10"])
    }

    @Test func `keeps the exact order of use`() throws {
        var random = SeededRandom(5)
        let cache = cache()
        var order = (0..<40).map { "\($0)" }
        for key in order { try cache.store(CachedData([1]), for: key) }
        for _ in 0..<200 {
            let key = order.remove(at: Int.random(in: 0..<order.count, using: &random))
            order.append(key)
            #expect(cache.data(for: key) != nil)
        }
        while order.count > 2 {
            cache.configuration.maxSize = cache.totalSize - 1
            cache.prune()
            let left = keys(cache)
            #expect(left == Set(order.suffix(left.count)))
            order = order.suffix(left.count)
        }
    }

    // MARK: The clock

    @Test func `expires entries with dates in the future`() throws {
        let cache = cache { $0.maxAge = .seconds(86400) }
        try cache.store(CachedData([1]), for: "first")
        cache.prune()
        disk.setClock(by: 3 * 365 * 86400)
        try cache.store(CachedData([1]), for: "future")
        disk.setClock(by: -3 * 365 * 86400)

        #expect(cache.prune().kept == 2)
        disk.wait(86000)
        #expect(cache.prune().kept == 2)
        disk.wait(400)

        #expect(cache.prune().removed == 2)
    }

    @Test func `removes no entry when the clock jumps forward and back`() throws {
        let cache = cache { $0.maxAge = .seconds(86400) }
        try cache.store(CachedData([1]), for: "a")
        cache.prune()
        disk.wait(60)
        disk.setClock(by: 12 * 365 * 86400)
        for _ in 0..<3 {
            let report = cache.prune()
            #expect(report.clockIsInDoubt && report.kept == 1)
            disk.wait(600)
        }
        disk.setClock(by: -12 * 365 * 86400)
        disk.wait(4000)
        cache.prune()
        disk.wait(4000)

        #expect(!cache.prune().clockIsInDoubt)
        #expect(cache.data(for: "a") != nil)
    }

    @Test func `trusts a changed clock after an hour`() throws {
        let cache = cache { $0.maxAge = .seconds(86400) }
        try cache.store(CachedData([1]), for: "a")
        cache.prune()
        disk.setClock(by: 12 * 365 * 86400)
        #expect(cache.prune().kept == 1)
        disk.wait(3601)

        #expect(cache.prune().removed == 1)
    }

    @Test func `removes everything, or by size, even when the clock is in doubt`() throws {
        let cache = cache { $0.maxSize = 1000 }
        for number in 0..<4 { try cache.store(CachedData([1]), for: "\(number)") }
        cache.prune()
        for number in 0..<4 { try cache.store(CachedData([1]), for: "\(number)") }
        disk.setClock(by: 99_999_999)

        let report = cache.prune()
        #expect(report.clockIsInDoubt && report.removed == 4)
        try cache.store(CachedData([1]), for: "a")
        cache.configuration.maxAge = .zero
        #expect(cache.prune().removed == 1)
    }

    @Test func `reads back its own record only`() {
        let record = SweepRecord(boot: "b", running: 12, wall: .max, doubtedAt: 5)
        #expect(SweepRecord(record.bytes) == record)
        #expect(SweepRecord(SweepRecord(wall: -5).bytes) == SweepRecord(wall: -5))
        #expect(record.bytes.count == SweepRecord.count)
        #expect(SweepRecord([]) == nil)
        #expect(SweepRecord(Array(record.bytes.dropLast())) == nil)
        #expect(SweepRecord(Array(repeating: 0x20, count: SweepRecord.count)) == nil)
    }

    // MARK: Concurrent processes

    @Test func `runs in one process at a time`() throws {
        let cache = cache { $0.maxAge = .zero }
        try cache.store(CachedData([1]), for: "a")
        let other = try disk.openLock("/var/cache/images/.janitor")
        try disk.lock(other, .exclusive)

        #expect(cache.prune().isBusy)
        #expect(cache.data(for: "a") != nil)
        disk.close(other)
        #expect(cache.prune().removed == 1)
    }

    @Test func `does not wait for a locked folder, and sweeps it the next time`() throws {
        let cache = cache { $0.maxAge = .zero }
        try cache.store(CachedData([1]), for: "a")
        let other = try disk.openFolder(EntryStore.parent(of: cache.path(for: "a")))
        try disk.lock(other, .shared)

        #expect(cache.prune().removed == 0)
        try cache.store(CachedData([2]), for: "a")
        disk.close(other)
        #expect(cache.prune().removed == 1)
    }

    @Test func `does not create a cache that does not exist`() {
        #expect(cache().prune() == PruneReport())
        #expect(disk.paths() == [])
    }

    @Test func `starts automatically after some bytes, and after some time`() async throws {
        let cache = cache {
            $0.maxSize = 100_000
            $0.sweepInterval = .seconds(1800)
            $0.sweepBytes = 20_000
        }
        func settle(_ isDone: () -> Bool) async throws {
            for _ in 0..<2000 where !isDone() { try await Task.sleep(for: .milliseconds(5)) }
        }
        var stored = 0
        repeat {
            try cache.store(CachedData(Array(repeating: 1, count: 4400)), for: "\(stored)")
            stored += 1
            try await Task.sleep(for: .milliseconds(1))
        } while cache.totalCount == stored && stored < 1000
        #expect(cache.totalCount < stored)

        cache.configuration.sweepBytes = .max
        cache.configuration.maxAge = .seconds(60)
        let before = cache.totalCount
        #expect(before > 0)
        disk.wait(1801)
        #expect(cache.data(for: "none") == nil)
        try await settle { cache.totalCount == 0 }
        #expect(cache.totalCount == 0)
    }
}
