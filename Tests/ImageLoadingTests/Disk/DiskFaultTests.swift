import CoderHost
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

/// Random I/O errors and power losses: no wrong bytes, no lost acknowledged entry, no leftover files.
@Suite(.timeLimit(.minutes(40))) struct `Disk cache on a failing disk` {
    private static let directory = "/var/cache/images"
    private static let keys = (0..<6).map { "https://example.com/\($0).jpg" }

    private static func content(_ random: inout SeededRandom) -> CachedData {
        let count = [0, 1, 300, 5000].randomElement(using: &random)! + Int.random(in: 0..<100, using: &random)
        let first = UInt8.random(in: .min ... .max, using: &random)
        return CachedData(
            (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0 &* 7) },
            extended: Bool.random(using: &random) ? [first] : nil, attributes: ["number": "\(first)"])
    }

    /// The acceptable values of a key: now, and after a power loss.
    private struct Expectation {
        var now: Set<CachedData?> = [nil]
        var later: Set<CachedData?> = [nil]

        mutating func mayBecome(_ value: CachedData?) {
            now.insert(value)
            later.insert(value)
        }
    }

    /// One life of a disk: random operations under faults, a power loss after a crash, and a final check without
    /// faults.
    private struct Life {
        let disk: ModelDisk
        let isDurable: Bool
        var random: SeededRandom
        var cache: DiskCache
        var expected: [String: Expectation] = [:]

        init(seed: UInt64, isDurable: Bool) {
            random = SeededRandom(seed)
            disk = ModelDisk(
                seed: seed ^ 0x5EED, hasUnnamedFiles: Bool.random(using: &random),
                hasLocks: Int.random(in: 0..<4, using: &random) > 0)
            self.isDurable = isDurable
            cache = Self.open(disk, isDurable)
            for key in keys { expected[key] = Expectation() }
        }

        private static func open(_ disk: ModelDisk, _ isDurable: Bool) -> DiskCache {
            var configuration = DiskCacheConfiguration()
            configuration.isDurable = isDurable
            configuration.sweepInterval = nil
            configuration.maxAge = .seconds(-1)
            return DiskCache(directory: directory, configuration: configuration, system: disk)
        }

        mutating func act() {
            let key = keys.randomElement(using: &random)!
            let before = disk.faults
            // Unsynchronized data may be lost.
            if !isDurable { expected[key]!.later.insert(nil) }
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9:
                let value = content(&random)
                do throws(CoderError) {
                    try cache.store(value, for: key)
                    expected[key] = Expectation(now: [value], later: isDurable ? [value] : expected[key]!.later)
                    if !isDurable { expected[key]!.later.insert(value) }
                } catch {
                    #expect(error.code == .inputOutput && error.hint != nil)
                    expected[key]!.mayBecome(value)
                }
            case 9..<11:
                let extended = [UInt8.random(in: .min ... .max, using: &random)]
                // Replaces extended data of any value found.
                let changed = expected[key]!.now.compactMap { $0 }.map {
                    CachedData($0.bytes, extended: extended, attributes: $0.attributes)
                }
                do throws(CoderError) {
                    try cache.setExtendedData(extended, for: key)
                    expected[key]!.now = Set(changed)
                    if isDurable {
                        expected[key]!.later = Set(changed)
                    } else {
                        expected[key]!.later.formUnion(changed)
                    }
                } catch {
                    for value in changed { expected[key]!.mayBecome(value) }
                }
            case 11..<13:
                cache.remove(key)
                expected[key]!.mayBecome(nil)
                if disk.faults == before { expected[key]!.now = [nil] }
            case 13: _ = cache.prune()
            case 14: _ = cache.verify(repair: true)
            default:
                let found = cache.data(for: key)
                let isFaulty = disk.faults > before
                let isRight = expected[key]!.now.contains(found) || found == nil && isFaulty
                #expect(isRight, "\(key)")
                if !isFaulty { expected[key]!.now = [found] }
            }
        }

        /// Restarts the machine and checks all keys.
        mutating func losePower() {
            disk.losePower()
            disk.setFaults(rate: 0)
            cache = Self.open(disk, isDurable)
            for key in keys {
                let found = cache.data(for: key)
                let isRight = expected[key]!.later.contains(found)
                #expect(isRight, "\(key) is \(found == nil ? "lost" : "wrong")")
                expected[key] = Expectation(now: [found], later: [found])
            }
        }

        mutating func end() {
            disk.setFaults(rate: 0)
            for key in keys {
                let found = cache.data(for: key)
                let isRight = expected[key]!.now.contains(found)
                #expect(isRight, "\(key) is \(found == nil ? "lost" : "wrong")")
            }
            // Without locks, a running write cannot be distinguished from an abandoned one.
            disk.wait(2 * 3600)
            cache.prune()
            #expect(!disk.paths().contains { EntryName.isTemporary(String($0.split(separator: "/").last!)) })
            #expect(disk.openFiles == 0)
            #expect(cache.verify().isSound)
        }
    }

    @Test(arguments: [true, false])
    func `survives ten thousand faults without wrong bytes, lost entries or leftover files`(isDurable: Bool) {
        var faults = 0
        var deaths = 0
        var seed: UInt64 = isDurable ? 1 : 1_000_000
        while faults < 5000 {
            var life = Life(seed: seed, isDurable: isDurable)
            seed += 1
            for _ in 0..<60 {
                life.disk.setFaults(rate: 25)
                life.act()
                if life.disk.isDead {
                    deaths += 1
                    life.losePower()
                }
            }
            life.end()
            faults += life.disk.faults
        }
        #expect(deaths > 500)
    }

    @Test(arguments: [ModelDisk.Fault.noSpace, .noQuota, .inputOutput, .readOnly, .noAccess])
    func `reports the fault with a hint, and works again afterwards`(fault: ModelDisk.Fault) throws {
        let disk = ModelDisk(seed: 7)
        var configuration = DiskCacheConfiguration()
        configuration.sweepInterval = nil
        let cache = DiskCache(directory: Self.directory, configuration: configuration, system: disk)
        try cache.store(CachedData([1, 2, 3]), for: "a.png")
        #expect(cache.state == .working)

        disk.setFaults(rate: 1000, [fault])
        let error = #expect(throws: CoderError.self) { try cache.store(CachedData([4]), for: "a.png") }
        #expect(error?.code == .inputOutput)
        #expect(error?.message.hasPrefix("\(cache.path(for: "a.png")) cannot be written: ") == true)
        #expect(cache.state == .degraded(try #require(error)))
        let words: [ModelDisk.Fault: String] = [
            .noSpace: "smaller maximum size", .noQuota: "quota", .inputOutput: "storage reported a fault",
            .readOnly: "mounted read-only", .noAccess: "let this user write",
        ]
        #expect(error?.hint?.contains(words[fault]!) == true)
        if ![.noSpace, .noQuota].contains(fault) { #expect(cache.data(for: "a.png") == nil) }

        disk.setFaults(rate: 0)
        #expect(cache.data(for: "a.png") == CachedData([1, 2, 3]))
        try cache.store(CachedData([5]), for: "b.png")
        #expect(cache.state == .working)
        #expect(disk.paths().filter { !$0.hasSuffix("/.janitor") && !$0.hasSuffix("/CACHEDIR.TAG") }.count == 2)
    }

    @Test func `frees space once when the disk is full`() throws {
        let disk = ModelDisk(seed: 8)
        var configuration = DiskCacheConfiguration()
        configuration.sweepInterval = nil
        configuration.maxSize = 1 << 30
        let cache = DiskCache(directory: Self.directory, configuration: configuration, system: disk)
        disk.setCapacity(20_000)
        for number in 0..<4 { try cache.store(CachedData(Array(repeating: 7, count: 4500)), for: "\(number)") }

        try cache.store(CachedData(Array(repeating: 8, count: 4500)), for: "new")

        #expect(cache.data(for: "new") != nil)
        #expect((0..<4).map { cache.contains("\($0)") } == [false, false, false, true])
        #expect(cache.state == .working)
    }
}
