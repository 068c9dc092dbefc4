import CCoderPlugin
import Testing

@Suite struct `Exported encoder` {
    private let pixels: Canvas = {
        let canvas = Canvas(2, 2)
        canvas.fill([1, 2, 3, 4])
        return canvas
    }()

    @Test func `writes files that the decoder reads back`() {
        let sink = FakeSink()
        let encoder = EncoderProbe(sink)
        #expect(encoder.begin(EncoderProbe.info(2, 2)) == CPI_OK)
        #expect(encoder.addFrame(pixels) == CPI_OK)
        #expect(encoder.finish() == CPI_OK)
        #expect(sink.bytes == [0x54, 0x53, 2, 2, 1, 2, 3, 4, 0xFF])

        let decoder = DecoderProbe()
        let canvas = Canvas(2, 2)
        _ = decoder.setSource(FakeSource(sink.bytes))
        _ = decoder.readHeader()
        _ = decoder.nextFrame()
        #expect(decoder.decode(canvas) == CPI_OK)
        #expect(canvas.rows == pixels.rows)
    }

    @Test func `passes the facts on`() {
        let sink = FakeSink()
        let encoder = EncoderProbe(sink)
        let canvas = Canvas(1, 1)
        canvas.fill([0x37])

        _ = encoder.begin(EncoderProbe.info(1, 1, flags: UInt32(CPI_IMAGE_LOSSY)))
        _ = encoder.addFrame(canvas)

        #expect(sink.bytes.last == 0x30)
    }

    @Test func `lists the formats it accepts, best first`() {
        let encoder = EncoderProbe(FakeSink())
        let offer = SizedStruct(cpi_format_offer())

        #expect(encoder.accept(EncoderProbe.info(2, 2), 1, offer) == CPI_OK)
        #expect(offer[\.format.channels] == CPI_CHANNELS_RGB)
        #expect(encoder.accept(EncoderProbe.info(2, 2), 2, offer) == CPI_END)
        #expect(encoder.begin(EncoderProbe.info(2, 2)) == CPI_OK)
    }

    @Test func `continues after metadata that the format cannot carry`() {
        let encoder = EncoderProbe(FakeSink())
        _ = encoder.begin(EncoderProbe.info(2, 2))

        #expect(encoder.addBlob(CPI_BLOB_TEXT, [1, 2]) == CPI_OK)
        #expect(encoder.addBlob(CPI_BLOB_TEXT, [1, 2], key: "other") == CPI_REFUSED)
        #expect(encoder.error[\.code] == CPI_REFUSED)
        #expect(encoder.addBlob(CPI_BLOB_XMP) == CPI_REFUSED)
        #expect(encoder.addBlob(77) == CPI_REFUSED)
        #expect(encoder.addFrame(pixels) == CPI_OK)
    }

    @Test func `accepts a thumbnail before the first frame`() {
        let sink = FakeSink()
        let encoder = EncoderProbe(sink)
        #expect(encoder.knows("coderhost.thumbnail-encode/1"))
        #expect(!encoder.knows("coderhost.thumbnail-encode/2"))
        #expect(!encoder.knows("coderhost.thumbnail/1"))
        _ = encoder.begin(EncoderProbe.info(2, 2))

        #expect(encoder.addThumbnail(Canvas(1, 1)) == CPI_OK)
        #expect(sink.bytes.last == 0xEE)
        #expect(encoder.addThumbnail(Canvas(3, 1)) == CPI_REFUSED)
        #expect(encoder.error[\.code] == CPI_REFUSED)
        #expect(encoder.addFrame(pixels) == CPI_OK)
        #expect(encoder.addThumbnail(Canvas(1, 1)) == CPI_MISUSE)
    }

    @Test func `refuses thumbnails that are out of sequence, in another format or damaged`() {
        func begun() -> EncoderProbe {
            let encoder = EncoderProbe(FakeSink())
            _ = encoder.begin(EncoderProbe.info(2, 2))
            return encoder
        }

        #expect(EncoderProbe(FakeSink()).addThumbnail(Canvas(1, 1)) == CPI_MISUSE)
        #expect(begun().addThumbnail(Canvas(1, 1, channels: CPI_CHANNELS_RGBA, bytesPerPixel: 4)) == CPI_MISUSE)
        #expect(begun().addThumbnail(Canvas(1, 1, channels: CPI_CHANNELS_RGB, bytesPerPixel: 3)) == CPI_OK)
        let damaged = begun()
        #expect(damaged.addThumbnail(Canvas(2, 1)) == CPI_CORRUPT)
        #expect(damaged.addFrame(pixels) == CPI_CORRUPT)
    }

