import ImageModel

/// Draws a row of pixels over another one, both with straight alpha: `source` over `target`.
///
/// Most frames of most animations have pixels that are either there or not: groups of such pixels are only selected.
/// - Shape: RGBA with 8 or 16 bits a sample; both rows have the same length.
/// - Source: PNG specification, "Alpha channel processing"; integer arithmetic, rounded to nearest.
func blendRow(_ source: RawSpan, over target: inout MutableRawSpan, bits: Int) {
    precondition(source.byteCount == target.byteCount)
    unsafe target.withUnsafeMutableBytes { target in
        unsafe source.withUnsafeBytes { source in
            guard let from = source.baseAddress, let to = target.baseAddress else { return }
            if bits == 8 {
                unsafe blend8(from, to, source.count / 4)
            } else {
                unsafe blend16(from, to, source.count / 8)
            }
        }
    }
}

private typealias Group = SIMD8<UInt32>

private func blend8(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, _ count: Int) {
    var x = 0
    while x + Group.scalarCount <= count {
        let over = unsafe source.loadUnaligned(fromByteOffset: x * 4, as: Group.self)
        let alpha = Group(truncatingIfNeeded: over) &>> 24
        let isFull = alpha .== 255
        let isNone = alpha .== 0
        if all(isNone) {
            // Nothing to draw.
        } else if all(isFull) {
            unsafe target.storeBytes(of: over, toByteOffset: x * 4, as: Group.self)
        } else if all(isFull .| isNone) {
            let under = unsafe target.loadUnaligned(fromByteOffset: x * 4, as: Group.self)
            let both = under.replacing(with: over, where: isFull)
            unsafe target.storeBytes(of: both, toByteOffset: x * 4, as: Group.self)
        } else {
            for pixel in x..<x + Group.scalarCount { unsafe blendPixel8(source + pixel * 4, target + pixel * 4) }
        }
        x += Group.scalarCount
    }
    while x < count {
        unsafe blendPixel8(source + x * 4, target + x * 4)
        x += 1
    }
}

@inline(__always)
private func blendPixel8(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer) {
    let over = unsafe source.loadUnaligned(as: SIMD4<UInt8>.self)
    let alpha = UInt32(over.w)
    if alpha == 0 { return }
    let under = unsafe target.loadUnaligned(as: SIMD4<UInt8>.self)
    if alpha == 255 || under.w == 0 {
        unsafe target.storeBytes(of: over, as: SIMD4<UInt8>.self)
        return
    }
    let (s, d) = (SIMD4<UInt32>(truncatingIfNeeded: over), SIMD4<UInt32>(truncatingIfNeeded: under))
    var result: SIMD4<UInt32>
    if under.w == 255 {
        // x / 255 for x below 2¹⁶, rounded down: (x + 127) · 32897 >> 23.
        result = ((s &* alpha &+ d &* (255 &- alpha) &+ 127) &* 32897) &>> 23
        result.w = 255
    } else {
        // In units of 1/255²: what the frame adds, and what shows through it.
        let above = alpha * 255
        let below = (255 - alpha) * UInt32(under.w)
        let total = above + below
        result = (s &* above &+ d &* below &+ total / 2) / SIMD4(repeating: total)
        result.w = (total + 127) / 255
    }
    unsafe target.storeBytes(of: SIMD4<UInt8>(truncatingIfNeeded: result), as: SIMD4<UInt8>.self)
}

private func blend16(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, _ count: Int) {
    for x in 0..<count {
        let over = unsafe source.loadUnaligned(fromByteOffset: x * 8, as: SIMD4<UInt16>.self)
        let alpha = UInt64(over.w)
        if alpha == 0 { continue }
        let under = unsafe target.loadUnaligned(fromByteOffset: x * 8, as: SIMD4<UInt16>.self)
        var result = over
        if alpha != 0xFFFF && under.w != 0 {
            let above = alpha * 0xFFFF
            let below = (0xFFFF - alpha) * UInt64(under.w)
            let total = above + below
            let (s, d) = (SIMD4<UInt64>(truncatingIfNeeded: over), SIMD4<UInt64>(truncatingIfNeeded: under))
            var sum = (s &* above &+ d &* below &+ total / 2) / SIMD4(repeating: total)
            sum.w = (total + 0x7FFF) / 0xFFFF
            result = SIMD4<UInt16>(truncatingIfNeeded: sum)
        }
        unsafe target.storeBytes(of: result, toByteOffset: x * 8, as: SIMD4<UInt16>.self)
    }
}
