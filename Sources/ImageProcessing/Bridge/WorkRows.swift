import CPixelKernels
import ImageModel

// Drawing, blending and filtering convert every integer format to work rows: four 16-bit samples per pixel, red, green,
// blue, alpha, premultiplied. An 8-bit image with straight alpha survives the conversion and back unchanged.

extension PixelFormat {
    /// The format of an image made of work rows.
    static let work = PixelFormat(.rgba, bits: 16, alpha: .premultiplied)

    /// - Throws: `.unsupportedFeature` for float samples.
    func checkWorkable(_ what: String) throws(CoderError) {
        guard numeric == .unorm, isValid else { throw .unsupported("\(what) of \(self) pixels") }
    }
}

extension PixelBuffer {
    /// Reads row `y` into the start of a work row; CMYK samples are copied unchanged.
    func loadWork(_ y: Int, into work: inout [UInt16]) { withRow(y) { WorkRow.load($0, format, into: &work) } }

    /// Writes row `y` from the start of a work row.
    func storeWork(_ y: Int, from work: [UInt16]) { withMutableRow(y) { WorkRow.store(work, format, into: &$0) } }

    /// Blends a work row onto part of row `y` of an image of work rows.
    ///
    /// - Parameter coverage: the weight of the result for each pixel; nil means full coverage.
    func blendWork(_ y: Int, from x: Int, _ source: [UInt16], _ mode: BlendMode, coverage: [UInt16]?) {
        let count = source.count / 4
        precondition(format == .work && x >= 0 && x <= size.width - count)
        precondition(coverage == nil || coverage!.count == count)
        withMutableRow(y) { row in
            unsafe row.withUnsafeMutableBytes { row in
                unsafe source.withUnsafeBufferPointer { source in
                    guard let start = row.baseAddress, let source = source.baseAddress else { return }
                    let target = unsafe (start + x * 8).assumingMemoryBound(to: UInt16.self)
                    guard let coverage else {
                        unsafe pixel_blend(target, source, UInt64(count), mode.kernel)
                        return
                    }
                    if mode == .normal {
                        // For `.normal`, scaling the source is equivalent, and most pixels are covered fully or not at
                        // all.
                        var part = unsafe [UInt16](UnsafeBufferPointer(start: source, count: count * 4))
                        unsafe pixel_cover(&part, coverage, UInt64(count))
                        unsafe pixel_blend(target, part, UInt64(count), mode.kernel)
                        return
                    }
                    var result = unsafe [UInt16](UnsafeBufferPointer(start: target, count: count * 4))
                    unsafe pixel_blend(&result, source, UInt64(count), mode.kernel)
                    unsafe pixel_mix(target, result, coverage, UInt64(count))
                }
            }
        }
    }
}

/// Operations on whole work rows.
enum WorkRow {
    /// Reads a row into the start of a work row; CMYK samples are copied unchanged.
    static func load(_ row: RawSpan, _ format: PixelFormat, into work: inout [UInt16]) {
        let count = row.byteCount / format.bytesPerPixel
        precondition(work.count >= count * 4 && format.numeric == .unorm)
        unsafe row.withUnsafeBytes { row in
            unsafe work.withUnsafeMutableBufferPointer { work in
                unsafe pixel_work_load(
                    row.baseAddress, work.baseAddress, UInt64(count), UInt32(format.channels.rawValue),
                    UInt32(format.bits), UInt32(format.alpha.rawValue))
            }
        }
    }

    /// Writes a row from the start of a work row.
    static func store(_ work: [UInt16], _ format: PixelFormat, into row: inout MutableRawSpan) {
        let count = row.byteCount / format.bytesPerPixel
        precondition(work.count >= count * 4 && format.numeric == .unorm)
        unsafe row.withUnsafeMutableBytes { row in
            unsafe work.withUnsafeBufferPointer { work in
                unsafe pixel_work_store(
                    work.baseAddress, row.baseAddress, UInt64(count), UInt32(format.channels.rawValue),
                    UInt32(format.bits), UInt32(format.alpha.rawValue))
            }
        }
    }

    static func filled(with color: RGBAColor, count: Int) -> [UInt16] {
        let alpha = UInt32(color.alpha) * 257
        func premultiplied(_ value: UInt8) -> UInt16 { UInt16((UInt32(value) * 257 * alpha + 32_767) / 65_535) }
        let pixel = [
            premultiplied(color.red), premultiplied(color.green), premultiplied(color.blue), UInt16(alpha),
        ]
        return unsafe [UInt16](unsafeUninitializedCapacity: count * 4) { row, filled in
            for x in 0..<count * 4 { unsafe row.initializeElement(at: x, to: pixel[x & 3]) }
            filled = count * 4
        }
    }

    /// Blends `source` onto `backdrop` and stores the result in `backdrop`.
    static func blend(_ backdrop: inout [UInt16], _ source: [UInt16], _ mode: BlendMode) {
        precondition(backdrop.count == source.count)
        unsafe pixel_blend(&backdrop, source, UInt64(source.count / 4), mode.kernel)
    }

    /// Multiplies every pixel by its coverage.
    static func cover(_ work: inout [UInt16], _ coverage: [UInt16]) {
        precondition(work.count == coverage.count * 4)
        unsafe pixel_cover(&work, coverage, UInt64(coverage.count))
    }

    /// Applies a matrix with three rows: factors of red, green and blue, then the offset.
    static func apply(_ matrix: [Float], to work: inout [UInt16]) {
        precondition(matrix.count == 12)
        unsafe pixel_color_matrix(&work, UInt64(work.count / 4), matrix)
    }

    /// Applies a table of 65,536 entries to the colors without alpha.
    static func apply(_ table: [UInt16], to work: inout [UInt16]) {
        precondition(table.count == 65_536)
        unsafe pixel_color_curve(&work, UInt64(work.count / 4), table)
    }

    /// Samples an image of work rows along a line, bilinearly; outside the image pixels are transparent.
    ///
    /// - Parameters:
    ///   - start: the position of the first sample of the row; the center of the first pixel is at (0.5, 0.5).
    ///   - step: the distance from one sample to the next.
    ///   - columns: the samples to compute, from the start of `work`.
    static func sample(
        _ image: PixelBuffer, from start: (x: Double, y: Double), step: (x: Double, y: Double), _ columns: Range<Int>,
        into work: inout [UInt16]
    ) {
        precondition(image.format == .work && image.stride % 2 == 0)
        precondition(columns.lowerBound >= 0 && columns.count * 4 <= work.count)
        unsafe image.withUnsafeMutableBytes { bytes in
            unsafe pixel_sample_line(
                bytes.baseAddress?.assumingMemoryBound(to: UInt16.self), UInt64(image.stride),
                Int64(image.size.width), Int64(image.size.height), start.x, start.y, step.x, step.y,
                UInt64(columns.lowerBound), &work, UInt64(columns.count))
        }
    }
}
