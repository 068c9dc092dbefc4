import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// Workers that are killed, and sessions that are cancelled, at any moment; `make prove` repeats both more often.
@Suite(.serialized, .timeLimit(.minutes(40))) struct `An interrupted worker` {
    private func host(_ folder: TemporaryDirectory, _ file: String) throws -> CoderHost {
        // A name that no other test's processes have.
        try PluginBuilder.build("faulty/none.c", flags: ["-lm"], into: folder.path, named: file)
        return testHost(folder.path, Repository.products, isolation: IsolationPolicy(.require, needed: []))
    }

    /// 1000 x 700 pixels.
    private static let bytes =
        Array("flt!".utf8) + [0x03, 0xE8, 0x02, 0xBC, 3] + (0..<2_100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    @Test func `that is killed causes at most one typed error`() throws {
        let folder = TemporaryDirectory()
        let file = "libcoder-k\(UInt16.random(in: 1000...9999)).so"
        let host = try host(folder, file)
        let source = ImageSource(Self.bytes)
        let expected = try host.manager.decode(source).pixels.packedRows
        var random = SeededRandom(30)
        for number in 0..<30 {
            let (wait, choice) = (UInt32(random.next() % 6), Int(random.next() % 64))
            let outcome = Mutex<Result<DecodedImage, CoderError>?>(nil)
            runInParallel(2, threads: 2) { part in
                if part == 0 {
                    do throws(CoderError) {
                        let image = try host.manager.decode(source)
                        outcome.withLock { $0 = .success(image) }
                    } catch {
                        outcome.withLock { $0 = .failure(error) }
                    }
                } else {
                    pause(milliseconds: wait)
                    let all = processes(named: file)
                    if !all.isEmpty { killProcess(all[choice % all.count]) }
                }
            }
            switch try #require(outcome.withLock { $0 }) {
            case .success(let image): #expect(image.pixels.isSame(as: expected), "\(number)")
            case .failure(let error):
                #expect([.pluginCrashed, .isolationUnavailable].contains(error.code), "\(number): \(error)")
            }
            #expect(try host.manager.decode(source).pixels.isSame(as: expected), "after \(number)")
        }
    }

    @Test func `that is cancelled leaves no files or processes`() throws {
        let folder = TemporaryDirectory()
        let file = "libcoder-k\(UInt16.random(in: 1000...9999)).so"
        let host = try host(folder, file)
        let source = ImageSource(Self.bytes)
        _ = try host.manager.decode(source)
        var random = SeededRandom(50)
        for number in 0..<50 {
            let delay = UInt32(random.next() % 4)
            let context = Mutex<SessionContext?>(nil)
            let outcome = Mutex<CoderError?>(nil)
            runInParallel(2, threads: 2) { part in
                if part == 0 {
                    do throws(CoderError) {
                        try host.manager.withSession(source) { session throws(CoderError) in
                            context.withLock { $0 = session.context }
                            _ = try session.decodeImage()
                        }
                    } catch {
                        outcome.withLock { $0 = error }
                    }
                } else {
                    while context.withLock({ $0 == nil }) { pause(milliseconds: 1) }
                    pause(milliseconds: delay)
                    context.withLock { $0 }?.cancel()
                }
            }
            let code = outcome.withLock { $0?.code }
            #expect(code == nil || code == .cancelled, "\(number)")
        }
        #expect(try host.manager.decode(source).info.size == PixelSize(1000, 700))
        // The zygote remains; its workers end.
        for _ in 0..<300 where processes(named: file).count > 1 { pause(milliseconds: 10) }
        #expect(processes(named: file).count <= 1)
    }
}
