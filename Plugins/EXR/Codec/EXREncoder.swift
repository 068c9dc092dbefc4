public import CoderPluginKit
public import ImageModel
internal import Light

/// Encodes OpenEXR: one part of rows, halves or floats of linear light.
///
/// Samples with a curve become light; alpha is multiplied into the colors.
public final class EXREncoder: RowEncoder {
    private let session: EncoderSession
    private var writer: EXRWriter?
    private var info: ImageInfo?
    private var light: StoredLight?
    private var isHalf = true
    /// The light of each integer.
    private var table: [Float] = []
    /// Interleaved samples of the rows of the next chunk.
    private var band: [UInt8] = []
    private var next = 0
    private var hasWarned = false

    private static let compressions = ["none": 0, "rle": 1, "zips": 2, "zip": 3, "piz": 4]

    public init(_ session: EncoderSession) throws(CoderError) { self.session = session }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let native = info.nativeFormat
        let channels: PixelFormat.Channels =
            switch native.channels {
            case .gray: .gray
            case .grayAlpha: .grayAlpha
            case .rgb, .cmyk: .rgb
            case .rgba, .bgra: .rgba
            }
        if native.numeric == .float, native.channels == channels {
            return [PixelFormat(channels, bits: native.bits, numeric: .float, alpha: native.alpha)]
        }
        if native.numeric == .float { return [PixelFormat(channels, bits: 32, numeric: .float)] }
        return [PixelFormat(channels, bits: native.bits)]
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        guard try acceptedFormats(for: info).contains(info.nativeFormat), info.size.width < 1 << 24,
            info.size.height < 1 << 31
        else { throw .invalidArgument("an OpenEXR of \(info.size) \(info.nativeFormat) is not encoded") }
        self.info = info
        let light = try StoredLight(info.color)
        self.light = light
        isHalf = !(session.options.bool("lossless") ?? false)
        let name = session.options.string("exr.compression") ?? "zip"
        guard let compression = Self.compressions[name] else {
            throw .invalidArgument("exr.compression \"\(name)\" is not known")
        }
        if info.nativeFormat.numeric == .unorm {
            let most = info.nativeFormat.bits == 8 ? 255 : 65_535
            table = (0...most).map { light.light(Float($0) / Float(most)) }
        }
        let hasAlpha = info.nativeFormat.channels.hasAlpha
        let channels = (info.nativeFormat.channels.count < 3 ? "Y" : "RGB") + (hasAlpha ? "A" : "")
        if light.chromaticities == nil { session.host.warn("the primaries of the colors are not stored") }
        writer = try EXRWriter(
            EXRWriter.Form(
                size: info.size, channels: channels, isHalf: isHalf, compression: UInt8(compression),
                chromaticities: light.chromaticities, aspect: Self.aspect(info.density)), to: sink)
        // The rows of a chunk, and the buffers of the library for them.
        let rows = writer?.rows ?? 1
        try session.host.reserve(
            bytes: 5 * rows * info.size.width * info.nativeFormat.channels.count * (isHalf ? 2 : 4))
    }

    private static func aspect(_ density: PixelDensity?) -> Float {
        guard case .aspect(let x, let y) = density, x > 0, y > 0 else { return 1 }
        return Float(y) / Float(x)
    }

    public func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int { 1 }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        try addRows(surface)
    }

    public func addRows(_ surface: borrowing Surface) throws(CoderError) {
        guard let writer, let info, let light else { throw CoderError(.misuse, "begin comes first") }
        let (format, rows) = (info.nativeFormat, writer.rows)
        let samples = format.channels.count
        let rowBytes = info.size.width * samples * (isHalf ? 2 : 4)
        for y in 0..<surface.size.height {
            if next % 64 == 0 {
                try session.host.checkCancellation()
                session.host.progress(next, of: info.size.height)
            }
            guard next < info.size.height else { throw CoderError(.misuse, "more rows than the image has") }
            surface.withRow(y) { row in
                let values = values(row, width: info.size.width, format, light)
                band += isHalf ? halves(values) : FloatBytes.bytes(values)
            }
            next += 1
            if band.count == rows * rowBytes || next == info.size.height {
                try writer.add(band, row: (next - 1) / rows * rows)
                band.removeAll(keepingCapacity: true)
            }
        }
    }

    /// Returns the bytes of halves, whose largest value is 65,504.
    private func halves(_ values: [Float]) -> [UInt8] {
        let (bytes, isCut) = FloatBytes.halves(values)
        if isCut, !hasWarned {
            session.host.warn("light above 65,504 is cut off; lossless=true keeps it")
            hasWarned = true
        }
        return bytes
    }

    /// Returns the light of a row, multiplied by alpha.
    private func values(_ row: RawSpan, width: Int, _ format: PixelFormat, _ light: StoredLight) -> [Float] {
        let samples = format.channels.count
        let hasAlpha = format.channels.hasAlpha
        var values = [Float](repeating: 0, count: width * samples)
        for x in 0..<width {
            let place = x * samples
            let alpha = hasAlpha ? value(row, place + samples - 1, format, isLight: false) : 1
            for channel in place..<place + samples - (hasAlpha ? 1 : 0) {
                if format.alpha == .premultiplied, !light.isLinear {
                    // The curve is that of straight colors.
                    let stored = value(row, channel, format, isLight: false)
                    values[channel] = alpha > 0 ? light.light(stored / alpha) * alpha : light.light(stored)
                } else {
                    let sample = value(row, channel, format, isLight: true)
                    values[channel] = format.alpha == .premultiplied ? sample : sample * alpha
                }
            }
            if hasAlpha { values[place + samples - 1] = alpha }
        }
        return values
    }

    /// Returns a sample, or its light.
    private func value(_ row: RawSpan, _ index: Int, _ format: PixelFormat, isLight: Bool) -> Float {
        func word(_ at: Int) -> UInt16 { UInt16(row.byte(at: at)) | UInt16(row.byte(at: at + 1)) << 8 }
        switch (format.numeric, format.bits) {
        case (.unorm, 8):
            let sample = Int(row.byte(at: index))
            return isLight ? table[sample] : Float(sample) / 255
        case (.unorm, _):
            let sample = Int(word(2 * index))
            return isLight ? table[sample] : Float(sample) / 65_535
        default:
            let sample =
                format.bits == 16 ? Float(Float16(bitPattern: word(2 * index))) : LightRow.sample(row, index)
            return isLight ? light?.light(sample) ?? sample : sample
        }
    }

    public func finish() throws(CoderError) {
        guard let writer, let info, next == info.size.height else {
            throw CoderError(.misuse, "some rows are missing")
        }
        try writer.finish()
    }
}
