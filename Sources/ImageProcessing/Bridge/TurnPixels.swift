import ImageModel

/// Copies a picture pixel by pixel through an orientation.
///
/// Works in square tiles, so that rows and columns both stay in the cache.
func turnPixels(_ source: PixelBuffer, into target: PixelBuffer, _ orientation: Orientation) {
    switch source.format.bytesPerPixel {
    case 1: turn(source, target, orientation, UInt8.self)
    case 2: turn(source, target, orientation, UInt16.self)
    case 4: turn(source, target, orientation, UInt32.self)
    case 8: turn(source, target, orientation, UInt64.self)
    default: turnBytes(source, target, orientation)
    }
}

private let tile = 32

private func eachTile(_ size: PixelSize, _ body: (_ x: Range<Int>, _ y: Range<Int>) -> Void) {
    for top in stride(from: 0, to: size.height, by: tile) {
        for left in stride(from: 0, to: size.width, by: tile) {
            body(left..<min(left + tile, size.width), top..<min(top + tile, size.height))
        }
    }
}

private func turn<T: BitwiseCopyable>(
    _ source: PixelBuffer, _ target: PixelBuffer, _ orientation: Orientation, _: T.Type
) {
    let bytes = MemoryLayout<T>.size
    unsafe source.withUnsafeMutableBytes { from in
        unsafe target.withUnsafeMutableBytes { to in
            eachTile(target.size) { columns, rows in
                for y in rows {
                    for x in columns {
                        let place = orientation.source(x: x, y: y, in: source.size)
                        let value = unsafe from.loadUnaligned(
                            fromByteOffset: place.y * source.stride + place.x * bytes, as: T.self)
                        unsafe to.storeBytes(of: value, toByteOffset: y * target.stride + x * bytes, as: T.self)
                    }
                }
            }
        }
    }
}

private func turnBytes(_ source: PixelBuffer, _ target: PixelBuffer, _ orientation: Orientation) {
    let bytes = source.format.bytesPerPixel
    unsafe source.withUnsafeMutableBytes { from in
        unsafe target.withUnsafeMutableBytes { to in
            eachTile(target.size) { columns, rows in
                for y in rows {
                    for x in columns {
                        let place = orientation.source(x: x, y: y, in: source.size)
                        for byte in 0..<bytes {
                            unsafe to[y * target.stride + x * bytes + byte] =
                                from[place.y * source.stride + place.x * bytes + byte]
                        }
                    }
                }
            }
        }
    }
}
