import CCoderPlugin
import ImageModel
import Testing

@Suite struct `Exported decoder` {
    /// Returns a session whose only frame can be decoded.
    private func framed(_ file: [UInt8] = Toy.stillFile(3, 2), coder: UInt32 = 0) -> DecoderProbe {
        let decoder = DecoderProbe(coder: coder)
        #expect(decoder.setSource(FakeSource(file)) == CPI_OK)
        #expect(decoder.readHeader() == CPI_OK)
        #expect(decoder.nextFrame() == CPI_OK)
        return decoder
    }

    // MARK: The regular sequence

    @Test func `reports every fact of the header`() {
        let decoder = DecoderProbe()
        let info = SizedStruct(cpi_image_info())

        #expect(decoder.setSource(FakeSource(Toy.stillFile(3, 2))) == CPI_OK)
        #expect(decoder.readHeader(info) == CPI_OK)

        // lossy 4, background 16, items 128; see cpi/image.h.
        #expect(info[\.flags] == 4 | 16 | 128)
        #expect(info[\.width] == 3 && info[\.height] == 2)
        #expect(info[\.orientation] == 6 && info[\.bit_depth] == 8 && info[\.frame_count] == 1)
        #expect(info[\.loop_kind] == CPI_LOOPS_COUNT && info[\.loop_count] == 3)
        #expect(info[\.native.channels] == 1 && info[\.native.bits] == 8 && info[\.native.numeric] == 1)
        // code points 1, profile 2, code points preferred 4; sRGB is 1/13/0 full range.
        #expect(info[\.color.flags] == 1 | 2 | 4)
        #expect(info[\.color.primaries] == 1 && info[\.color.transfer] == 13 && info[\.color.full_range] == 1)
        #expect(info[\.density_unit] == CPI_DENSITY_METER && info[\.density_x] == 2835 && info[\.density_y] == 2834)
        #expect(info[\.background.0] == 1 && info[\.background.3] == 4)
    }

    @Test func `gives a still one frame that covers the canvas`() {
        let decoder = DecoderProbe()
        let frame = SizedStruct(cpi_frame_info())
        _ = decoder.setSource(FakeSource(Toy.stillFile(3, 2)))
        _ = decoder.readHeader()

        #expect(decoder.nextFrame(frame) == CPI_OK)

        #expect(frame[\.rect.width] == 3 && frame[\.rect.height] == 2 && frame[\.rect.x] == 0)
        #expect(frame[\.index] == 0 && frame[\.blend] == CPI_BLEND_SOURCE && frame[\.disposal] == CPI_DISPOSAL_KEEP)
        #expect(frame[\.duration.numerator] == 0 && frame[\.duration.denominator] == 0)
        #expect(frame[\.flags] == 1)
        #expect(decoder.nextFrame() == CPI_END)
        #expect(decoder.nextFrame() == CPI_END)
    }

    @Test func `writes only to the surface`() {
        let canvas = Canvas(3, 2)
        var rect = cpi_rect()
        let decoder = framed()

        #expect(decoder.decode(canvas) == CPI_OK)

        #expect(canvas.rows == [[0, 7, 14], [21, 28, 35]])
        #expect(canvas.marginsAreUntouched)
        #expect(decoder.dirty(&rect) == CPI_OK)
        #expect(rect.width == 3 && rect.height == 2)
    }

    @Test func `returns to the first frame and decodes it again`() {
        let decoder = framed()
        var index: UInt32 = 0
        _ = decoder.decode(Canvas(3, 2))

        #expect(decoder.seek(&index) == CPI_OK && index == 0)
        #expect(decoder.nextFrame() == CPI_OK)
        let canvas = Canvas(3, 2)
        #expect(decoder.decode(canvas) == CPI_OK)
        #expect(canvas.rows == [[0, 7, 14], [21, 28, 35]])
    }

    @Test func `decodes a region with the role for it`() {
        let canvas = Canvas(2, 1)
        let decoder = framed()

        #expect(decoder.decode(canvas, region: cpi_rect(x: 1, y: 1, width: 2, height: 1)) == CPI_OK)

        #expect(canvas.rows == [[28, 35]])
    }

