import CCoderPlugin
import Glibc

/// Memory between two inaccessible pages.
@safe final class Region {
    private let base: UnsafeMutableRawPointer
    private let total: Int
    private static let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let start: UnsafeMutablePointer<UInt8>
    /// The start of the second of these pages.
    let end: UnsafeMutablePointer<UInt8>

    init(byteCount: Int) {
        let inner = (max(1, byteCount) + Self.page - 1) / Self.page * Self.page
        total = inner + 2 * Self.page
        let map = unsafe mmap(nil, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let map = unsafe map, unsafe map != MAP_FAILED,
            unsafe mprotect(map + Self.page, inner, PROT_READ | PROT_WRITE) == 0
        else { fatalError("the conformance kit has no memory for \(byteCount) bytes") }
        unsafe base = map
        unsafe start = (map + Self.page).assumingMemoryBound(to: UInt8.self)
        unsafe end = start + inner
    }

    deinit { unsafe munmap(base, total) }
}

/// The layout of a surface in memory.
struct SurfaceLayout {
    /// The number of bytes from the end of a row to the next.
    var padding = 16
    /// The offset of the first row, in bytes.
    var offset = 0
    /// Whether the last byte of the last row directly precedes an inaccessible page.
    var isAtEnd = false
    /// The initial value of the memory.
    var background: UInt8 = 0xA5
}

/// Memory for pixels that a plugin writes or reads.
@safe final class Surface {
    let format: cpi_pixel_format
    let width: Int
    let height: Int
    let rowBytes: Int
    let stride: Int
    private let layout: SurfaceLayout
    private let region: Region
    private let first: UnsafeMutablePointer<UInt8>
    private static let tail = 4096
    private let table: GuardedStruct<cpi_surface>

    var pointer: UnsafePointer<cpi_surface> { unsafe UnsafePointer(table.pointer) }

    init(
        _ format: cpi_pixel_format, width: Int, height: Int, layout: SurfaceLayout = SurfaceLayout(),
        shape: StructVersion = .current, flags: UInt32 = 0
    ) {
        self.format = format
        self.width = width
        self.height = height
        self.layout = layout
        rowBytes = width * format.bytesPerPixel
        stride = rowBytes + layout.padding
        let count = height == 0 ? 0 : (height - 1) * stride + rowBytes
        region = Region(byteCount: 64 + layout.offset + count + (layout.isAtEnd ? 0 : Self.tail))
        unsafe memset(region.start, Int32(layout.background), region.end - region.start)
        unsafe first = layout.isAtEnd ? region.end - count : region.start + 64 + layout.offset
        let surface = unsafe cpi_surface(
            size: 0, flags: flags, format: format, width: UInt32(width), height: UInt32(height),
            stride: UInt64(stride), pixels: first, byte_count: UInt64(count))
        unsafe table = GuardedStruct(surface, shape)
    }

    /// The rows without padding.
    var pixels: [UInt8] {
        get {
            var result: [UInt8] = []
            result.reserveCapacity(rowBytes * height)
            for y in 0..<height {
                unsafe result.append(contentsOf: UnsafeBufferPointer(start: first + y * stride, count: rowBytes))
            }
            return result
        }
        set {
            precondition(newValue.count == rowBytes * height)
            unsafe newValue.withUnsafeBufferPointer { bytes in
                for y in 0..<height where rowBytes > 0 {
                    unsafe (first + y * stride).update(from: bytes.baseAddress! + y * rowBytes, count: rowBytes)
                }
            }
        }
    }

    /// Returns the pixels of a rectangle of an image without padding.
    static func part(
        _ pixels: [UInt8], _ format: cpi_pixel_format, _ width: Int, _ rect: (x: Int, y: Int, width: Int, height: Int)
    ) -> [UInt8] {
        let bytes = format.bytesPerPixel
        var result: [UInt8] = []
        for y in rect.y..<rect.y + rect.height {
            let start = (y * width + rect.x) * bytes
            result += pixels[start..<start + rect.width * bytes]
        }
        return result
    }

    /// The place of a write outside of the pixels; nil if there was none.
    var strayWrite: String? {
        let wanted = layout.background
        func firstChange(_ start: UnsafeMutablePointer<UInt8>, _ end: UnsafeMutablePointer<UInt8>) -> Int? {
            let count = unsafe end - start
            return unsafe UnsafeBufferPointer(start: start, count: max(0, count)).firstIndex { $0 != wanted }
        }
        if let at = unsafe firstChange(region.start, first) {
            return unsafe "\(first - region.start - at) bytes before the first row"
        }
        for y in 0..<max(0, height - 1) {
            let end = unsafe first + y * stride + rowBytes
            if let at = unsafe firstChange(end, end + layout.padding) {
                return "byte \(at) after the last pixel of row \(y)"
            }
        }
        if !layout.isAtEnd, height > 0 {
            let end = unsafe first + (height - 1) * stride + rowBytes
            if let at = unsafe firstChange(end, region.end) {
                return "byte \(at) after the last pixel of the last row"
            }
        }
        return nil
    }
}

extension cpi_pixel_format {
    /// The number of channels in memory; 0 if undefined.
    var channelCount: Int { channels <= 6 ? [0, 1, 2, 3, 4, 4, 4][Int(channels)] : 0 }
    var bytesPerPixel: Int { channelCount * Int(bits) / 8 }
    var hasAlpha: Bool {
        channels == CPI_CHANNELS_GRAY_ALPHA || channels == CPI_CHANNELS_RGBA || channels == CPI_CHANNELS_BGRA
    }

    /// The reason why the format is not defined by the contract; nil if it is.
    var objection: String? {
        if channelCount == 0 { return "channels \(channels)" }
        if numeric == CPI_NUMERIC_UNORM {
            if bits != 8 && bits != 16 { return "unorm of \(bits) bits" }
        } else if numeric
            == CPI_NUMERIC_FLOAT
        {
            if bits != 16 && bits != 32 { return "float of \(bits) bits" }
        } else {
            return "numeric \(numeric)"
        }
        if alpha > 3 { return "alpha \(alpha)" }
        if hasAlpha != (alpha != CPI_ALPHA_NONE) { return "channels \(channels) with alpha \(alpha)" }
        return reserved == 0 ? nil : "reserved \(reserved)"
    }

    func isEqual(_ other: cpi_pixel_format) -> Bool {
        channels == other.channels && numeric == other.numeric && bits == other.bits && alpha == other.alpha
    }

    var text: String {
        let names = ["?", "gray", "gray-alpha", "rgb", "rgba", "bgra", "cmyk"]
        return "\(channels <= 6 ? names[Int(channels)] : "?")\(bits)\(numeric == CPI_NUMERIC_FLOAT ? "f" : "")"
    }
}
