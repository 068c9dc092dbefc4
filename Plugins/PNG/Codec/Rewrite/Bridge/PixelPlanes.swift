internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

extension PixelBuffer {
    /// The first channel of 8-bit pixels.
    func firstChannel(host: HostServices) throws(CoderError) -> PixelBuffer {
        let plane = try PixelBuffer(size: size, format: .gray8)
        var packing = pngshim_packing()
        packing.width = UInt32(size.width)
        packing.channels = UInt8(format.channels.count)
        packing.sample_bytes = 1
        packing.file_channels = 1
        var offset = 0
        try unsafe PixelFacts.visit(self, host) { start, stride, rows in
            unsafe plane.withUnsafeMutableBytes { bytes in
                let target = unsafe (bytes.baseAddress! + offset).assumingMemoryBound(to: UInt8.self)
                unsafe pngshim_pack_rows(&packing, start, stride, rows, target)
            }
            offset += Int(rows) * plane.stride
        }
        return plane
    }
}

extension GrowingPalette {
    /// The index of every pixel; the palette must have all colors.
    func indices(of pixels: PixelBuffer, host: HostServices) throws(CoderError) -> PixelBuffer {
        let plane = try PixelBuffer(size: pixels.size, format: .gray8)
        let (width, channels) = (UInt32(pixels.size.width), UInt8(pixels.format.channels.count))
        var offset = 0
        try unsafe PixelFacts.visit(pixels, host) { start, stride, rows in
            unsafe plane.withUnsafeMutableBytes { bytes in
                let target = unsafe (bytes.baseAddress! + offset).assumingMemoryBound(to: UInt8.self)
                unsafe withPointer {
                    unsafe pngshim_palette_find($0, start, stride, width, rows, channels, target)
                }
            }
            offset += Int(rows) * plane.stride
        }
        return plane
    }
}
