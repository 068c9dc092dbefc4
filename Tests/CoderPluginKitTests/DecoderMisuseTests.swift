import CCoderPlugin
import ImageModel
import Testing

@Suite struct `Misuse of a decoder` {
    private func opened() -> DecoderProbe { DecoderProbe() }

    private func sourced() -> DecoderProbe {
        let decoder = opened()
        _ = decoder.setSource(FakeSource(Toy.stillFile(3, 2)))
        return decoder
    }

    private func header() -> DecoderProbe {
        let decoder = sourced()
        _ = decoder.readHeader()
        return decoder
    }

    private func framed() -> DecoderProbe {
        let decoder = header()
        _ = decoder.nextFrame()
        return decoder
    }

    @Test func `before a source, every other call is misuse`() {
        var index: UInt32 = 0
        var size: (UInt32, UInt32) = (1, 1)
        #expect(opened().readHeader() == CPI_MISUSE)
        #expect(opened().nextFrame() == CPI_MISUSE)
        #expect(opened().offer(0) == CPI_MISUSE)
        #expect(opened().blobs().status == CPI_MISUSE)
        #expect(opened().seek(&index) == CPI_MISUSE)
        #expect(opened().reduce(&size.0, &size.1) == CPI_MISUSE)
        #expect(opened().decode(Canvas(3, 2)) == CPI_MISUSE)
        #expect(opened().select(0) == CPI_MISUSE)
    }

    @Test func `before the header, every other call is misuse`() {
        #expect(sourced().nextFrame() == CPI_MISUSE)
        #expect(sourced().offer(0) == CPI_MISUSE)
        #expect(sourced().setSource(FakeSource([])) == CPI_MISUSE)
    }

    @Test func `the header is read once, and a frame precedes its pixels`() {
        var rect = cpi_rect()
        #expect(header().readHeader() == CPI_MISUSE)
        #expect(header().decode(Canvas(3, 2)) == CPI_MISUSE)
        #expect(framed().dirty(&rect) == CPI_MISUSE)
    }

    @Test func `misuse is a permanent error like any other`() {
        let decoder = sourced()

        #expect(decoder.nextFrame() == CPI_MISUSE)
        #expect(decoder.readHeader() == CPI_MISUSE)
        #expect(!decoder.error.message.isEmpty)
    }

    @Test(arguments: 0..<9) func `NULL does not crash`(function: Int) {
        let decoder =
            switch function {
            case 0: opened()
            case 1: sourced()
            case 5: header()
            default: framed()
            }
        if function == 8 { _ = decoder.decode(Canvas(3, 2)) }

        #expect(decoder.callWithNull(function, session: false) == CPI_MISUSE)
        #expect(decoder.callWithNull(function) == CPI_MISUSE)
        decoder.closeNull()
    }

    @Test func `NULL does not crash in open and get`() {
        #expect(DecoderProbe.openStatusesWithNull() == [CPI_MISUSE, CPI_MISUSE, CPI_MISUSE, CPI_MISUSE])
        #expect(!opened().knowsNull)
    }

    @Test func `a surface of another size or format is refused`() {
        #expect(framed().decode(Canvas(2, 2)) == CPI_MISUSE)
        #expect(framed().decode(Canvas(3, 2, channels: CPI_CHANNELS_RGB, bytesPerPixel: 3)) == CPI_MISUSE)
        #expect(framed().decode(Canvas(3, 2, channels: 99)) == CPI_MISUSE)
        // The margin after the last row has five bytes; six are missing in the second call.
        #expect(framed().decode(Canvas(3, 2), missing: 5) == CPI_OK)
        #expect(framed().decode(Canvas(3, 2), missing: 6) == CPI_MISUSE)
        #expect(framed().decode(Canvas(3, 2), reduced: PixelSize(2, 1)) == CPI_MISUSE)
    }

    @Test func `a region outside the frame is refused`() {
        let canvas = Canvas(2, 2)
        #expect(
            framed().decode(canvas, region: cpi_rect(x: 2, y: 0, width: 2, height: 2)) == CPI_INVALID_ARGUMENT)
        #expect(
            framed().decode(canvas, region: cpi_rect(x: .max, y: .max, width: 2, height: 2))
                == CPI_INVALID_ARGUMENT)
    }

    @Test func `an unknown hint is ignored`() {
        #expect(framed().decode(Canvas(3, 2), flags: 1 << 15) == CPI_OK)
    }

    @Test func `structs shorter than in version 1.0 are refused`() {
        #expect(opened().setSource(FakeSource([]), size: 48) == CPI_MISUSE)
        #expect(framed().decode(Canvas(3, 2), surfaceSize: 40) == CPI_MISUSE)
        #expect(framed().decode(Canvas(3, 2), requestSize: 36) == CPI_MISUSE)
        #expect(DecoderProbe(host: FakeHost(servicesSize: 56)).openStatus == CPI_MISUSE)
        #expect(DecoderProbe(limits: FakeHost.limits(size: 80)).openStatus == CPI_MISUSE)
    }

    @Test func `only the known part of a future struct is read`() {
        let decoder = opened()

        #expect(decoder.setSource(FakeSource(Toy.stillFile(3, 2)), size: 80) == CPI_OK)
        #expect(decoder.readHeader() == CPI_OK && decoder.nextFrame() == CPI_OK)
        #expect(decoder.decode(Canvas(3, 2), surfaceSize: 64, requestSize: 72) == CPI_OK)
    }

    @Test(arguments: [4, 16, 80, 176, 240])
    func `facts are written only up to the size of the host's struct`(size: Int) {
        let info = SizedStruct(cpi_image_info(), size: size)

        #expect(sourced().readHeader(info) == CPI_OK)

        #expect(info.hasIntactGuard)
        #expect(info.sizeField == min(size, 176))
        if size >= 16 { #expect(info[\.width] == 3 && info[\.height] == 2) }
    }

    @Test(arguments: [4, 8, 47, 48, 100])
    func `a frame is written only up to the size of the host's struct`(size: Int) {
        let frame = SizedStruct(cpi_frame_info(), size: size)

        #expect(header().nextFrame(frame) == CPI_OK)

        #expect(frame.hasIntactGuard && frame.sizeField == min(size, 48))
    }
}
