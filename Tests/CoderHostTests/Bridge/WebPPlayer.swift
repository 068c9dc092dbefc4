import WebPPlayerShim

/// libwebp as a reference encoder of frames and player of animations.
enum WebPPlayer {
    /// Returns a lossless still of RGBA pixels, as a file.
    static func still(_ rgba: [UInt8], width: Int, height: Int) -> [UInt8]? {
        precondition(rgba.count == width * height * 4)
        var file: UnsafeMutablePointer<UInt8>?
        let count = unsafe webpplayer_encode(rgba, UInt32(width), UInt32(height), &file)
        guard count > 0, let bytes = unsafe file else { return nil }
        defer { unsafe webpplayer_free(bytes) }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Returns the composited canvases of all frames as RGBA; nil if libwebp refuses the file.
    static func canvases(_ file: [UInt8], frames: Int, bytes: Int) -> [[UInt8]]? {
        var pixels = [UInt8](repeating: 0, count: frames * bytes)
        let count = unsafe webpplayer_play(file, UInt64(file.count), &pixels, UInt64(pixels.count))
        guard count == frames else { return nil }
        return (0..<frames).map { Array(pixels[$0 * bytes..<($0 + 1) * bytes]) }
    }
}