    @Test func `begins each item in the state of a new session, with one sink`() {
        let sink = FakeSink()
        let encoder = EncoderProbe(sink)
        let small = Canvas(1, 1)
        small.fill([0x37])

        #expect(encoder.nextItem(CPI_ITEM_PRIMARY) == CPI_OK)
        #expect(encoder.finish() == CPI_MISUSE)

        let second = EncoderProbe(sink)
        #expect(second.nextItem(CPI_ITEM_PRIMARY) == CPI_OK)
        #expect(second.begin(EncoderProbe.info(2, 2)) == CPI_OK)
        #expect(second.addFrame(pixels) == CPI_OK)
        #expect(second.nextItem(CPI_ITEM_AUXILIARY, of: 0) == CPI_REFUSED)
        #expect(second.nextItem(CPI_ITEM_PAGE, of: 0, name: "p") == CPI_OK)
        #expect(second.begin(EncoderProbe.info(1, 1)) == CPI_OK)
        #expect(second.addBlob(CPI_BLOB_TEXT, [1, 2]) == CPI_OK)
        #expect(second.addFrame(small) == CPI_OK)
        #expect(second.finish() == CPI_OK)
        let first: [UInt8] = [1, 9, 0x6E, 0x54, 0x53, 2, 2, 1, 2, 3, 4]
        #expect(sink.bytes == first + [2, 0, 0x70, 0x54, 0x53, 1, 1, 0x37, 0xFF])
    }

    @Test func `refuses items out of sequence or with an unknown role`() {
        let encoder = EncoderProbe(FakeSink())
        _ = encoder.begin(EncoderProbe.info(2, 2))
        #expect(encoder.nextItem(CPI_ITEM_PAGE) == CPI_MISUSE)
        #expect(EncoderProbe(FakeSink()).nextItem(77) == CPI_MISUSE)
        #expect(EncoderProbe(FakeSink()).knows("coderhost.encode-items/1"))
    }

    @Test func `fails after damaged metadata`() {
        let encoder = EncoderProbe(FakeSink())
        _ = encoder.begin(EncoderProbe.info(2, 2))

        #expect(encoder.addBlob(CPI_BLOB_EXIF) == CPI_CORRUPT)
        #expect(encoder.addFrame(pixels) == CPI_CORRUPT)
        #expect(encoder.finish() == CPI_CORRUPT)
    }

    @Test(arguments: [CPI_IO, CPI_LIMIT]) func `reports a failing sink`(answer: cpi_status) {
        let sink = FakeSink()
        sink.answer = answer
        let encoder = EncoderProbe(sink)

        #expect(encoder.begin(EncoderProbe.info(2, 2)) == answer)
        #expect(encoder.addFrame(pixels) == answer)
    }

    @Test func `refuses calls out of sequence`() {
        func begun() -> EncoderProbe {
            let encoder = EncoderProbe(FakeSink())
            #expect(encoder.begin(EncoderProbe.info(2, 2)) == CPI_OK)
            return encoder
        }
        func framed() -> EncoderProbe {
            let encoder = begun()
            #expect(encoder.addFrame(pixels) == CPI_OK)
            return encoder
        }
        func finished() -> EncoderProbe {
            let encoder = framed()
            #expect(encoder.finish() == CPI_OK)
            return encoder
        }

        #expect(EncoderProbe(FakeSink()).addFrame(pixels) == CPI_MISUSE)
        #expect(EncoderProbe(FakeSink()).finish() == CPI_MISUSE)
        #expect(EncoderProbe(FakeSink()).addBlob(CPI_BLOB_TEXT) == CPI_MISUSE)
        #expect(begun().begin(EncoderProbe.info(2, 2)) == CPI_MISUSE)
        #expect(begun().finish() == CPI_MISUSE)
        #expect(begun().accept(EncoderProbe.info(2, 2), 0, SizedStruct(cpi_format_offer())) == CPI_MISUSE)
        #expect(framed().addBlob(CPI_BLOB_TEXT) == CPI_MISUSE)
        // A coder without the role encode-animation accepts only one frame.
        #expect(framed().addFrame(pixels) == CPI_MISUSE)
        #expect(finished().finish() == CPI_MISUSE)
        #expect(finished().addFrame(pixels) == CPI_MISUSE)
    }

    @Test func `refuses facts and pixels that do not fit`() {
        func begun() -> EncoderProbe {
            let encoder = EncoderProbe(FakeSink())
            _ = encoder.begin(EncoderProbe.info(2, 2))
            return encoder
        }

        #expect(EncoderProbe(FakeSink()).begin(EncoderProbe.info(0, 2)) == CPI_MISUSE)
        #expect(begun().addFrame(Canvas(2, 2, channels: CPI_CHANNELS_RGB, bytesPerPixel: 3)) == CPI_MISUSE)
    }

    @Test(arguments: 0..<4) func `NULL does not crash`(function: Int) {
        let encoder = EncoderProbe(FakeSink())
        if function >= 2 { _ = encoder.begin(EncoderProbe.info(2, 2)) }

        #expect(encoder.callWithNull(function, session: false) == CPI_MISUSE)
        #expect(encoder.callWithNull(function) == CPI_MISUSE)
    }
}
