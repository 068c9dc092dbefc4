internal import CoderPluginKit
internal import ImageModel
internal import Light

/// Converts rows of interleaved halves or floats to rows of pixels.
struct SampleRows {
    private let samples: Int
    private let hasAlpha: Bool
    private let isHalf: Bool
    private let curve: LightCurve?
    /// Whether light below 0 or above 1 was cut off.
    private var isCut = false
    /// Whether light without alpha was dropped.
    private var isGlowLost = false
    private var hasTold = (cut: false, glow: false)

    init(_ form: PartForm, _ curve: LightCurve?) {
        samples = form.channels.count
        hasAlpha = form.formats[0].hasTransparency
        isHalf = form.sampleBytes == 2
        self.curve = curve
    }

    /// Converts pixels of one row.
    ///
    /// - Parameters:
    ///   - start: the first byte of the pixels.
    ///   - format: one that the form offers.
    ///   - x: the first pixel to write.
    mutating func convert(
        _ source: [UInt8], from start: Int, count: Int, into row: inout MutableRawSpan, _ format: PixelFormat, at x: Int
    ) {
        let (sourceBytes, bytes) = (samples * (isHalf ? 2 : 4), format.bytesPerPixel)
        precondition(start >= 0 && count >= 0 && start + count * sourceBytes <= source.count)
        precondition(x >= 0 && (x + count) * bytes <= row.byteCount)
        guard count > 0 else { return }
        unsafe source.withUnsafeBytes { source in
            unsafe row.withUnsafeMutableBytes { row in
                let from = unsafe source.baseAddress! + start
                let to = unsafe row.baseAddress! + x * bytes
                guard let curve else {
                    unsafe to.copyMemory(from: from, byteCount: count * bytes)
                    return
                }
                if format.numeric == .float {
                    return unsafe reals(from, to.assumingMemoryBound(to: Float.self), count, curve)
                }
                let target = unsafe to.assumingMemoryBound(to: UInt16.self)
                switch (isHalf, hasAlpha) {
                case (true, false):
                    unsafe opaque(from.assumingMemoryBound(to: UInt16.self), target, count * samples, curve)
                case (false, false):
                    unsafe opaque(from.assumingMemoryBound(to: Float.self), target, count * samples, curve)
                default: unsafe transparent(from, target, count, curve)
                }
            }
        }
    }

    private mutating func opaque(
        _ source: UnsafePointer<UInt16>, _ target: UnsafeMutablePointer<UInt16>, _ count: Int, _ curve: LightCurve
    ) {
        var outside: UInt16 = 0
        unsafe curve.halves.withUnsafeBufferPointer { table in
            for index in 0..<count {
                let half = unsafe source[index]
                unsafe target[index] = table[Int(half)]
                outside |= LightCurve.outside(half)
            }
        }
        if outside != 0 { isCut = true }
    }

    private mutating func opaque(
        _ source: UnsafePointer<Float>, _ target: UnsafeMutablePointer<UInt16>, _ count: Int, _ curve: LightCurve
    ) {
        let vectors = count / 4 * 4
        unsafe curve.steps.withUnsafeBufferPointer { steps in
            var four = unsafe FourSamples(curve, steps.baseAddress!)
            unsafe four.convert(source, target, vectors)
            if four.hasCut { isCut = true }
        }
        for index in vectors..<count {
            let light = unsafe source[index]
            unsafe target[index] = curve.sample(light)
            if LightSamples.isOutside(light) { isCut = true }
        }
    }

    /// Returns the warnings of losses since the last call, each once.
    mutating func takeWarnings() -> [String] {
        let cut =
            isCut && !hasTold.cut ? ["light below 0 or above 1 is cut off; the option exr.float=true keeps it"] : []
        let glow =
            isGlowLost && !hasTold.glow ? ["light without alpha is dropped; the option exr.float=true keeps it"] : []
        hasTold = (isCut, isGlowLost)
        return cut + glow
    }

    /// Fills bytes of a row with 0.
    static func clear(_ bytes: Range<Int>, of row: inout MutableRawSpan) {
        precondition(bytes.lowerBound >= 0 && bytes.upperBound <= row.byteCount)
        unsafe row.withUnsafeMutableBytes { row in
            guard let start = row.baseAddress else { return }
            _ = unsafe (start + bytes.lowerBound).initializeMemory(as: UInt8.self, repeating: 0, count: bytes.count)
        }
    }

    @inline(__always)
    private func light(_ source: UnsafeRawPointer, _ index: Int) -> Float {
        guard isHalf else { return unsafe source.load(fromByteOffset: 4 * index, as: Float.self) }
        let bits = unsafe source.load(fromByteOffset: 2 * index, as: UInt16.self)
        // Without infinity and NaN, another exponent and a multiplication are exact, and faster than a call.
        if bits & 0x7C00 == 0x7C00 { return Float(Float16(bitPattern: bits)) }
        let size = Float(bitPattern: UInt32(bits & 0x7FFF) << 13) * 0x1p112
        return bits & 0x8000 == 0 ? size : -size
    }

    /// Divides colors by alpha, because the curve is that of light that is not multiplied.
    private mutating func transparent(
        _ source: UnsafeRawPointer, _ target: UnsafeMutablePointer<UInt16>, _ count: Int, _ curve: LightCurve
    ) {
        guard samples == 4 else {
            for pixel in 0..<count { unsafe straightened(source, target, pixel * samples, curve) }
            return
        }
        unsafe curve.steps.withUnsafeBufferPointer { steps in
            var four = unsafe FourSamples(curve, steps.baseAddress!)
            var pixel = 0
            while true {
                let pixels = pixel..<count
                pixel =
                    unsafe isHalf
                    ? four.convertHalves(source, target, pixels) : four.convertFloats(source, target, pixels)
                if pixel == count { break }
                unsafe straightened(source, target, 4 * pixel, curve)
                pixel += 1
            }
            if four.hasCut { isCut = true }
        }
    }

    /// Makes samples of one pixel.
    private mutating func straightened(
        _ source: UnsafeRawPointer, _ target: UnsafeMutablePointer<UInt16>, _ place: Int, _ curve: LightCurve
    ) {
        let alpha = unsafe light(source, place + samples - 1)
        let inverse = alpha > 0 && alpha < 1 ? 1 / alpha : 1
        for channel in 0..<samples - 1 {
            var light = unsafe light(source, place + channel) * inverse
            if !(alpha > 0) {
                if light != 0 { isGlowLost = true }
                light = 0
            }
            if LightSamples.isOutside(light) { isCut = true }
            unsafe target[place + channel] = curve.sample(light)
        }
        unsafe target[place + samples - 1] = alpha > 0 ? UInt16(min(alpha, 1) * 65_535 + 0.5) : 0
    }

    private mutating func reals(
        _ source: UnsafeRawPointer, _ target: UnsafeMutablePointer<Float>, _ count: Int, _ curve: LightCurve
    ) {
        for pixel in 0..<count {
            let place = pixel * samples
            let alpha = unsafe hasAlpha ? light(source, place + samples - 1) : 1
            for channel in 0..<samples - (hasAlpha ? 1 : 0) {
                unsafe target[place + channel] = curve.real(straight(light(source, place + channel), alpha))
            }
            if hasAlpha { unsafe target[place + samples - 1] = alpha > 0 ? min(alpha, 1) : 0 }
        }
    }

    @inline(__always)
    private mutating func straight(_ light: Float, _ alpha: Float) -> Float {
        if alpha >= 1 { return light }
        if alpha > 0 { return light / alpha }
        if light != 0 { isGlowLost = true }
        return 0
    }
}
