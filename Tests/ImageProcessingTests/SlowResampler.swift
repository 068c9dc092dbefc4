import Foundation
import HostSystem
import ImageModel
@testable import ImageProcessing
import Testing

/// The samples of an image as numbers; 1 is full.
struct Samples: Equatable {
    var size: PixelSize
    var channels: Int
    var values: [Double]

    subscript(x: Int, y: Int, channel: Int) -> Double {
        get { values[(y * size.width + x) * channels + channel] }
        set { values[(y * size.width + x) * channels + channel] = newValue }
    }

    init(_ size: PixelSize, channels: Int) {
        self.size = size
        self.channels = channels
        values = Array(repeating: 0, count: size.width * size.height * channels)
    }

    init(_ buffer: PixelBuffer) {
        self.init(buffer.size, channels: buffer.format.channels.count)
        let (format, perRow) = (buffer.format, buffer.size.width * channels)
        for y in 0..<size.height {
            buffer.withRow(y) { row in
                for at in 0..<perRow {
                    values[y * perRow + at] =
                        switch (format.numeric, format.bits) {
                        case (.unorm, 8): Double(row.byte(at: at)) / 255
                        case (.unorm, _): Double(row.native(at: at * 2, as: UInt16.self)) / 65_535
                        case (.float, 16): Half.value(row.native(at: at * 2, as: UInt16.self))
                        case (.float, _): Double(Float(bitPattern: row.native(at: at * 4, as: UInt32.self)))
                        }
                }
            }
        }
    }

    /// Returns the image in a format, rounded to nearest.
    func buffer(_ format: PixelFormat) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: format)
        let perRow = size.width * channels
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for at in 0..<perRow {
                    let value = values[y * perRow + at]
                    switch (format.numeric, format.bits) {
                    case (.unorm, 8):
                        row.storeBytes(of: UInt8((value * 255).rounded()), toByteOffset: at, as: UInt8.self)
                    case (.unorm, _):
                        row.storeBytes(of: UInt16((value * 65_535).rounded()), toByteOffset: at * 2, as: UInt16.self)
                    case (.float, 16): row.storeBytes(of: Half.bits(value), toByteOffset: at * 2, as: UInt16.self)
                    case (.float, _):
                        row.storeBytes(of: Float(value).bitPattern, toByteOffset: at * 4, as: UInt32.self)
                    }
                }
            }
        }
        return buffer
    }

    /// Returns the largest difference of two samples.
    func distance(_ other: Samples) -> Double {
        #expect(size == other.size && channels == other.channels)
        return zip(values, other.values).reduce(0) { max($0, abs($1.0 - $1.1)) }
    }
}

/// Half floats by their definition, because `Float16` is not available on all architectures.
enum Half {
    static func value(_ bits: UInt16) -> Double {
        let (exponent, fraction) = (Int(bits >> 10 & 31), Double(bits & 1023))
        let size = exponent == 0 ? fraction * pow(2, -24) : (1 + fraction / 1024) * pow(2, Double(exponent - 15))
        let value = exponent == 31 ? (fraction == 0 ? Double.infinity : .nan) : size
        return bits >> 15 == 0 ? value : -value
    }

    /// Returns the nearest half float of 0 … 2, by a search through all of them.
    static func bits(_ value: Double) -> UInt16 {
        var (low, high): (UInt16, UInt16) = (0, 0x4000)
        while high - low > 1 {
            let middle = (low + high) / 2
            if Self.value(middle) <= value { low = middle } else { high = middle }
        }
        return value - Self.value(low) <= Self.value(high) - value ? low : high
    }
}

/// A reference resampler: doubles, whole images, every weight by its formula.
struct SlowResampler {
    var filter: ResamplingFilter
    var linearLight = false

