import Foundation
import ImageModel
import TestSupport
import Testing

@testable import CoderHost

@Suite(.timeLimit(.minutes(40))) struct `Session context` {
    private func endless() throws -> (CoderHost, TemporaryDirectory) {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("endless", into: folder)
        return (testHost(folder.path), folder)
    }

    /// The operations on an endless animation.
    enum Work: String, CaseIterable, Sendable {
        case list, count, decode
    }

    private func work(_ work: Work, _ session: DecodeSession) throws(CoderError) {
        switch work {
        case .list: _ = try session.frames()
        case .count:
            var index = 0
            while try session.frameInfo(index) != nil { index += 1 }
        case .decode: _ = try session.decodeFrame(.max)
        }
    }

    /// Returns limits with only these values set.
    private func limits(_ change: (inout DecodeLimits) -> Void) -> DecodeLimits {
        var limits = DecodeLimits.off
        change(&limits)
        return limits
    }

    @Test(arguments: Work.allCases) func `ends an endless animation when it is cancelled`(kind: Work) throws {
        let (host, folder) = try endless()
        defer { withExtendedLifetime(folder) {} }

        let error = #expect(throws: CoderError.self) {
            try host.manager.withSession(badImage, limits: .off) { session throws(CoderError) in
                let context = session.context
                Thread.detachNewThread { context.cancel() }
                try work(kind, session)
            }
        }

        #expect(error?.code == .cancelled)
    }

    @Test(arguments: Work.allCases) func `ends an endless animation at its deadline`(kind: Work) throws {
        let (host, folder) = try endless()
        defer { withExtendedLifetime(folder) {} }

        let error = #expect(throws: CoderError.self) {
            try host.manager.withSession(badImage, limits: limits { $0.maxMilliseconds = 50 }) {
                session throws(CoderError) in try work(kind, session)
            }
        }

        #expect(error?.code == .deadlineExceeded)
        #expect(error?.message.contains("50 ms") == true)
    }

    @Test(arguments: Work.allCases) func `ends an endless animation at the frame limit`(kind: Work) throws {
        let (host, folder) = try endless()
        defer { withExtendedLifetime(folder) {} }

        let error = #expect(throws: CoderError.self) {
            try host.manager.withSession(badImage, limits: limits { $0.maxFrames = 100 }) {
                session throws(CoderError) in try work(kind, session)
            }
        }

        #expect(error?.limit == CoderError.Limit(name: "frames", allowed: 100, requested: 101))
    }

    @Test(arguments: Work.allCases) func `ends an endless animation at the pixel limit`(kind: Work) throws {
        let (host, folder) = try endless()
        defer { withExtendedLifetime(folder) {} }

        let error = #expect(throws: CoderError.self) {
            try host.manager.withSession(badImage, limits: limits { $0.maxTotalPixels = 400 }) {
                session throws(CoderError) in try work(kind, session)
            }
        }

        #expect(error?.limit?.allowed == 400)
        #expect(error?.limit?.requested == 404, "each frame has four pixels")
    }

    @Test(arguments: ["f.png", "f.jpg", "f.gif", "f.webp", "f.ppm", "f.heic", "f.avif", "rgba.ff"])
    func `stops every coder if it is cancelled before decoding`(name: String) throws {
        let manager = testHost(Repository.products).manager
        let source = ImageSource(Fixture.named("images/\(name)").bytes)

        let error = #expect(throws: CoderError.self) {
            try manager.withSession(source) { session throws(CoderError) in
                session.context.cancel()
                return try session.decodeImage()
            }
        }

        #expect(error?.code == .cancelled)
    }

    @Test func `keeps few warnings, each once`() {
        let context = SessionContext()
        for index in 0..<1000 {
            context.warn("row \(index)")
            context.warn("the same")
        }

        #expect(context.warnings.count == 32)
        #expect(context.warnings.count { $0 == "the same" } == 1)
        #expect(context.warnings.first == "row 0")
    }

    @Test func `counts memory up to its limit`() {
        let context = SessionContext(limits: limits { $0.maxDecodedBytes = 100 })

        #expect(context.reserve(60))
        #expect(!context.reserve(41))
        #expect(context.reserve(40))
        #expect(!context.reserve(1))
        #expect(context.reserve(-100))
        #expect(context.reserve(100))
        #expect(!context.reserve(.max))
        #expect(context.reserve(-1_000_000))
        #expect(context.reserve(100))
        #expect(!context.reserve(1), "releasing too much does not raise the limit")
    }

    @Test func `has no deadline without a time limit`() {
        #expect(SessionContext(limits: .off).deadline == 0)
        #expect(SessionContext(limits: .strict).deadline > monotonicNow())
        #expect(SessionContext(limits: limits { $0.maxMilliseconds = .max }).deadline == .max)
        #expect(throws: Never.self) {
            try SessionContext(limits: limits { $0.maxMilliseconds = .max }).checkCancellation()
        }
    }

    /// Fills the allocator's memory with a color, and then decodes with a coder that draws nothing.
    @Test(arguments: [1, 16, 100, 500]) func `never shows old memory in a small image`(side: Int) throws {
        let folder = TemporaryDirectory()
        let size = ["-DWIDTH=\(side)", "-DHEIGHT=\(side)"]
        try BuiltPlugin.put(
            "claims-formats", ["-DNAME=paints", "-DCOLOR=0xabcdef"] + size, into: folder, as: "libcoder-paints.so")
        try BuiltPlugin.put("writes-nothing", ["-DNAME=silent"] + size, into: folder, as: "libcoder-silent.so")
        let manager = testHost(folder.path).manager
        func decode(_ coder: String) throws -> [UInt8] {
            try manager.withSession(badImage, forcing: coder) { session throws(CoderError) in
                try session.decodeImage().packed
            }
        }
        for _ in 0..<5 { try #require(decode("org.example.paints").allSatisfy { [0xAB, 0xCD, 0xEF].contains($0) }) }

        #expect(try decode("org.example.silent").allSatisfy { $0 == 0 })
    }
}
