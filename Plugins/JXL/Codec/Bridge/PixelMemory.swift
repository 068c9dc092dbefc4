internal import CoderPluginKit
internal import ImageModel
internal import JXLShim

/// Memory into which libjxl writes pixels, or from which it reads them.
@safe struct PixelMemory {
    let size: PixelSize
    let format: PixelFormat
    let stride: Int
    @unsafe let start: UnsafeMutablePointer<UInt8>
    /// Keeps memory of this plugin.
    private let owner: Scratch?

    @safe private final class Scratch {
        let bytes: UnsafeMutableBufferPointer<UInt8>

        init(_ count: Int) {
            unsafe bytes = .allocate(capacity: max(1, count))
            unsafe bytes.initialize(repeating: 0)
        }

        deinit { unsafe bytes.deallocate() }
    }

    /// - Parameter surface: must outlive the memory.
    init(_ surface: borrowing Surface) {
        (size, format, stride) = (surface.size, surface.format, surface.stride)
        unsafe start = surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        owner = nil
    }

    /// Allocates memory for pixels that are converted afterwards.
    init(_ size: PixelSize, _ format: PixelFormat) throws(CoderError) {
        guard let stride = format.bytesPerRow(width: size.width) else { throw .corrupt("the image is too wide") }
        let (count, overflow) = stride.multipliedReportingOverflow(by: size.height)
        if overflow { throw .corrupt("the image is too large") }
        (self.size, self.format, self.stride) = (size, format, stride)
        let scratch = Scratch(count)
        unsafe start = scratch.bytes.baseAddress!
        owner = scratch
    }

    /// The description for the shim.
    @unsafe var pixels: jxl_shim_pixels {
        unsafe jxl_shim_pixels(
            bytes: start, stride: UInt64(stride), width: UInt32(size.width), height: UInt32(size.height),
            channels: UInt32(format.channels.count), sample: Self.sample(format))
    }

    /// Whether this is the memory of the same surface.
    func isSame(as other: PixelMemory) -> Bool {
        unsafe start == other.start && stride == other.stride && size == other.size && format == other.format
    }

    /// The shim's number for the samples of a format.
    static func sample(_ format: PixelFormat) -> UInt32 {
        switch (format.numeric, format.bits) {
        case (.float, 16): jxl_shim_half
        case (.float, _): jxl_shim_float
        case (_, 16): jxl_shim_unorm16
        default: jxl_shim_unorm8
        }
    }

    /// Writes inks into this memory: JPEG XL stores 1 for no ink, the host expects 0.
    ///
    /// - Parameters:
    ///   - colors: cyan, magenta and yellow, with 8 bits.
    ///   - black: the fourth ink.
    func writeInks(_ colors: PixelMemory, black: PixelMemory) {
        for y in 0..<size.height {
            let target = unsafe start + y * stride
            let inks = unsafe colors.start + y * colors.stride
            let blacks = unsafe black.start + y * black.stride
            for x in 0..<size.width {
                for channel in 0..<3 { unsafe target[4 * x + channel] = 255 - inks[3 * x + channel] }
                unsafe target[4 * x + 3] = 255 - blacks[x]
            }
        }
    }
}
