package import CoderPluginKit
package import ImageModel
internal import PNGShim

/// The colors of all images so far, as long as there are at most 256.
@safe package final class GrowingPalette {
    private let palette: OpaquePointer

    /// - Parameter hasHole: keeps entry 0 for a transparent pixel, so that tRNS stays short.
    package init(hasHole: Bool) throws(CoderError) {
        var opened: OpaquePointer?
        guard unsafe pngshim_palette_open(hasHole ? 1 : 0, &opened) == PNGSHIM_OK, let opened = unsafe opened else {
            throw CoderError(.outOfMemory, "not enough memory for a palette")
        }
        unsafe palette = opened
    }

    deinit { unsafe pngshim_palette_close(palette) }

    /// Adds the colors of a part; false at the 257th color.
    package func add(
        _ surface: borrowing Surface, _ rect: PixelRect, isOpaque: Bool, host: HostServices
    ) throws(CoderError) -> Bool {
        precondition(PixelRect(surface.size).contains(rect) && surface.format.bits == 8)
        for first in stride(from: rect.y, to: rect.y + rect.height, by: 64) {
            try host.checkCancellation()
            let rows = min(64, rect.y + rect.height - first)
            let start = unsafe (surface.baseAddress + first * surface.stride + rect.x * surface.format.bytesPerPixel)
                .assumingMemoryBound(to: UInt8.self)
            let status = unsafe pngshim_palette_add(
                palette, start, UInt64(surface.stride), UInt32(rect.width), UInt32(rows),
                UInt8(surface.format.channels.count), isOpaque ? 1 : 0)
            if status != PNGSHIM_OK { return false }
        }
        return true
    }

    /// Whether there is an entry for a transparent pixel.
    package var hasHole: Bool { unsafe pngshim_palette_hole(palette, 0) == PNGSHIM_OK }

    /// Records that a frame uses the entry for a transparent pixel, so that no color can take it.
    package func keepHole() { _ = unsafe pngshim_palette_hole(palette, 1) }

    /// Moves the entries that are not opaque to the front; call it before any index is written.
    package func sort() { unsafe pngshim_palette_sort(palette) }

    /// The bits of an index (PNG 3rd edition, table 8).
    package var depth: Int {
        switch entries.count / 4 {
        case ...2: 1
        case ...4: 2
        case ...16: 4
        default: 8
        }
    }

    /// The entries as RGBA, four bytes each.
    package var entries: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = unsafe bytes.withUnsafeMutableBufferPointer {
            unsafe pngshim_palette_entries(palette, $0.baseAddress!)
        }
        return Array(bytes[..<(Int(count) * 4)])
    }

    /// Passes the palette to a call.
    func withPointer<R>(_ body: (OpaquePointer) -> R) -> R { unsafe body(palette) }
}