    private func kernel(_ x: Double) -> Double {
        let x = abs(x)
        func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }
        switch filter {
        case .nearest, .box: return 0
        case .bilinear: return x < 1 ? 1 - x : 0
        case .bicubic:
            return x < 1
                ? 1.5 * x * x * x - 2.5 * x * x + 1
                : x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0
        case .lanczos3: return x < 3 ? sinc(x) * sinc(x / 3) : 0
        }
    }

    /// Returns the weights of all source pixels for one target pixel.
    private func weights(_ index: Int, _ target: Int, from start: Double, _ length: Double, of count: Int) -> [Double] {
        let scale = length / Double(target)
        let center = start + (Double(index) + 0.5) * scale
        let inside = Int(start.rounded(.down))..<Int((start + length).rounded(.up))
        var all = (0..<count).map { j -> Double in
            guard inside.contains(j) else { return 0 }
            switch filter {
            case .nearest: return Int(center.rounded(.down)) == j ? 1 : 0
            case .box:
                return max(0, min(center + scale / 2, Double(j + 1)) - max(center - scale / 2, Double(j)))
            default: return kernel((Double(j) + 0.5 - center) / max(1, scale))
            }
        }
        let sum = all.reduce(0, +)
        for j in all.indices { all[j] /= sum }
        return all
    }

    private func light(_ value: Double) -> Double {
        value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }

    private func stored(_ light: Double) -> Double {
        light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    }

    /// Resamples without rounding.
    func resample(_ source: Samples, _ format: PixelFormat, window: SourceWindow? = nil, to size: PixelSize) -> Samples
    {
        let window = window ?? SourceWindow(PixelRect(source.size))
        var image = source
        let colors = format.channels == .cmyk ? 4 : source.channels - (format.channels.hasAlpha ? 1 : 0)
        let isLight = linearLight && format.channels != .cmyk
        for at in stride(from: 0, to: image.values.count, by: image.channels) {
            let alpha = format.hasTransparency ? image.values[at + colors] : 1
            for channel in at..<at + colors {
                var value = image.values[channel]
                if isLight && format.alpha == .premultiplied && alpha > 0 { value /= alpha }
                if isLight { value = light(value) }
                if format.alpha == .straight || isLight { value *= alpha }
                image.values[channel] = value
            }
        }
        let narrow = weigh(image, window, size.width)
        var result = weighDown(narrow, window, size.height)
        let isInteger = format.numeric == .unorm
        for at in stride(from: 0, to: result.values.count, by: result.channels) {
            var (raw, alpha) = (1.0, 1.0)
            if format.hasTransparency {
                raw = max(0, result.values[at + colors])
                alpha = min(1, raw)
                result.values[at + colors] = alpha
            }
            for channel in at..<at + colors {
                var value = raw == 0 ? 0 : result.values[channel] / raw
                if isInteger { value = min(1, max(0, value)) }
                if isLight { value = stored(value) }
                if format.alpha == .premultiplied { value *= alpha }
                result.values[channel] = value
            }
        }
        return result
    }

    private func weigh(_ source: Samples, _ window: SourceWindow, _ width: Int) -> Samples {
        var result = Samples(PixelSize(width, source.size.height), channels: source.channels)
        for x in 0..<width {
            let weights = weights(x, width, from: window.x, window.width, of: source.size.width)
            for y in 0..<source.size.height {
                for c in 0..<source.channels {
                    result[x, y, c] = weights.indices.reduce(0) { $0 + weights[$1] * source[$1, y, c] }
                }
            }
        }
        return result
    }

    private func weighDown(_ source: Samples, _ window: SourceWindow, _ height: Int) -> Samples {
        var result = Samples(PixelSize(source.size.width, height), channels: source.channels)
        for y in 0..<height {
            let weights = weights(y, height, from: window.y, window.height, of: source.size.height)
            for x in 0..<source.size.width {
                for c in 0..<source.channels {
                    result[x, y, c] = weights.indices.reduce(0) { $0 + weights[$1] * source[x, $1, c] }
                }
            }
        }
        return result
    }
}
