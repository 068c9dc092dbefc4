import CoderHost
import Foundation
import ImageModel
import TestSupport
import Testing

/// Damaged files in this process: no crash, no hang, and only typed errors.
///
/// A library crash ends the tests. If `CODERHOST_MUTATIONS` (the total number) and `CODERHOST_TEST_ARTIFACTS` (a
/// folder) are set, each input is first written to `last-mutation` in that folder.
@Suite(.serialized) struct `Damaged files` {
    /// Invalid files are mutated as well as valid ones.
    static let seeds =
        Fixture.all.filter { $0.byteCount > 0 && $0.format != "none" && !$0.name.hasPrefix("netpbm/") }
        + Fixture.valid("pnm", "pam").filter { $0.name.hasPrefix("netpbm/") }
    static let wanted = ProcessInfo.processInfo.environment["CODERHOST_MUTATIONS"].flatMap { Int($0) }
    static let mutations = wanted ?? 6000
    static let folder = ProcessInfo.processInfo.environment["CODERHOST_TEST_ARTIFACTS"]
    /// A memory limit for wrong sizes, and a time limit that no small image reaches.
    static let limits = {
        var limits = DecodeLimits.strict
        limits.maxPixels = 4_000_000
        limits.maxMilliseconds = 20_000
        return limits
    }()

    /// Opens a file, reads everything, and returns the error; nil if it was decoded.
    private func open(_ bytes: [UInt8], forcing coder: String) -> CoderError? {
        if Self.wanted != nil, let folder = Self.folder { _ = writeFile("\(folder)/last-mutation", bytes) }
        do throws(CoderError) {
            try Bench.manager.withSession(ImageSource(bytes), limits: Self.limits, forcing: coder) {
                session throws(CoderError) in
                _ = try session.metadata()
                _ = try session.frames()
                _ = try session.decodeImage()
                if let thumbnails = try? session.thumbnails(), !thumbnails.isEmpty {
                    _ = try session.decodeThumbnail(0)
                }
            }
            return nil
        } catch {
            return error
        }
    }

    private func coder(of fixture: Fixture) throws -> String {
        try #require(
            Bench.manager.candidates(for: Bench.source(fixture)).first ?? Bench.manager.order(for: fixture.format).first
        )
        .descriptor.id
    }

    /// The expected error codes for a damaged file; any other code is a bug.
    private func isOrdinary(_ error: CoderError) -> Bool {
        [.corrupt, .truncated, .unsupportedFeature, .limitExceeded, .notMine, .unrecognizedFormat, .noCoder]
            .contains(error.code)
    }

    @Test(arguments: seeds)
    func `truncated at any length are refused or decode`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        let coder = try coder(of: fixture)
        // AV1 and HEVC take milliseconds per decode, the others microseconds.
        let heavy = fixture.format == "heic" || fixture.format == "avif"
        let most = Self.wanted != nil ? 400 : heavy ? 24 : 40
        let step = max(1, bytes.count / most)

        for count in stride(from: 0, to: bytes.count, by: step) {
            if let error = open(Array(bytes[..<count]), forcing: coder) {
                #expect(isOrdinary(error), "\(fixture.name) cut to \(count): \(error.code) \(error)")
            }
        }
    }

    @Test func `with wrong bits are refused or decode`() throws {
        var dice = Dice(seed: 2)
        for index in 0..<Self.mutations {
            let fixture = Self.seeds[index % Self.seeds.count]
            var bytes = fixture.bytes
            for _ in 0...dice.below(8) { mutate(&bytes, &dice) }
            // A wrong checksum would stop most damage of a PNG in the first function.
            if fixture.format == "png", dice.below(4) > 0 { mendChecksums(&bytes) }
            if let error = open(bytes, forcing: try coder(of: fixture)), !isOrdinary(error) {
                Issue.record("mutation \(index) of \(fixture.name): \(error.code) \(error)")
            }
        }
    }

    /// Corrects the checksum of every chunk.
    ///
    /// - Source: PNG 3rd edition, 5.3 (chunk layout), 5.5 and annex D (CRC).
    private func mendChecksums(_ bytes: inout [UInt8]) {
        var at = 8
        while at + 12 <= bytes.count {
            let count = bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
            guard count <= bytes.count - at - 12 else { return }
            let end = at + 8 + count
            var crc: UInt32 = 0xFFFF_FFFF
            for byte in bytes[at + 4..<end] {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
            }
            for index in 0..<4 { bytes[end + index] = UInt8(truncatingIfNeeded: ~crc >> UInt32(24 - 8 * index)) }
            at = end + 4
        }
    }

    /// Flips a bit, changes a byte, or deletes, doubles or moves a piece.
    private func mutate(_ bytes: inout [UInt8], _ dice: inout Dice) {
        if bytes.isEmpty { return }
        // Half of the mutations change the first bytes, which contain lengths and counts.
        let at = dice.below(dice.below(2) == 0 ? min(bytes.count, 128) : bytes.count)
        switch dice.below(8) {
        case 0...3: bytes[at] ^= 1 << UInt8(dice.below(8))
        case 4: bytes[at] = UInt8(truncatingIfNeeded: dice.next())
        case 5: bytes[at] = [0, 1, 0x7F, 0x80, 0xFF][dice.below(5)]
        case 6: bytes.removeSubrange(at..<min(bytes.count, at + 1 + dice.below(16)))
        default:
            bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + 1 + dice.below(16))], at: dice.below(bytes.count))
        }
    }
}