    @Test func `offers the native format if the decoder lists none`() {
        let offer = SizedStruct(cpi_format_offer())
        let decoder = framed()

        #expect(decoder.offer(0, offer) == CPI_OK)
        #expect(offer[\.format.channels] == CPI_CHANNELS_GRAY && offer[\.format.bits] == 8)
        #expect(decoder.offer(1) == CPI_END)
        #expect(decoder.offer(.max) == CPI_END)
    }

    @Test(arguments: [
        (wanted: (1, 1), answer: (4, 2)), (wanted: (6, 4), answer: (6, 4)), (wanted: (0, 0), answer: (4, 2)),
        (wanted: (999, 1), answer: (8, 2)),
    ])
    func `asks the decoder for a reduced size within the image`(wanted: (UInt32, UInt32), answer: (UInt32, UInt32)) {
        var size = wanted
        let decoder = framed(Toy.stillFile(8, 4))

        #expect(decoder.reduce(&size.0, &size.1) == CPI_OK)
        #expect(size == answer)
    }

    @Test func `steps through an animation, skips frames and seeks`() {
        let decoder = DecoderProbe(coder: 1)
        let info = SizedStruct(cpi_image_info())
        let frame = SizedStruct(cpi_frame_info())
        let canvas = Canvas(2, 2)
        _ = decoder.setSource(FakeSource(Toy.animationFile(2, 2, frames: 4)))
        _ = decoder.readHeader(info)

        // animated 8, and no known frame count.
        #expect(info[\.flags] == 8 && info[\.frame_count] == 0 && info[\.loop_kind] == CPI_LOOPS_INFINITE)
        #expect(decoder.nextFrame() == CPI_OK && decoder.nextFrame(frame) == CPI_OK)
        #expect(frame[\.index] == 1 && frame[\.blend] == 1 && frame[\.disposal] == 2 && frame[\.flags] == 2)
        #expect(frame[\.duration.numerator] == 40 && frame[\.duration.denominator] == 1000)
        #expect(decoder.decode(canvas) == CPI_OK && canvas.rows == [[11, 11], [11, 11]])

        var index: UInt32 = 3
        #expect(decoder.seek(&index) == CPI_OK && index == 2)
        #expect(decoder.decode(canvas) == CPI_MISUSE)
    }

    @Test func `accepts every format an animation offers`() {
        let decoder = framed(Toy.animationFile(2, 1, frames: 1), coder: 1)
        let canvas = Canvas(2, 1, channels: CPI_CHANNELS_RGB, bytesPerPixel: 3)

        #expect(decoder.offer(1) == CPI_OK && decoder.offer(2) == CPI_END)
        #expect(decoder.decode(canvas) == CPI_OK)
        #expect(canvas.rows == [[10, 10, 10, 10, 10, 10]] && canvas.marginsAreUntouched)
    }

    @Test func `delivers thumbnails as items after the image`() {
        let info = SizedStruct(cpi_image_info())
        let canvas = Canvas(1, 1)
        let decoder = framed()

        let item = unsafe SizedStruct(cpi_item())
        #expect(unsafe decoder.describe(0, item, info) == CPI_OK)
        #expect(unsafe item[\.role] == CPI_ITEM_PRIMARY && item[\.of] == CPI_ITEM_NONE)
        #expect(unsafe decoder.describe(1, item, info) == CPI_OK)
        #expect(unsafe item[\.role] == CPI_ITEM_THUMBNAIL && item[\.of] == 0)
        #expect(info[\.width] == 1 && info[\.height] == 1)
        #expect(unsafe decoder.describe(2, item, info) == CPI_END)

        #expect(decoder.select(1) == CPI_OK)
        #expect(decoder.nextFrame(SizedStruct(cpi_frame_info())) == CPI_OK)
        #expect(decoder.decode(canvas) == CPI_OK)
        #expect(canvas.rows == [[99]])
        #expect(decoder.nextFrame(SizedStruct(cpi_frame_info())) == CPI_END)
    }

    // MARK: Input from the host

    @Test func `passes options of every type on`() {
        let options = FakeOptions(
            [
                ("b", .bool(true)), ("i", .integer(-5)), ("r", .real(0.5)), ("s", .string("grün")),
                ("y", .bytes([1, 2, 3])),
            ], elementSize: 64)
        options.add("e", .string("420"), type: CPI_OPTION_ENUM)
        options.add("unknown", .integer(1), type: 99, flags: 1)
        let decoder = DecoderProbe(options: options)
        _ = decoder.setSource(FakeSource(Toy.stillFile(1, 1)))
        _ = decoder.readHeader()

        let (texts, status) = decoder.blobs()

        #expect(texts.first == "options: b=true e=420 i=-5 r=0.5 s=grün y=3 bytes")
        #expect(texts.count == 4 && texts.last == "-: ")
        #expect(status == CPI_END)
    }

