import ImageModel

/// A part of a picture in another size and the same format; the same buffer where nothing has to be done.
///
/// Premultiplied, with a triangle as wide as a pixel of the smaller picture.
/// - Throws: `.unsupportedFeature` for float samples, `.invalidArgument`, `.outOfMemory`.
func resized(_ buffer: PixelBuffer, crop: PixelRect?, to size: PixelSize) throws(CoderError) -> PixelBuffer {
    let part = try crop.map { rect throws(CoderError) in try Cropping(rect).transform(buffer) } ?? buffer
    if part.size == size { return part }
    try part.format.checkWorkable("resizing")
    let result = try PixelBufferPool.shared.take(size, part.format, clean: false)
    let columns = taps(part.size.width, to: size.width)
    var rows: [(y: Int, row: [SIMD4<Float>])] = []
    var work = [UInt16](repeating: 0, count: part.size.width * 4)
    var output = [UInt16](repeating: 0, count: size.width * 4)
    for (y, tap) in taps(part.size.height, to: size.height).enumerated() {
        rows.removeAll { $0.y < tap.first }
        for source in tap.first..<tap.first + tap.weights.count where source > (rows.last?.y ?? -1) {
            part.loadWork(source, into: &work)
            rows.append((source, resampled(work, columns)))
        }
        for x in 0..<size.width {
            var sum = SIMD4<Float>(repeating: 0.5)
            for (index, weight) in tap.weights.enumerated() { sum += rows[index].row[x] * weight }
            let value = SIMD4<UInt16>(sum.clamped(lowerBound: .zero, upperBound: .init(repeating: 65_535)))
            for channel in 0..<4 { output[x * 4 + channel] = value[channel] }
        }
        result.storeWork(y, from: output)
    }
    return result
}

/// The samples that one sample of the result is made of.
private struct Tap {
    var first: Int
    var weights: [Float]
}

private func taps(_ length: Int, to target: Int) -> [Tap] {
    let step = Double(length) / Double(target)
    let reach = max(1, step)
    return (0..<target).map { index in
        let middle = (Double(index) + 0.5) * step
        let first = max(0, Int((middle - reach + 0.5).rounded(.down)))
        let last = max(first, min(length - 1, Int((middle + reach - 0.5).rounded(.up))))
        var weights = (first...last).map { max(0, 1 - abs(Double($0) + 0.5 - middle) / reach) }
        // A tap without weight is one whose only sample stands at the edge of its reach.
        let sum = weights.reduce(0, +)
        if sum > 0 { weights = weights.map { $0 / sum } } else { weights[0] = 1 }
        return Tap(first: first, weights: weights.map(Float.init))
    }
}

private func resampled(_ work: [UInt16], _ columns: [Tap]) -> [SIMD4<Float>] {
    columns.map { tap in
        var sum = SIMD4<Float>.zero
        for (index, weight) in tap.weights.enumerated() {
            let at = (tap.first + index) * 4
            let pixel = SIMD4(work[at], work[at + 1], work[at + 2], work[at + 3])
            sum += SIMD4<Float>(pixel) * weight
        }
        return sum
    }
}
