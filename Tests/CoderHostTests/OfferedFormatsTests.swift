import CCoderPlugin
import ImageModel
import ImageProcessing
import Testing

@testable import PluginRuntime

/// The questions that the host asks a plugin for its pixel formats; each is a message if the plugin is in a worker.
@Suite struct `The formats of a decoder` {
    /// A plugin with two items of one frame each, which counts the questions.
    private final class Port: DecoderPort {
        let pool = PixelBufferPool.shared
        let native: cpi_pixel_format
        var item: UInt32 = 0
        private(set) var questions = 0

        init(native: cpi_pixel_format) { self.native = native }

        private var info: cpi_image_info {
            var info = cpi_image_info()
            (info.size, info.width, info.height) = (UInt32(MemoryLayout<cpi_image_info>.size), 1, 1)
            info.native = native
            info.orientation = 1
            return info
        }

        func offers(_ formats: inout [cpi_format_offer], _: inout cpi_error) throws(CoderError) -> cpi_status? {
            questions += 1
            var offer = cpi_format_offer()
            offer.size = UInt32(MemoryLayout<cpi_format_offer>.size)
            // The formats depend on the item.
            offer.format = (item == 0 ? PixelFormat.rgb8 : .rgba8).contract
            formats = [offer]
            return CPI_OK
        }
        func readHeader(_ info: inout cpi_image_info, _: inout cpi_error) throws(CoderError) -> cpi_status {
            info = self.info
            return CPI_OK
        }
        func item(_ index: UInt32, _ item: inout PortItem, _: inout cpi_error) throws(CoderError) -> cpi_status? {
            (item.info, item.role, item.owner) = (info, ImageItem.Role.page.rawValue, CPI_ITEM_NONE)
            return CPI_OK
        }
        func select(_ index: UInt32, _: inout cpi_error) throws(CoderError) -> cpi_status? {
            item = index
            return CPI_OK
        }
        func decode(
            _: FrameRequest, _: CanvasPlace, _: inout cpi_rect, _: inout cpi_error
        ) throws(CoderError) -> cpi_status { CPI_OK }

        func blob(_: UInt32, most: Int, _: inout cpi_error) throws(CoderError) -> (cpi_status, PortBlob)? { nil }
        func scaledSize(_: inout UInt32, _: inout UInt32, _: inout cpi_error) throws(CoderError) -> cpi_status? { nil }
        func nextFrame(_: inout cpi_frame_info, _: inout cpi_error) throws(CoderError) -> cpi_status { CPI_END }
        func seek(_: inout UInt32, _: inout cpi_error) throws(CoderError) -> cpi_status? { nil }
        func itemCount(_: inout UInt32, _: inout cpi_error) throws(CoderError) -> cpi_status? { nil }
    }

    private func decoder(_ port: Port) -> ImportedDecoder {
        ImportedDecoder(port, coder: "org.example.counts", context: SessionContext(limits: .default))
    }

    @Test func `are asked for once, however many frames are decoded`() throws {
        let port = Port(native: PixelFormat.rgb8.contract)
        let decoder = decoder(port)
        let place = CanvasPlace(try PixelBuffer(size: PixelSize(1, 1), format: .rgb8))

        for _ in 0..<5 {
            #expect(try decoder.readHeader().nativeFormat == .rgb8)
            #expect(try decoder.pixelFormats() == [.rgb8])
            #expect(try decoder.decode(FrameRequest(), into: place) == .complete)
        }

        #expect(port.questions == 1)
    }

    @Test func `are asked for once if the header has an unknown one`() throws {
        var unknown = PixelFormat.rgb8.contract
        unknown.channels = 99
        let port = Port(native: unknown)
        let decoder = decoder(port)

        #expect(try decoder.readHeader().nativeFormat == .rgb8)
        #expect(try decoder.pixelFormats() == [.rgb8])

        #expect(port.questions == 1)
    }

    @Test func `are asked for again after another item is selected`() throws {
        let port = Port(native: PixelFormat.rgb8.contract)
        let decoder = decoder(port)
        #expect(try decoder.pixelFormats() == [.rgb8])

        try decoder.select(item: 1)

        #expect(try decoder.pixelFormats() == [.rgba8])
        #expect(try decoder.readHeader().nativeFormat == .rgba8)
        #expect(port.questions == 2)
    }
}
