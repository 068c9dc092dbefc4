import CIsolationWire
import Glibc
import TestSupport
import Testing

/// A session in a sealed process.
@Suite(.timeLimit(.minutes(40))) struct `A session in the worker` {
    private let folder = TemporaryDirectory()

    /// 3 x 2 pixels of QOI, encoded by hand: one RGB operation per color, then runs.
    private static let image: [UInt8] = [
        0x71, 0x6F, 0x69, 0x66, 0, 0, 0, 3, 0, 0, 0, 2, 3, 0,
        0xFE, 200, 10, 20,  // RGB
        0xFE, 30, 40, 250,  // RGB
        0x7F,  // DIFF +1 +1 +1
        0xC2,  // RUN 3
        0, 0, 0, 0, 0, 0, 0, 1,
    ]
    private static let pixels: [UInt8] = [
        200, 10, 20, 30, 40, 250, 31, 41, 251, 31, 41, 251, 31, 41, 251, 31, 41, 251,
    ]

    private func qoi(_ edition: PluginBuilder.Edition = .current) throws -> String {
        try PluginBuilder.buildQOI(edition, into: folder.path)
    }

    private func services() throws -> String {
        try PluginBuilder.build("isolation/services.c", into: folder.path)
    }

    // MARK: Decoding

    @Test(arguments: PluginBuilder.Edition.allCases, [CPI_SOURCE_MEMORY, CPI_SOURCE_READER])
    func `decodes to the same pixels`(edition: PluginBuilder.Edition, kind: UInt32) throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try qoi(edition))
        let worker = try process.fork()
        let (info, decoded) = try worker.decodeStill(Self.image, kind: kind)

        #expect(info.width == 3 && info.height == 2)
        #expect(decoded == Self.pixels)
    }

    @Test(arguments: [nil, "namespaces", "seccomp", "landlock", "namespaces,landlock,seccomp,pidfd,close-range"])
    func `decodes under any confinement`(denying: String?) throws {
        let process = try WorkerProcess(denying: denying)
        _ = try process.loadGood(try qoi())
        let worker = try process.fork()

        #expect(try worker.decodeStill(Self.image).1 == Self.pixels)
    }

    @Test func `decodes farbfeld with the bundled plugin`() throws {
        let file = try #require(readFile(Repository.fixture("images/rgba.ff")))
        let process = try WorkerProcess()
        guard
            case .loaded(let loaded) = try process.load(
                "\(Repository.workerPlugins)/libcoder-farbfeld.so", folders: WorkerProcess.folders + Runtime.folders)
        else { throw WorkerFailure("no answer") }
        #expect(loaded.message.isEmpty)
        let (info, decoded) = try process.fork().decodeStill(file)

        // 16 bytes of header, then big-endian samples; the decoded pixels are native endian.
        #expect(info.native.bits == 16)
        #expect(decoded.count == file.count - 16)
        var expected: [UInt8] = []
        for at in stride(from: 16, to: file.count, by: 2) { expected += [file[at + 1], file[at]] }
        #expect(decoded == expected)
    }

    @Test func `follows a growing source`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try qoi())
        let worker = try process.fork()
        #expect(try worker.openDecoder(Self.image, kind: CPI_SOURCE_GROWING, shown: 4).status == CPI_OK)
        func header(_ shown: Int) throws -> Int32 {
            try worker.reply(ISO_READ_HEADER, bytes(of: SealedWorker.input(shown, isComplete: false))).status
        }

        #expect(try header(4) == CPI_NEED_INPUT)
        #expect(try header(13) == CPI_NEED_INPUT)
        #expect(try header(14) == CPI_OK)
        #expect(try worker.reply(ISO_NEXT_FRAME, bytes(of: SealedWorker.input(14, isComplete: false))).status == CPI_OK)
        let surface = try Surface(3, 2, .rgb8)
        let part = try worker.decode(surface, 23, isComplete: false, flags: CPI_DECODE_WANT_PARTIAL)
        #expect(part.status == CPI_PARTIAL)
        let dirty = try part.asked(cpi_rect.self)
        #expect(dirty.x == 0 && dirty.y == 0 && dirty.width == 3 && dirty.height == 1)
        #expect(try worker.decode(surface, Self.image.count).status == CPI_OK)
        #expect(surface.memory.bytes == Self.pixels)
    }

    @Test func `reports an error with its offset`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try qoi())
        let worker = try process.fork()
        _ = try worker.openDecoder(Array(Self.image.dropLast(9)))
        let input = bytes(of: SealedWorker.input(Self.image.count - 9))
        #expect(try worker.reply(ISO_READ_HEADER, input).status == CPI_OK)
        #expect(try worker.reply(ISO_NEXT_FRAME, input).status == CPI_OK)
        let reply = try worker.decode(try Surface(3, 2, .rgb8), Self.image.count - 9)

        #expect(reply.status == CPI_TRUNCATED)
        #expect(!reply.message.isEmpty)
    }

    @Test func `does not write between rows`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try qoi())
        let worker = try process.fork()
        _ = try worker.openDecoder(Self.image)
        let input = bytes(of: SealedWorker.input(Self.image.count))
        _ = try worker.reply(ISO_READ_HEADER, input)
        _ = try worker.reply(ISO_NEXT_FRAME, input)
        let surface = try Surface(3, 2, .rgb8, padding: 5, pixels: [UInt8](repeating: 7, count: 28))

        #expect(try worker.decode(surface, Self.image.count).status == CPI_OK)
        let expected = Array(Self.pixels[..<9]) + [7, 7, 7, 7, 7] + Array(Self.pixels[9...]) + [7, 7, 7, 7, 7]
        #expect(surface.memory.bytes == expected)
    }

    @Test func `serves consecutive sessions, and more surfaces than it keeps mapped`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try qoi())
        let worker = try process.fork()
        for _ in 0..<7 {
            let surface = try Surface(3, 2, .rgb8)
            _ = try worker.openDecoder(Self.image)
            let input = bytes(of: SealedWorker.input(Self.image.count))
            _ = try worker.reply(ISO_READ_HEADER, input)
            _ = try worker.reply(ISO_NEXT_FRAME, input)
            #expect(try worker.decode(surface, Self.image.count).status == CPI_OK)
            #expect(surface.memory.bytes == Self.pixels)
            try worker.closeSession()
        }
    }

    @Test func `needs the descriptor of a surface only once`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try qoi())
        let worker = try process.fork()
        let surface = try Surface(3, 2, .rgb8)
        for hasDescriptor in [true, false, true] {
            surface.memory.bytes = [UInt8](repeating: 0, count: 18)
            _ = try worker.openDecoder(Self.image)
            let input = bytes(of: SealedWorker.input(Self.image.count))
            _ = try worker.reply(ISO_READ_HEADER, input)
            _ = try worker.reply(ISO_NEXT_FRAME, input)
            var request = iso_decode_request()
            request.input = SealedWorker.input(Self.image.count)
            request.surface = surface.wire
            let descriptors = hasDescriptor ? [surface.memory.descriptor] : []
            #expect(try worker.reply(ISO_DECODE, bytes(of: request), descriptors: descriptors).status == CPI_OK)
            #expect(surface.memory.bytes == Self.pixels)
            try worker.closeSession()
        }
    }

    // MARK: Encoding

    @Test func `encodes to the same bytes`() throws {
        let host = try PluginBuilder.buildHost(into: folder.path)
        let plugin = try qoi()
        var random = SeededRandom(5)
        let pixels = (0..<120 * 90 * 4).map { _ in UInt8.random(in: 0...255, using: &random) }
        let expected = try run([host, plugin, "encode", "120", "90", "4"], input: pixels)
        #expect(expected.status == 0, "\(expected.stderr)")
        let process = try WorkerProcess()
        _ = try process.loadGood(plugin)
        let worker = try process.fork()

        #expect(try worker.encodeStill(try Surface(120, 90, .rgba8, pixels: pixels)) == [0, 0, 0, 0, 0])
        #expect(worker.output == expected.output)
        // Bytes that a coder writes one by one are sent in few packets.
        #expect(worker.writes <= worker.output.count / 50_000 + 3)
        #expect(try worker.decodeStillAfterClosing(worker.output) == pixels)
    }

    @Test(arguments: [CPI_IO, CPI_LIMIT])
    func `returns the sink's status to the plugin`(status: Int32) throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try qoi())
        let worker = try process.fork()
        worker.sinkStatus = status
        var random = SeededRandom(7)
        // More than one packet, so that the plugin still writes when the answer arrives.
        let pixels = (0..<200 * 200 * 3).map { _ in UInt8.random(in: 0...255, using: &random) }
        let statuses = try worker.encodeStill(try Surface(200, 200, .rgb8, pixels: pixels))

        #expect(statuses.contains(status))
        #expect(worker.writes == 1)
    }

    // MARK: Options

    @Test(arguments: [("srgb", 0), ("linear", 1)] as [(String, UInt8)])
    func `passes options`(name: String, byte: UInt8) throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try qoi())
        let worker = try process.fork()
        let statuses = try worker.encodeStill(
            try Surface(2, 2, .rgb8), options: [option("qoi.colorspace", CPI_OPTION_ENUM, text: name)])

        #expect(statuses == [0, 0, 0, 0, 0])
        // The color space is the last byte of the header.
        #expect(worker.output[13] == byte)
    }

    @Test func `passes options longer than a packet`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try qoi())
        let worker = try process.fork()
        let long = String(repeating: "long ", count: 40_000)
        let opened = try worker.openEncoder([
            option("qoi.colorspace", CPI_OPTION_ENUM, text: "linear"), option(long, CPI_OPTION_STRING, text: long),
        ])

        #expect(opened.status == CPI_INVALID_ARGUMENT)
        #expect(opened.message.hasPrefix("there is no option long long "))
        // A failed open is closed, and the next one succeeds.
        #expect(try worker.openEncoder().status == CPI_OK)
    }

    // MARK: Metadata

    @Test func `transports metadata longer than a packet, in both directions`() throws {
        let packet = Array("<x:xmpmeta>".utf8) + [UInt8](repeating: 0x20, count: 200_000) + Array("</x:xmpmeta>".utf8)
        let process = try WorkerProcess()
        guard
            case .loaded(let loaded) = try process.load(
                "\(Repository.workerPlugins)/libcoder-png.so", folders: WorkerProcess.folders + Runtime.folders)
        else { throw WorkerFailure("no answer") }
        #expect(loaded.message.isEmpty)
        let worker = try process.fork()
        let statuses = try worker.encodeStill(
            try Surface(4, 4, .rgb8, pixels: [UInt8](repeating: 9, count: 48)), xmp: packet)
        #expect(statuses == [0, 0, 0, 0, 0, 0])
        try worker.closeSession()

        let (_, pixels) = try worker.decodeStill(worker.output)
        #expect(pixels == [UInt8](repeating: 9, count: 48))
        var request = iso_blob_query()
        request.input = SealedWorker.input(worker.output.count)
        request.most = 1 << 20
        let blob = try worker.reply(ISO_BLOB, bytes(of: request))
        #expect(blob.status == CPI_OK)
        // The blob begins with its kind, whether it has a key, and the key's length.
        #expect(try blob.asked(UInt32.self) == CPI_BLOB_XMP)
        #expect(blob.tail == packet)
        request.index = 1
        #expect(try worker.reply(ISO_BLOB, bytes(of: request)).status == CPI_END)
    }

    // MARK: Services

    @Test func `provides the services of the contract`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try services())
        let worker = try process.fork()
        worker.page.wantProgress()
        #expect(try worker.openDecoder([1, 2, 3]).status == CPI_OK)
        let reply = try worker.reply(ISO_READ_HEADER, bytes(of: SealedWorker.input(3)))

        #expect(try reply.asked(cpi_image_info.self).width == 2)
        // Each different warning is sent once.
        #expect(worker.logs == (0..<50).map { "warning \($0)" })
        #expect(worker.progress.last?.done == 100_000)
        #expect(worker.progress.count < 1000)
    }

    @Test func `sends progress only if requested`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try services())
        let worker = try process.fork()
        #expect(try worker.openDecoder([1, 2, 3]).status == CPI_OK)
        #expect(try worker.reply(ISO_READ_HEADER, bytes(of: SealedWorker.input(3))).status == CPI_OK)
        #expect(worker.progress.isEmpty)
    }

    @Test func `reads cancellation from the shared page`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try services())
        let worker = try process.fork()
        _ = try worker.openDecoder([1])
        worker.page.cancel()
        let reply = try worker.reply(ISO_READ_HEADER, bytes(of: SealedWorker.input(1)))

        // Bit 64 reports the cancellation; every other service behaved normally.
        #expect(try reply.asked(cpi_image_info.self).width == 64 | 2)
    }

    @Test func `counts memory for each session separately`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try PluginBuilder.build("isolation/tries.c", into: folder.path))
        let worker = try process.fork()
        for _ in 0..<3 {
            #expect(try worker.openDecoder([1]).status == CPI_OK)
            try worker.closeSession()
        }
        let memory = try SharedMemory([1])
        var open = SealedWorker.open(1, kind: CPI_SOURCE_MEMORY)
        open.limits.max_total_alloc = 1

        // Even the session itself does not fit.
        #expect(
            try worker.reply(ISO_OPEN_DECODER, bytes(of: open), descriptors: [memory.descriptor]).status
                == CPI_NO_MEMORY)
    }

    // MARK: In the plugin's own process

    @Test func `runs in the process itself for a plugin with threads`() throws {
        let process = try WorkerProcess()
        _ = try process.loadGood(try PluginBuilder.build("isolation/keeps-thread.c", into: folder.path))
        let worker = try process.become()

        let (info, pixels) = try worker.decodeStill([0x42, 0x41, 0x44, 0x21])
        #expect(info.width == 2)
        #expect(pixels == [UInt8](repeatElement([255, 0, 0], count: 4).joined()))
    }
}

extension SealedWorker {
    fileprivate func decodeStillAfterClosing(_ content: [UInt8]) throws -> [UInt8] {
        try closeSession()
        return try decodeStill(content).1
    }
}

/// The location of the Swift runtime for the bundled plugins.
enum Runtime {
    static let folders: [String] = {
        let plugin = "\(Repository.workerPlugins)/libcoder-farbfeld.so"
        let needed = (try? run(["ldd", plugin]))?.stdout ?? ""
        let path = needed.split(separator: "\n").first { $0.contains("libswiftCore.so =>") }
            .flatMap { $0.split(separator: " ").first { $0.hasPrefix("/") } }
        guard let parts = path?.split(separator: "/", omittingEmptySubsequences: false) else { return [] }
        return [parts.dropLast().joined(separator: "/")]
    }()
}
