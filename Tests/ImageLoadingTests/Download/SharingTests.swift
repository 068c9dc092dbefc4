import CoderHost
import ImageModel
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Shared downloads` {
    static let image = pattern(50_000)

    @Test func `run once and answer every caller (D-31a)`() async throws {
        try await withServer { server, downloader async throws in
            let gate = Gate()
            server.on("/a") { _ in .gated(Self.image, after: 100, gate) }
            let url = server.url("/a")

            let loads = (0..<201).map { _ in Task { await downloader.outcome(url) } }
            #expect(await eventually { downloader.callers == 201 && server.requests.count == 1 })
            gate.open()
            var bytes = 0
            for load in loads where try await load.value.get().bytes == Self.image { bytes += 1 }

            #expect(bytes == 201)
            #expect(server.requests.count == 1)
            #expect(downloader.count == 0)
        }
    }

    @Test func `are separate for options that change the bytes`() async throws {
        try await withServer { server, downloader async throws in
            let gate = Gate()
            server.on("/a") { _ in .gated([1, 2], after: 1, gate) }
            let url = server.url("/a")
            let changes: [@Sendable (inout LoadOptions) -> Void] = [
                { _ in }, { $0.request.headers = ["Accept": "image/webp"] },
                { $0.request.credential = Credential(user: "a", password: "b") },
                { $0.request.handlesCookies = true }, { $0.request.responseModifier = { $0 } },
                { $0.request.decryptor = { bytes, _ in bytes } },
                { $0.request.modifier = RequestModifiers.headers(["X-A": "1"]) },
            ]
            let same: [@Sendable (inout LoadOptions) -> Void] = [
                { $0.request.minimumProgressInterval = 0.5 }, { $0.previewPolicy = .paced() },
                { $0.request.modifier = RequestModifiers.headers(["X-A": "1"]) },
                { $0.decode.size = .box(PixelSize(1, 1)) },
            ]
            downloader.maxConcurrent = 100

            let loads = (changes + same).map { change in Task { await downloader.outcome(url, options: change) } }
            #expect(await eventually { server.requests.count == changes.count && downloader.count == changes.count })
            gate.open()
            for load in loads { #expect(try await load.value.get().bytes == [1, 2]) }

            #expect(server.requests.count == changes.count)
        }
    }

    @Test func `continue when one caller is cancelled (D-20)`() async throws {
        try await withServer { server, downloader async throws in
            let gate = Gate()
            server.on("/a") { _ in .gated(Self.image, after: 100, gate) }
            let url = server.url("/a")

            let stays = Task { await downloader.outcome(url) }
            #expect(await eventually { server.requests.count == 1 })
            let goes = Task { await downloader.outcome(url) }
            #expect(await eventually { downloader.callers == 2 })
            goes.cancel()
            let gone = await goes.value
            gate.open()

            guard case .failure(let error) = gone else { return #expect(Bool(false), "it was cancelled") }
            #expect(error.code == .cancelled)
            #expect(try await stays.value.get().bytes == Self.image)
            #expect(server.requests.count == 1)
        }
    }

    @Test func `start again after all callers were cancelled (D-21)`() async throws {
        try await withServer { server, downloader async throws in
            let gate = Gate()
            server.on("/a") { $0.number == 1 ? .gated(Self.image, after: 0, gate) : .bytes([1]) }
            let url = server.url("/a")

            let goes = Task { await downloader.outcome(url) }
            #expect(await eventually { server.requests.count == 1 })
            goes.cancel()
            let again = try await downloader.bytes(url)

            #expect(again == [1])
            #expect(await goes.value.failure?.code == .cancelled)
            #expect(await eventually { downloader.count == 0 && downloader.runningCount == 0 })
            gate.open()
        }
    }

    @Test func `are all cancelled by cancelAll (D-11)`() async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse { _ in .silence }
            let urls = (0..<10).map { server.url("/\($0)") }

            let loads = urls.map { url in Task { await downloader.outcome(url) } }
            #expect(await eventually { downloader.count == 10 && server.requests.count == 6 })
            downloader.cancelAll()

            for load in loads { #expect(await load.value.failure?.code == .cancelled) }
            #expect(downloader.count == 0)
            #expect(await eventually { downloader.runningCount == 0 && downloader.waitingCount == 0 })
        }
    }

    @Test func `are cancelled by a shutdown, after which no download starts`() async throws {
        let server = try await TestServer.start()
        server.onEverythingElse { _ in .silence }
        let downloader = try makeDownloader()
        let url = server.url("/a")
        let load = Task { await downloader.outcome(url) }
        #expect(await eventually { server.requests.count == 1 })

        await downloader.shutdown()

        #expect(await load.value.failure?.code == .cancelled)
        #expect(await downloader.failure(url)?.code == .cancelled)
        #expect(await eventually { server.openConnections == 0 })
        await server.stop()
    }

    @Test func `leave no connections or objects when the downloader is released`() async throws {
        let server = try await TestServer.start()
        server.onEverythingElse { _ in .bytes([1]) }
        weak var forgotten: Downloader?
        do {
            let downloader = try makeDownloader()
            forgotten = downloader
            _ = try await downloader.bytes(server.url("/a"))
        }

        #expect(await eventually { server.openConnections == 0 })
        #expect(forgotten == nil)
        await server.stop()
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Progress of downloads` {
    @Test func `is reported while bytes arrive, with the length`() async throws {
        try await withServer { server, downloader async throws in
            let gate = Gate()
            server.on("/a") { _ in .gated(pattern(1000), after: 100, gate) }
            let events = Collected<(received: Int, expected: Int?, isComplete: Bool)>()

            _ = try await downloader.outcome(
                server.url("/a"),
                onProgress: {
                    events.add(($0.received, $0.expected, $0.source.isComplete))
                    gate.open()
                }
            ).get()

            let received = events.values.map(\.received)
            #expect(received == received.sorted())
            #expect(received.first.map { $0 < 1000 } == true)
            #expect(events.values.allSatisfy { $0.expected == 1000 })
            #expect(events.values.last?.received == 1000)
            #expect(events.values.filter(\.isComplete).count == 1)
        }
    }

    @Test func `is reported without a length, too`() async throws {
        try await withServer { server, downloader async throws in
            let gate = Gate()
            server.on("/a") { _ in
                var reply = Reply.chunked(pattern(1000), piece: 100)
                reply.steps.insert(.wait(gate), at: 1)
                return reply
            }
            let events = Collected<(received: Int, expected: Int?)>()

            _ = try await downloader.outcome(
                server.url("/a"),
                onProgress: {
                    events.add(($0.received, $0.expected))
                    gate.open()
                }
            ).get()

            #expect(events.values.count > 1)
            #expect(events.values.dropLast().allSatisfy { $0.expected == nil })
            #expect(events.values.last?.expected == 1000)
        }
    }

    @Test func `is reported only at the requested interval (D-17)`() async throws {
        try await withServer { server, downloader async throws in
            let gate = Gate()
            server.on("/a") { _ in .gated(pattern(1000), after: 600, gate) }
            let events = Collected<Int>()

            _ = try await downloader.outcome(
                server.url("/a"),
                onProgress: {
                    events.add($0.received)
                    gate.open()
                }, options: { $0.request.minimumProgressInterval = 0.51 }
            ).get()

            #expect(events.values.count == 2)
            #expect((510...600).contains(events.values.first ?? 0))
            #expect(events.values.last == 1000)
        }
    }

    @Test func `is reported in fixed steps when the length is unknown`() throws {
        let events = Collected<Int>()
        let gate = ProgressGate(minimum: 0.5) { events.add($0.received) }
        let source = try ImageSource(growingTo: 1 << 20)
        for _ in 0..<10 {
            try source.append([UInt8](repeating: 0, count: 16 << 10))
            gate.pass(LoadProgress(source, expected: nil))
        }
        #expect(events.values == [64 << 10, 128 << 10])
    }

    @Test func `reaches later callers with all received bytes`() async throws {
        try await withServer { server, downloader async throws in
            let gate = Gate()
            server.on("/a") { _ in .gated(pattern(1000), after: 400, gate) }
            let url = server.url("/a")
            let early = Collected<ImageSource>()
            let late = Collected<ImageSource>()

            let first = Task { await downloader.outcome(url, onProgress: { early.add($0.source) }) }
            #expect(await eventually { early.values.last?.count == 400 })
            let second = Task { await downloader.outcome(url, onProgress: { late.add($0.source) }) }
            #expect(await eventually { downloader.callers == 2 })
            gate.open()
            _ = try await (first.value.get(), second.value.get())

            #expect(late.values.last === early.values.last)
            #expect(late.values.last?.bytes(0..<1000) == pattern(1000))
            #expect(server.requests.count == 1)
        }
    }
}

extension Result {
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