    @Test func `refuses invalid options`() {
        let unknownType = FakeOptions([])
        unknownType.add("x", .integer(1), type: 99)
        let notUTF8 = FakeOptions([])
        notUTF8.add("x", .bytes([0xC3]), type: CPI_OPTION_STRING)

        #expect(DecoderProbe(options: unknownType).openStatus == CPI_INVALID_ARGUMENT)
        #expect(DecoderProbe(options: notUTF8).openStatus == CPI_INVALID_ARGUMENT)
    }

    @Test(arguments: [(size: 96, seen: "40 7"), (size: 200, seen: "40 7")])
    func `reads limits up to the size of the struct`(size: Int, seen: String) {
        let decoder = DecoderProbe(limits: FakeHost.limits(side: 40, scans: 7, size: size))
        _ = decoder.setSource(FakeSource(Toy.stillFile(1, 1)))
        _ = decoder.readHeader()

        #expect(decoder.blobs().texts[1] == "limits: \(seen)")
    }

    @Test(arguments: [(size: 80, seen: "3"), (size: 120, seen: "3")])
    func `calls only services in the host's table`(size: Int, seen: String) {
        let decoder = DecoderProbe(host: FakeHost(servicesSize: size))
        _ = decoder.setSource(FakeSource(Toy.stillFile(1, 1)))
        _ = decoder.readHeader()

        #expect(decoder.blobs().texts[2] == "threads: \(seen)")
    }

    @Test func `reports warnings, progress and memory to the host`() {
        let host = FakeHost()
        let decoder = DecoderProbe(host: host)
        _ = decoder.setSource(FakeSource(Toy.stillFile(1, 1)))
        _ = decoder.readHeader()
        _ = decoder.nextFrame()

        #expect(decoder.decode(Canvas(1, 1)) == CPI_OK)
        #expect(host.lines == ["decoding"] && host.progress == [1, 2] && host.reserved == 100)

        host.budgetAnswer = CPI_LIMIT
        #expect(decoder.decode(Canvas(1, 1)) == CPI_LIMIT)
    }

    @Test(arguments: [CPI_CANCELLED, CPI_DEADLINE])
    func `stops when the host requests it`(answer: cpi_status) {
        let host = FakeHost()
        let decoder = DecoderProbe(host: host)
        _ = decoder.setSource(FakeSource(Toy.stillFile(1, 1)))
        _ = decoder.readHeader()
        _ = decoder.nextFrame()
        host.pollAnswer = answer

        #expect(decoder.decode(Canvas(1, 1)) == answer)
    }

    // MARK: Growing sources

    @Test(arguments: [false, true])
    func `decodes when bytes arrive one by one`(isReader: Bool) {
        let file = Toy.stillFile(3, 2)
        let source = FakeSource(file, available: 0, isReader: isReader)
        let decoder = DecoderProbe()
        let canvas = Canvas(3, 2)
        func grow() { source.available += 1 }
        #expect(decoder.setSource(source) == CPI_OK)

        var waits = 0
        while decoder.readHeader() == CPI_NEED_INPUT {
            grow()
            waits += 1
        }
        #expect(waits == 4)
        #expect(decoder.nextFrame() == CPI_OK)
        var statuses: [cpi_status] = []
        var rows: [UInt32] = []
        while true {
            let status = decoder.decode(canvas, flags: UInt32(CPI_DECODE_WANT_PARTIAL))
            statuses.append(status)
            var rect = cpi_rect()
            #expect(decoder.dirty(&rect) == CPI_OK)
            rows.append(rect.height)
            if status == CPI_OK || statuses.count > 20 { break }
            grow()
        }

        #expect(statuses == [2, 2, 2, 3, 3, 3, 0])
        #expect(rows == [0, 0, 0, 1, 1, 1, 2])
        #expect(canvas.rows == [[0, 7, 14], [21, 28, 35]])
    }

