import CIsolationWire
import TestSupport
import Testing

/// A message that does not follow the protocol ends the process, and has no other effect.
@Suite(.timeLimit(.minutes(40))) struct `Malformed messages` {
    private static let refusal = Ending.exit(65)

    private static func packet(
        magic: UInt32 = ISO_MAGIC, version: UInt16 = ISO_VERSION, type: Int32 = ISO_PROBE, session: UInt64 = 0,
        length: UInt32? = nil, more: UInt32 = 0, descriptors: UInt32 = 0, body: [UInt8] = []
    ) -> [UInt8] {
        bytes(
            of: iso_header(
                magic: magic, version: version, type: UInt16(type), session: session, sequence: 1,
                length: length ?? UInt32(body.count), more: more, descriptors: descriptors)) + body
    }

    static let control: [(String, [UInt8])] = [
        ("one byte", [1]),
        ("half a header", Array(packet().prefix(16))),
        ("another magic number", packet(magic: 1)),
        ("another version", packet(version: 2)),
        ("a length above the body", packet(length: 1)),
        ("a length below the body", packet(length: 0, body: [1, 2])),
        ("a length of all bits", packet(length: .max)),
        ("an unknown word for more", packet(more: 2)),
        ("missing descriptors", packet(descriptors: 1)),
        ("an unknown type", packet(type: 99)),
        ("a request for a session", packet(type: ISO_DECODE)),
        ("a fork before the plugin", packet(type: ISO_FORK)),
        ("an empty order to load", packet(type: ISO_LOAD)),
        ("an order to load without a plugin", packet(type: ISO_LOAD, body: bytes(of: iso_load()))),
        ("folders without a NUL", packet(type: ISO_LOAD, body: bytes(of: iso_load()) + [0x2F])),
    ]

    @Test(arguments: control)
    func `to the process with the plugin`(what: String, packet: [UInt8]) throws {
        let process = try WorkerProcess()
        process.sendBytes(packet)

        #expect(try process.end() == Self.refusal)
        #expect(process.waitUntilNothingIsLeft())
    }

    static let sessions: [(String, [UInt8])] = [
        ("no bytes of a header", [0]),
        ("another magic number", packet(magic: 1, type: ISO_OPEN_DECODER)),
        ("an order to load", packet(type: ISO_LOAD, body: bytes(of: iso_load()))),
        ("an unexpected answer", packet(type: ISO_WRITTEN, body: bytes(of: iso_written()))),
        ("a request without a session", packet(type: ISO_NEXT_FRAME, body: bytes(of: iso_input()))),
        ("a short request", packet(type: ISO_DECODE, body: [1, 2, 3])),
        ("an open without its input", packet(type: ISO_OPEN_DECODER, body: bytes(of: iso_open()))),
        ("an encoder that does not exist", packet(type: ISO_OPEN_ENCODER, body: bytes(of: iso_open()))),
    ]

    private let folder = TemporaryDirectory()

    private func worker() throws -> (WorkerProcess, SealedWorker) {
        let process = try WorkerProcess()
        _ = try process.loadGood(try PluginBuilder.build("isolation/tries.c", into: folder.path))
        return (process, try process.fork())
    }

    private func expectRefusal(_ process: WorkerProcess, _ what: String) throws {
        let ended = try process.endOfWorker()
        #expect(ended.exit_code == 65 && ended.signal == 0, "\(what)")
    }

    @Test(arguments: sessions)
    func `to a session`(what: String, packet: [UInt8]) throws {
        let (process, worker) = try worker()
        worker.sendBytes(packet)

        try expectRefusal(process, what)
    }

    static let opens: [(String, @Sendable (inout iso_open) -> Void)] = [
        ("a coder that does not exist", { $0.coder = 1 }),
        ("a coder far away", { $0.coder = .max }),
        ("an unknown kind of source", { $0.source_kind = 9 }),
        ("a capacity above the memory", { $0.capacity = 1 << 40 }),
        ("more bytes than the capacity", { $0.input.available = 5 }),
        ("an invalid truth value", { $0.input.complete = 2 }),
        ("missing options", { $0.option_count = 1 }),
        ("very many options", { $0.option_count = .max }),
    ]

    @Test(arguments: opens.indices)
    func `to open a session`(index: Int) throws {
        let (process, worker) = try worker()
        let memory = try SharedMemory([1, 2, 3, 4])
        var open = SealedWorker.open(4, kind: CPI_SOURCE_MEMORY)
        Self.opens[index].1(&open)
        worker.send(ISO_OPEN_DECODER, bytes(of: open), descriptors: [memory.descriptor])

        try expectRefusal(process, Self.opens[index].0)
    }

    static let options: [(String, [UInt8])] = [
        ("half an option", Array(option("a", CPI_OPTION_I64).dropLast(20))),
        ("a key without a NUL", Array(option("a", CPI_OPTION_I64).dropLast(2))),
        ("a value without a NUL", Array(option("a", CPI_OPTION_STRING, text: "b").dropLast())),
        (
            "a key of all bits",
            bytes(of: iso_option(type: 2, key_length: .max, integer: 0, real: 0, length: 0)) + [0, 0]
        ),
        (
            "a value of all bits",
            bytes(of: iso_option(type: 4, key_length: 1, integer: 0, real: 0, length: .max)) + [0x61, 0, 0]
        ),
        (
            "a key with a NUL elsewhere",
            bytes(of: iso_option(type: 2, key_length: 0, integer: 0, real: 0, length: 1)) + [0x61, 0, 0]
        ),
        ("bytes after the last option", option("a", CPI_OPTION_I64) + [0]),
    ]

    @Test(arguments: options)
    func `with options`(what: String, content: [UInt8]) throws {
        let (process, worker) = try worker()
        let memory = try SharedMemory([1])
        let open = SealedWorker.open(1, kind: CPI_SOURCE_MEMORY, options: 1)
        worker.send(ISO_OPEN_DECODER, bytes(of: open) + content, descriptors: [memory.descriptor])

        try expectRefusal(process, what)
    }

    static let surfaces: [(String, @Sendable (inout iso_surface) -> Void)] = [
        ("more memory than exists", { $0.map_bytes = 1 << 40 }),
        ("a start after the end", { $0.offset = $0.map_bytes + 1 }),
        ("more bytes than follow the start", { $0.offset = 1 }),
        ("a start of all bits", { $0.offset = .max }),
        ("a row that overlaps the next", { $0.stride = 5 }),
        ("more rows than bytes", { $0.height = 3 }),
        ("longer rows than bytes", { $0.width = 3 }),
        ("an overflowing product", { $0.stride = 1 << 62 }),
        ("a width and a height of all bits", { ($0.width, $0.height, $0.stride) = (.max, .max, .max) }),
        ("undefined channels", { $0.format.channels = 0 }),
        ("undefined bits", { $0.format.bits = 7 }),
        ("no memory", { ($0.map_bytes, $0.byte_count, $0.height) = (0, 0, 0) }),
    ]

    @Test(arguments: surfaces.indices)
    func `with a surface`(index: Int) throws {
        let (process, worker) = try worker()
        _ = try worker.openDecoder([1])
        let input = bytes(of: SealedWorker.input(1))
        _ = try worker.reply(ISO_READ_HEADER, input)
        _ = try worker.reply(ISO_NEXT_FRAME, input)
        let surface = try Surface(2, 2, .rgb8)
        var request = iso_decode_request()
        request.input = SealedWorker.input(1)
        request.surface = surface.wire
        Self.surfaces[index].1(&request.surface)
        worker.send(ISO_DECODE, bytes(of: request), descriptors: [surface.memory.descriptor])

        try expectRefusal(process, Self.surfaces[index].0)
    }

    @Test func `above the size limit`() throws {
        let (process, worker) = try worker()
        let body = [UInt8](repeating: 0, count: Int(ISO_MESSAGE_LIMIT) + 1)
        worker.send(ISO_ADD_BLOB, body)

        try expectRefusal(process, "too long")
    }

    @Test func `that change their type between packets`() throws {
        let (process, worker) = try worker()
        worker.sendBytes(Self.packet(type: ISO_ADD_BLOB, more: 1, body: [1]))
        worker.sendBytes(Self.packet(type: ISO_ADD_FRAME, body: [1]))

        try expectRefusal(process, "another type")
    }
}
