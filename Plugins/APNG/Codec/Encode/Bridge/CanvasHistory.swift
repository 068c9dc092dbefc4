internal import CoderPluginKit
internal import ImageModel

/// The canvases that the next frame can be drawn on.
@safe final class CanvasHistory {
    /// The canvas after the latest frame; nil before the first.
    private(set) var shown: PixelBuffer?
    /// The canvas before the latest frame; nil before the second.
    private(set) var before: PixelBuffer?
    /// The canvas with the latest frame's rectangle cleared; made on demand.
    private var cleared: PixelBuffer?
    private var spare: [PixelBuffer] = []
    private var reserved = 0
    private let host: HostServices

    init(host: HostServices) { self.host = host }

    /// The shown canvas with a transparent hole.
    func clearing(_ rect: PixelRect) throws(CoderError) -> PixelBuffer? {
        guard let shown else { return nil }
        let buffer = try take(shown.size, shown.format)
        let pixel = shown.format.bytesPerPixel
        unsafe shown.withUnsafeMutableBytes { from in
            unsafe buffer.withUnsafeMutableBytes { to in
                unsafe to.copyMemory(from: UnsafeRawBufferPointer(from))
                for y in rect.y..<rect.y + rect.height {
                    let start = unsafe to.baseAddress! + y * buffer.stride + rect.x * pixel
                    unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: rect.width * pixel)
                }
            }
        }
        cleared = buffer
        return buffer
    }

    /// Keeps the canvas before the frame, and the canvas after it.
    func advance(to surface: borrowing Surface, drawnOn base: PixelBuffer?) throws(CoderError) {
        for buffer in [shown, before, cleared] {
            if let buffer, buffer !== base { spare.append(buffer) }
        }
        before = base
        cleared = nil
        shown = nil
        let buffer = try take(surface.size, surface.format)
        unsafe buffer.withUnsafeMutableBytes { to in
            let rowBytes = surface.bytesPerRow
            for y in 0..<surface.size.height {
                unsafe (to.baseAddress! + y * buffer.stride)
                    .copyMemory(from: surface.baseAddress + y * surface.stride, byteCount: rowBytes)
            }
        }
        shown = buffer
    }

    /// Frees all canvases.
    func close() {
        shown = nil
        before = nil
        cleared = nil
        spare = []
        try? host.reserve(bytes: -reserved)
        reserved = 0
    }

    private func take(_ size: PixelSize, _ format: PixelFormat) throws(CoderError) -> PixelBuffer {
        if let buffer = spare.popLast() { return buffer }
        let (_, count) = try PixelBuffer.layout(size: size, format: format)
        try host.reserve(bytes: count)
        reserved += count
        return try PixelBuffer(size: size, format: format)
    }
}
