import ImageModel

/// Blends a row of pixels over another one, both with straight alpha: `source` over `target`.
///
/// In most frames, pixels are either opaque or transparent; groups of such pixels are selected without arithmetic.
/// - Shape: RGBA with 8 or 16 bits per sample; both rows have the same length.
/// - Parameter inFixedPoint: whether 8-bit samples use the arithmetic of `CPI_FRAME_FIXED_POINT`.
/// - Source: PNG specification, "Alpha channel processing"; integer arithmetic, rounded down like in other decoders,
///   so that all produce the same frames. Fixed point: `cpi/frame.h`.
func blendRow(_ source: RawSpan, over target: inout MutableRawSpan, bits: Int, inFixedPoint: Bool = false) {
    precondition(source.byteCount == target.byteCount)
    unsafe target.withUnsafeMutableBytes { target in
        unsafe source.withUnsafeBytes { source in
            guard let from = source.baseAddress, let to = target.baseAddress else { return }
            switch (bits, inFixedPoint) {
            case (8, false): unsafe blend8(from, to, source.count / 4, { unsafe blendPixel8($0, $1) })
            case (8, true): unsafe blend8(from, to, source.count / 4, { unsafe blendPixelInFixedPoint($0, $1) })
            default: unsafe blend16(from, to, source.count / 8)
            }
        }
    }
}

private typealias BlendPixel = (UnsafeRawPointer, UnsafeMutableRawPointer) -> Void

@inline(__always)
private func blend8(
    _ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, _ count: Int, _ blendPixel: BlendPixel
) {
    let group = 8
    var x = 0
    while x + group <= count {
        let (from, to) = unsafe (source + x * 4, target + x * 4)
        unsafe blendGroup8(from, to, blendPixel)
        x += group
    }
    while x < count {
        unsafe blendPixel(source + x * 4, target + x * 4)
        x += 1
    }
}

/// Blends eight pixels, two at a time in a register.
@inline(__always)
private func blendGroup8(
    _ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, _ blendPixel: BlendPixel
) {
    let a = unsafe source.loadUnaligned(as: UInt64.self).littleEndian
    let b = unsafe source.loadUnaligned(fromByteOffset: 8, as: UInt64.self).littleEndian
    let c = unsafe source.loadUnaligned(fromByteOffset: 16, as: UInt64.self).littleEndian
    let d = unsafe source.loadUnaligned(fromByteOffset: 24, as: UInt64.self).littleEndian
    let alphas: UInt64 = 0xFF00_0000_FF00_0000
    if (a | b | c | d) & alphas == 0 { return }
    if a & b & c & d & alphas == alphas {
        unsafe target.copyMemory(from: source, byteCount: 32)
        return
    }
    // The lowest bit distinguishes an alpha of 0 from 255; any other alpha leaves a bit set here.
    let ones: UInt64 = 0x0100_0000_0100_0000
    func rest(_ pair: UInt64) -> UInt64 { (pair & alphas) ^ ((pair & ones) &* 255) }
    guard rest(a) | rest(b) | rest(c) | rest(d) == 0 else {
        for pixel in 0..<8 { unsafe blendPixel(source + pixel * 4, target + pixel * 4) }
        return
    }
    unsafe select(a, target)
    unsafe select(b, target + 8)
    unsafe select(c, target + 16)
    unsafe select(d, target + 24)
}
/// Stores those of two pixels that are opaque.
@inline(__always)
private func select(_ pair: UInt64, _ target: UnsafeMutableRawPointer) {
    let under = unsafe target.loadUnaligned(as: UInt64.self).littleEndian
    // Spread the lowest bit of each alpha over all bits of its pixel.
    let isThere = ((pair >> 24) & 0x0000_0001_0000_0001) &* 0xFFFF_FFFF
    unsafe target.storeBytes(of: (under ^ ((under ^ pair) & isThere)).littleEndian, as: UInt64.self)
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
        // x / 255 for x up to 255²: (x + 1 + x / 256) / 256.
        let sum = s &* alpha &+ d &* (255 &- alpha)
        result = (sum &+ 1 &+ (sum &>> 8)) &>> 8
        result.w = 255
    } else {
        // In units of 1/255²: the contribution of the frame, and the target's contribution through it.
        let above = alpha * 255
        let below = (255 - alpha) * UInt32(under.w)
        let total = above + below
        result = (s &* above &+ d &* below) / SIMD4(repeating: total)
        result.w = total / 255
    }
    unsafe target.storeBytes(of: SIMD4<UInt8>(truncatingIfNeeded: result), as: SIMD4<UInt8>.self)
}

/// Blends as `CPI_FRAME_FIXED_POINT` requires. All products fit into 32 bits: the sum is at most 255 × total.
@inline(__always)
private func blendPixelInFixedPoint(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer) {
    let over = unsafe source.loadUnaligned(as: SIMD4<UInt8>.self)
    let alpha = UInt32(over.w)
    if alpha == 0 { return }
    if alpha == 255 {
        unsafe target.storeBytes(of: over, as: SIMD4<UInt8>.self)
        return
    }
    let under = unsafe target.loadUnaligned(as: SIMD4<UInt8>.self)
    let below = (UInt32(under.w) &* (256 &- alpha)) &>> 8
    let total = alpha &+ below
    let (s, d) = (SIMD4<UInt32>(truncatingIfNeeded: over), SIMD4<UInt32>(truncatingIfNeeded: under))
    var result = ((s &* alpha &+ d &* below) &* ((1 << 24) / total)) &>> 24
    result.w = total
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
            var sum = (s &* above &+ d &* below) / SIMD4(repeating: total)
            sum.w = total / 0xFFFF
            result = SIMD4<UInt16>(truncatingIfNeeded: sum)
        }
        unsafe target.storeBytes(of: result, toByteOffset: x * 8, as: SIMD4<UInt16>.self)
    }
}
