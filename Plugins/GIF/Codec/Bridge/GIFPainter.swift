internal import CoderPluginKit
internal import ImageModel

/// Writes indices as colors into a surface, in the row order of the frame.
@safe final class GIFPainter {
    /// The number of pixels not painted yet.
    private(set) var left: Int
    /// The complete rows painted since ``forgetChanges()``.
    var changed: PixelRect {
        PixelRect(x: 0, y: changedRows.lowerBound, width: size.width, height: changedRows.count)
    }

    private let size: PixelSize
    private let format: PixelFormat
    private let stride: Int
    private let target: UnsafeMutableRawPointer
    /// By index: the color in both halves of a word, so that two pixels need one store.
    private let colors: UnsafeMutablePointer<UInt64>
    private let isInterlaced: Bool
    private let isCoarse: Bool
    private var cursor = Cursor()
    private var changedRows = 0..<0

    /// The place of the next pixel.
    private struct Cursor {
        var pass = 0
        var row = 0
        var column = 0
    }

    /// Every 8th row from 0, every 8th from 4, every 4th from 2, every 2nd from 1 (appendix E).
    static let passes = [
        (first: 0, step: 8, fills: 8), (first: 4, step: 8, fills: 4), (first: 2, step: 4, fills: 2),
        (first: 1, step: 2, fills: 1),
    ]

    /// - Parameter colors: 0xAABBGGRR, 256 of them.
    init(_ colors: [UInt32], on surface: borrowing Surface, isInterlaced: Bool, isCoarse: Bool) {
        precondition(colors.count == 256 && surface.format.bytesPerPixel >= 3)
        size = surface.size
        format = surface.format
        stride = surface.stride
        left = size.width * size.height
        unsafe target = surface.baseAddress
        self.isInterlaced = isInterlaced
        self.isCoarse = isCoarse && isInterlaced
        unsafe self.colors = .allocate(capacity: 512)
        for (index, color) in colors.enumerated() {
            unsafe (self.colors + index).initialize(to: UInt64(color).littleEndian)
            unsafe (self.colors + 256 + index).initialize(to: (UInt64(color) << 32).littleEndian)
        }
    }

    deinit { unsafe colors.deallocate() }

    var isUntouched: Bool { left == size.width * size.height }

    func isPainting(_ surface: borrowing Surface) -> Bool {
        unsafe target == surface.baseAddress && size == surface.size && format == surface.format
            && stride == surface.stride
    }

    func forgetChanges() { changedRows = 0..<0 }

    /// Paints the pixels that were unpacked last; drops indices behind the last pixel.
    func paint(_ lzw: LZWDecoder, into surface: borrowing Surface) {
        precondition(isPainting(surface))
        let indices = unsafe lzw.indices
        guard var next = indices.baseAddress else { return }
        var count = min(indices.count, left)
        left -= count
        let bytesPerPixel = format.bytesPerPixel
        while count > 0 {
            let part = min(count, size.width - cursor.column)
            let place = unsafe target + cursor.row * stride + cursor.column * bytesPerPixel
            if bytesPerPixel == 4 {
                unsafe mapFour(next, part, to: place)
            } else {
                unsafe mapThree(next, part, to: place)
            }
            unsafe next += part
            count -= part
            cursor.column += part
            note(cursor.row..<cursor.row + 1)
            if cursor.column == size.width { endRow() }
        }
    }

    /// Paints every missing pixel in one color, 0xAABBGGRR.
    func clearRest(of surface: borrowing Surface, to color: UInt32 = 0, keepsCoarse: Bool) {
        precondition(isPainting(surface))
        // In the first pass all rows below the current one are empty; in later passes none.
        if keepsCoarse, isCoarse, cursor.pass > 0 { return }
        while left > 0 {
            let part = size.width - cursor.column
            let bytesPerPixel = format.bytesPerPixel
            let start = unsafe target + cursor.row * stride + cursor.column * bytesPerPixel
            if bytesPerPixel == 4 {
                for pixel in 0..<part {
                    unsafe start.storeBytes(of: color.littleEndian, toByteOffset: 4 * pixel, as: UInt32.self)
                }
            } else {
                unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: part * bytesPerPixel)
            }
            note(cursor.row..<cursor.row + 1)
            left -= part
            nextRow()
        }
    }

    // MARK: Rows

    private func endRow() {
        if isCoarse {
            let end = min(size.height, cursor.row + Self.passes[cursor.pass].fills)
            let start = unsafe target + cursor.row * stride
            for below in cursor.row + 1..<max(cursor.row + 1, end) {
                unsafe (target + below * stride).copyMemory(
                    from: start, byteCount: size.width * format.bytesPerPixel)
            }
            note(cursor.row..<end)
        }
        nextRow()
    }

    private func nextRow() {
        cursor.column = 0
        guard isInterlaced else {
            cursor.row += 1
            return
        }
        cursor.row += Self.passes[cursor.pass].step
        while cursor.row >= size.height, cursor.pass < 3 {
            cursor.pass += 1
            cursor.row = Self.passes[cursor.pass].first
        }
    }

    private func note(_ rows: Range<Int>) {
        changedRows =
            changedRows.isEmpty
            ? rows : min(changedRows.lowerBound, rows.lowerBound)..<max(changedRows.upperBound, rows.upperBound)
    }

    // MARK: Pixels

    @inline(__always)
    private func mapFour(_ indices: UnsafePointer<UInt8>, _ count: Int, to target: UnsafeMutableRawPointer) {
        let low = unsafe colors
        let high = unsafe colors + 256
        var x = 0
        while x + 8 <= count {
            let eight = unsafe UInt64(
                littleEndian: UnsafeRawPointer(indices + x).loadUnaligned(as: UInt64.self))
            let place = unsafe target + 4 * x
            if eight == eight << 8 | eight >> 56 {
                let index = Int(eight & 0xFF)
                let pair = unsafe low[index] | high[index]
                unsafe place.storeBytes(of: SIMD4<UInt64>(repeating: pair), as: SIMD4<UInt64>.self)
            } else {
                for pair in 0..<4 {
                    let two = Int(truncatingIfNeeded: eight >> UInt64(16 * pair))
                    unsafe place.storeBytes(
                        of: low[two & 0xFF] | high[two >> 8 & 0xFF], toByteOffset: 8 * pair, as: UInt64.self)
                }
            }
            x += 8
        }
        while x < count {
            let color = unsafe UInt64(littleEndian: low[Int(indices[x])])
            unsafe target.storeBytes(
                of: UInt32(truncatingIfNeeded: color).littleEndian, toByteOffset: 4 * x, as: UInt32.self)
            x += 1
        }
    }

    private func mapThree(_ indices: UnsafePointer<UInt8>, _ count: Int, to target: UnsafeMutableRawPointer) {
        for x in 0..<count {
            let color = unsafe UInt64(littleEndian: colors[Int(indices[x])])
            for channel in 0..<3 {
                unsafe target.storeBytes(
                    of: UInt8(truncatingIfNeeded: color >> UInt64(8 * channel)), toByteOffset: 3 * x + channel,
                    as: UInt8.self)
            }
        }
    }
}