    @Test func `reports truncation only for a complete source`() {
        let source = FakeSource(Toy.stillFile(3, 2), available: 6)
        let decoder = DecoderProbe()
        _ = decoder.setSource(source)
        _ = decoder.readHeader()
        _ = decoder.nextFrame()

        #expect(decoder.decode(Canvas(3, 2)) == CPI_NEED_INPUT)
        source.isComplete = true
        #expect(decoder.decode(Canvas(3, 2)) == CPI_TRUNCATED)
    }

    @Test func `asks the host only about bytes not known to have arrived`() {
        let source = FakeSource(Toy.stillFile(200, 4))
        let decoder = DecoderProbe()
        _ = decoder.setSource(source)
        _ = decoder.readHeader()
        _ = decoder.nextFrame()

        #expect(decoder.decode(Canvas(200, 4)) == CPI_OK)
        // The toy polls once per row; there are 800 samples.
        #expect(source.timesAsked <= 12)
    }

    // MARK: Errors

    @Test(arguments: [
        ("notMine", CPI_NOT_MINE), ("unsupported", CPI_UNSUPPORTED), ("corrupt", CPI_CORRUPT),
        ("truncated", CPI_TRUNCATED), ("limit", CPI_LIMIT), ("argument", CPI_INVALID_ARGUMENT),
        ("misuse", CPI_MISUSE), ("cancelled", CPI_CANCELLED), ("deadline", CPI_DEADLINE),
        ("memory", CPI_NO_MEMORY), ("io", CPI_IO), ("fault", CPI_INTERNAL),
    ])
    func `maps an error to its status`(name: String, status: cpi_status) {
        let decoder = DecoderProbe(options: FakeOptions([("toy.fail", .string(name))]))
        _ = decoder.setSource(FakeSource(Toy.stillFile(1, 1)))

        #expect(decoder.readHeader() == status)
        #expect(decoder.error[\.code] == status)
        #expect(decoder.error.message == Toy.failures[name]?.message)
    }

    private func failing(_ name: String) -> SizedStruct<cpi_error> {
        let decoder = DecoderProbe(options: FakeOptions([("toy.fail", .string(name))]))
        _ = decoder.setSource(FakeSource(Toy.stillFile(1, 1)))
        _ = decoder.readHeader()
        return decoder.error
    }

    @Test func `reports offset, library, feature and limit of an error`() {
        #expect(failing("corrupt")[\.input_offset] == 77)
        #expect(failing("corrupt").domain == "libtoy")
        #expect(failing("unsupported").feature == "arithmetic coding")
        let limit = failing("limit")
        #expect(limit[\.limit_id] == CPI_LIMIT_METADATA_BYTES)
        #expect(limit[\.limit_allowed] == 10 && limit[\.limit_requested] == 20)
    }

    @Test func `cuts a long message between two characters`() {
        // 255 bytes have room for 127 characters of two bytes.
        #expect(failing("long").message == String(repeating: "ü", count: 127))
    }

    @Test func `returns the first error from every later call`() {
        let decoder = DecoderProbe(limits: FakeHost.limits(side: 2))
        var index: UInt32 = 0
        var rect = cpi_rect()
        _ = decoder.setSource(FakeSource(Toy.stillFile(3, 2)))
        #expect(decoder.readHeader() == CPI_LIMIT)
        let message = decoder.error.message

        #expect(decoder.readHeader() == CPI_LIMIT)
        #expect(decoder.nextFrame() == CPI_LIMIT)
        #expect(decoder.decode(Canvas(3, 2)) == CPI_LIMIT)
        #expect(decoder.seek(&index) == CPI_LIMIT)
        #expect(decoder.offer(0) == CPI_LIMIT)
        #expect(decoder.blobs().status == CPI_LIMIT)
        #expect(decoder.dirty(&rect) == CPI_LIMIT)
        #expect(decoder.select(0) == CPI_LIMIT)
        #expect(decoder.setSource(FakeSource([])) == CPI_LIMIT)
        #expect(decoder.error.message == message && decoder.error[\.limit_id] == CPI_LIMIT_WIDTH)
    }

    @Test func `lets a decoder refuse in set_source`() {
        let decoder = DecoderProbe(options: FakeOptions([("toy.refuse", .bool(true))]))

        #expect(decoder.openStatus == CPI_OK)
        #expect(decoder.setSource(FakeSource(Toy.stillFile(1, 1))) == CPI_INVALID_ARGUMENT)
    }
}
