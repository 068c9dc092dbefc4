import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// Messages of a compromised worker, and the reaction of the host.
@Suite struct `A hostile worker` {
    struct Lie: CustomTestStringConvertible {
        let name: String
        /// The expected error codes.
        let codes: [CoderError.Code]

        init(_ name: String, _ codes: CoderError.Code...) {
            self.name = name
            self.codes = codes
        }

        var testDescription: String { name }
    }

    static let lies = [
        Lie("OTHER_SESSION", .pluginFault), Lie("OTHER_SEQUENCE", .pluginFault), Lie("OTHER_MAGIC", .pluginFault),
        Lie("SHORT_REPLY", .pluginFault), Lie("ENDLESS_REPLY", .pluginFault), Lie("DESCRIPTORS", .pluginFault),
        Lie("SILENCE", .deadlineExceeded), Lie("ENDLESS_LOG", .deadlineExceeded), Lie("UNASKED_OUTPUT", .pluginFault),
        Lie("UNKNOWN_TYPE", .pluginFault), Lie("HUGE_SIZE", .limitExceeded, .corrupt),
        Lie("NO_FORMAT", .unsupportedFeature),
        Lie("OTHER_FRAME", .pluginFault), Lie("UNKNOWN_STATUS", .pluginFault), Lie("EMPTY_PACKET", .pluginFault),
        Lie("ENDS", .pluginCrashed), Lie("OTHER_PLUGIN", .pluginRefused), Lie("SHORT_LOADED", .pluginCrashed),
        Lie("BEHIND_THE_CANVAS", .pluginFault, .corrupt), Lie("LENGTH_LIES", .pluginFault),
        Lie("EMPTY_PARTS", .pluginFault), Lie("SLOW_PARTS", .deadlineExceeded), Lie("UNASKED_REST", .pluginFault),
    ]

    /// - Parameter milliseconds: short if the lie makes the host wait; otherwise a busy machine must not cause a
    ///   timeout.
    private func host(lie: String, in folder: TemporaryDirectory, milliseconds: Int? = nil) throws -> CoderHost {
        try BuiltPlugin.put("claims-formats", into: folder, as: "libcoder-bad.so")
        var limits = DecodeLimits.default
        if let milliseconds { limits.maxMilliseconds = milliseconds }
        var policy = IsolationPolicy(.require, needed: [])
        policy.workerPath = try PluginBuilder.buildHostileWorker(lie: lie, into: folder.path)
        return testHost(folder.path, limits: limits, isolation: policy)
    }

    @Test func `decodes normally while it follows the protocol`() throws {
        let folder = TemporaryDirectory()
        let image = try host(lie: "HONEST", in: folder).manager.decode(badImage)
        #expect(image.info.size == PixelSize(2, 2))
    }

    @Test(arguments: lies)
    func `causes one typed error`(lie: Lie) throws {
        let folder = TemporaryDirectory()
        let host = try host(
            lie: lie.name, in: folder, milliseconds: lie.codes.contains(.deadlineExceeded) ? 400 : nil)
        let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }
        #expect(lie.codes.contains(try #require(error).code), "\(lie.name): \(String(describing: error))")
    }

    /// Runs six parts concurrently, because most of the time is waiting.
    @Test(arguments: 0..<6)
    func `may send anything: three hundred sessions with random damage`(part: Int) throws {
        var folder = TemporaryDirectory()
        var codes: [String: Int] = [:]
        var host = try self.host(lie: "RANDOM", in: folder, milliseconds: 1500)
        for seed in part * 50..<part * 50 + 50 {
            folder.write(Array("\(seed)".utf8), to: "seed")
            do throws(CoderError) {
                let image = try host.manager.decode(badImage)
                #expect(image.pixels.size == image.info.size, "seed \(seed)")
                codes["an image", default: 0] += 1
            } catch {
                #expect(error.code != .misuse, "seed \(seed): \(error)")
                codes[error.code.description, default: 0] += 1
                // A refused plugin is not asked again, so later sessions would test nothing.
                if error.code == .pluginRefused {
                    folder = TemporaryDirectory()
                    host = try self.host(lie: "RANDOM", in: folder, milliseconds: 1500)
                }
            }
            // Without this, later sessions would only test the breaker.
            host.quarantine.clear()
        }
        #expect(codes.count >= 3, "\(codes)")
        #expect(codes["an image", default: 0] > 3, "\(codes)")
    }

    @Test func `cannot make the host count frames endlessly`() throws {
        let folder = TemporaryDirectory()
        let host = try host(lie: "ENDLESS_FRAMES", in: folder, milliseconds: 400)
        let error = #expect(throws: CoderError.self) {
            try host.manager.withSession(badImage) { session throws(CoderError) in _ = try session.frames() }
        }
        #expect([.limitExceeded, .deadlineExceeded].contains(try #require(error).code))
    }

    @Test func `cannot make the host accept missing metadata`() throws {
        let folder = TemporaryDirectory()
        let host = try host(lie: "LONG_BLOB", in: folder)
        let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }

        #expect(error?.code == .pluginFault)
        #expect(error?.message == "the worker was ended: it sent metadata with a wrong length")
    }
}
