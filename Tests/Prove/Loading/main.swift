// Tests a disk cache from outside: a script kills this program, limits its resources and runs several copies.
//
//   loading-prover puts DIR SEED FROM COUNT [durable] [maxsize=N]   prints "ok N" when entry N was acknowledged
//   loading-prover check DIR SEED [sweep]       reads acknowledged numbers from standard input, prints one line of
//   facts loading-prover race DIR SEED COUNT          stores, reads, changes, removes and prunes entries in several
//   processes loading-prover lookups DIR SEED ENTRIES COUNT   prints nanoseconds per hit and per miss loading-prover
//   prune DIR MAXSIZE            sweeps once; prints the removed entries, seconds and memory loading-prover hits DIR
//   PLUGINS FILE SIDE   loads a thumbnail of a file: decoded, from disk, from memory loading-prover watch DIR PLUGINS
//   FILE URL   loads the same file over a network, with previews
import CoderHost
import ImageLoading
import ImageModel
import ImageProcessing

func word(_ index: Int) -> String {
    guard index < commandLineWords.count else { fatalError("a word is missing; see the first lines of main.swift") }
    return commandLineWords[index]
}
func integer(_ index: Int) -> Int { Int(word(index)) ?? 0 }

/// The content of a key: it differs for every number and version, and contains both.
func content(seed: Int, number: Int, version: Int = 0) -> CachedData {
    var random = Generator(state: UInt64(truncatingIfNeeded: seed &* 1_000_003 &+ number &* 31 &+ version &* 7_000_003))
    let count = random.next() % 8 == 0 ? Int(random.next() % 60_000) : Int(random.next() % 3000)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
        let value = random.next()
        for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }
    return CachedData(bytes, attributes: ["number": "\(number)", "version": "\(version)"])
}

/// SplitMix64.
struct Generator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

extension ImageSource {
    var allBytes: [UInt8] { bytes(0..<count) }
}

func key(_ number: Int) -> String { "https://example.com/images/\(number).jpg" }

func seconds(_ body: () -> Void) -> Double {
    let start = monotonicNow()
    body()
    return Double(monotonicNow() - start) / 1e9
}

/// Formats a number with three decimals.
func text(_ value: Double) -> String {
    let thousandths = Int((value * 1000).rounded())
    let rest = "\(thousandths % 1000)"
    return "\(thousandths / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
}

/// The peak memory of this process in KiB.
func peak() -> Int {
    guard let file = try? File(reading: "/proc/self/status"), let bytes = try? file.bytes(at: 0, count: 8192) else {
        return 0
    }
    let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
}

var configuration = DiskCacheConfiguration()
configuration.sweepInterval = nil
for option in commandLineWords.dropFirst(3) {
    if option == "durable" { configuration.isDurable = true }
    if option.hasPrefix("maxsize=") { configuration.maxSize = Int(option.dropFirst(8)) ?? 0 }
}

/// Prints and flushes a line, so that it is not lost when the process is killed.
func tell(_ line: String) {
    let sink = try? FileSink(path: "-", replacing: true)
    try? Array("\(line)\n".utf8).withSpan { span throws(CoderError) in try sink?.write(span) }
}

let cache = DiskCache(directory: word(2), configuration: configuration)
switch word(1) {
case "puts":
    for number in integer(4)..<(integer(4) + integer(5)) {
        do throws(CoderError) {
            try cache.store(content(seed: integer(3), number: number), for: key(number))
            tell("ok \(number)")
        } catch {
            tell("failed \(number) \(error.code): \(error)")
        }
    }
    tell("state \(cache.state == .working ? "working" : "degraded")")
case "check":
    var acknowledged: [Int] = []
    while let line = readLine() { if let number = Int(line) { acknowledged.append(number) } }
    var lost = 0
    var wrong = 0
    let first = seconds { _ = cache.data(for: key(acknowledged.first ?? 0)) }
    for number in acknowledged {
        guard let data = cache.data(for: key(number)) else {
            lost += 1
            continue
        }
        if data != content(seed: integer(3), number: number) { wrong += 1 }
    }
    // Entries that were stored but not acknowledged must be right, too.
    var entries = 0
    cache.forEachEntry { entry in
        entries += 1
        guard let number = Int(entry.attributes["number"] ?? ""), entry.key == key(number),
            cache.data(for: entry.key).map({ $0 == content(seed: integer(3), number: number) }) ?? false
        else {
            wrong += 1
            return
        }
    }
    if commandLineWords.contains("sweep") { cache.prune() }
    let report = cache.verify()
    tell(
        "entries \(entries) lost \(lost) wrong \(wrong) damaged \(report.damaged.count) "
            + "forsaken \(report.forsaken.count) foreign \(report.foreign.count) first_lookup \(text(first))")
case "race":
    // All processes use the same eight keys; the version identifies the process that stored the entry.
    var random = Generator(state: UInt64(integer(3)))
    var wrong = 0
    var hits = 0
    var failed = 0
    for _ in 0..<integer(4) {
        let number = Int(random.next() % 8)
        switch random.next() % 16 {
        case 0..<6:
            let version = Int(random.next() % 1000)
            do throws(CoderError) {
                try cache.store(content(seed: 1, number: number, version: version), for: key(number))
            } catch {
                failed += 1
            }
        case 6: cache.remove(key(number))
        case 7: try? cache.setExtendedData([1], for: key(number))
        case 8: cache.prune()
        case 9: _ = cache.verify(repair: true)
        default:
            guard let data = cache.data(for: key(number)) else { continue }
            hits += 1
            let version = Int(data.attributes["version"] ?? "") ?? -1
            if data.bytes != content(seed: 1, number: number, version: version).bytes { wrong += 1 }
        }
    }
    tell("wrong \(wrong) failed \(failed) hits \(hits)")
case "lookups":
    let (entries, count) = (integer(4), integer(5))
    var random = Generator(state: 5)
    var found = 0
    let hits = seconds {
        for _ in 0..<count { if cache.data(for: key(Int(random.next() % UInt64(entries)))) != nil { found += 1 } }
    }
    let misses = seconds { for number in 0..<count { _ = cache.data(for: key(entries + number)) } }
    tell(
        "found \(found) ns_per_hit \(Int(hits * 1e9 / Double(count))) ns_per_miss \(Int(misses * 1e9 / Double(count)))")
case "prune":
    cache.configuration.maxSize = integer(3)
    let before = peak()
    var report = PruneReport()
    let busy = processorSeconds()
    let time = seconds { report = cache.prune() }
    let used = processorSeconds() - busy
    tell(
        "removed \(report.removed) kept \(report.kept) seconds \(text(time)) cpu \(text(used)) kib \(peak() - before) "
            + "kept_size \(report.keptSize)")
case "hits":
    let bytes = try ImageSource(path: word(4)).allBytes
    tell(try await Speed(plugins: word(3), side: integer(5)).hits(word(2), bytes))
case "watch":
    let bytes = try ImageSource(path: word(4)).allBytes
    tell(try await Speed(plugins: word(3), side: 0).progressive(word(5), bytes))
default: fatalError("unknown command")
}
