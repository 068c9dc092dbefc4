import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// Workers of threads that are bound to a processor.
@Suite(.serialized, .enabled(if: Machine.processorCount > 1)) struct `A worker of a bound thread` {
    private static let source = ImageSource(Array("flt!".utf8) + [0, 2, 0, 1, 3] + [1, 2, 3, 4, 5, 6])

    private func processors(of process: String) -> String {
        let status = readFile("/proc/\(process)/status").map { String(decoding: $0, as: UTF8.self) } ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") } ?? ""
        return String(line.dropFirst("Cpus_allowed_list:".count).drop { $0 == "\t" })
    }

    @Test func `runs on that processor, or anywhere for an unbound thread`() throws {
        let folder = TemporaryDirectory()
        let file = "libcoder-b\(UInt16.random(in: 1000...9999)).so"
        try PluginBuilder.build("faulty/none.c", flags: ["-lm"], into: folder.path, named: file)
        let host = testHost(
            folder.path, Repository.products, isolation: IsolationPolicy(.require, reuse: .reuse(9), needed: []))
        let threads = Mutex<[String]>([])
        let workers = Mutex<[[String]]>([])
        runInParallel(Machine.processorCount, threads: Machine.processorCount, isBound: true) { _ in
            let session: DecodeSession
            do throws(CoderError) {
                session = try host.manager.openSession(Self.source)
            } catch {
                Issue.record(error)
                return
            }
            threads.withLock { $0.append(processors(of: "thread-self")) }
            // All sessions stay open until every thread has checked.
            wait(until: { threads.withLock { $0.count } == Machine.processorCount })
            let seen = processes(named: file).map { processors(of: "\($0)") }
            workers.withLock { $0.append(seen) }
            wait(until: { workers.withLock { $0.count } == Machine.processorCount })
            withExtendedLifetime(session) {}
        }
        let bound = threads.withLock { $0.sorted() }
        #expect(Set(bound).count == Machine.processorCount)
        let everywhere = processors(of: "self")
        // The first process is the zygote.
        for seen in workers.withLock({ $0 }) { #expect(seen.first == everywhere && seen.dropFirst().sorted() == bound) }
        #expect(workers.withLock { $0.count } == Machine.processorCount)
        #expect(processors(of: "thread-self") == everywhere)

        let before = processes(named: file)
        let session = try host.manager.openSession(Self.source)
        #expect(processes(named: file) == before)
        #expect(before.dropFirst().filter { processors(of: "\($0)") == everywhere }.count == 1)
        withExtendedLifetime(session) {}
    }

    private func wait(until isDone: () -> Bool) {
        for _ in 0..<1000 where !isDone() { pause(milliseconds: 10) }
    }
}
