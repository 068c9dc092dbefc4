internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// Reads back a frame of palette indices that this encoder compressed before.
enum IndexExpander {
    /// Passes the frame as RGBA to `body`, several rows at a time, with their row numbers.
    ///
    /// - Parameter palette: RGBA, four bytes an entry.
    static func expand(
        _ stream: [UInt8], size: PixelSize, palette: [UInt8], host: HostServices,
        _ body: (borrowing Surface, Int) throws(CoderError) -> Void
    ) throws(CoderError) {
        let buffer = try PixelBuffer(size: PixelSize(size.width, min(64, size.height)), format: .rgba8)
        let colors = palette + [UInt8](repeating: 0, count: max(0, 1024 - palette.count))
        let failure: CoderError? = unsafe stream.withUnsafeBufferPointer { bytes in
            var opened: OpaquePointer?
            guard unsafe pngshim_indices_open(bytes.baseAddress, UInt64(bytes.count), &opened) == PNGSHIM_OK,
                let reader = unsafe opened
            else { return CoderError(.outOfMemory, "not enough memory to read a frame back") }
            defer { unsafe pngshim_indices_close(reader) }
            do throws(CoderError) {
                for first in Swift.stride(from: 0, to: size.height, by: 64) {
                    try host.checkCancellation()
                    let rows = min(64, size.height - first)
                    let status = unsafe buffer.withUnsafeMutableBytes { pixels in
                        unsafe colors.withUnsafeBufferPointer { colors in
                            unsafe pngshim_indices_rows(
                                reader, colors.baseAddress, pixels.baseAddress!.assumingMemoryBound(to: UInt8.self),
                                UInt32(size.width), UInt32(rows))
                        }
                    }
                    guard status == PNGSHIM_OK else {
                        throw CoderError(.pluginFault, "a frame could not be read back", domain: "zlib")
                    }
                    try body(Surface(buffer), rows)
                }
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }
}
