internal import CoderPluginKit
internal import ImageModel

/// Converts rows of decoded samples to rows of pixels: smaller components are enlarged, palettes and color differences
/// become colors, and samples get 8 or 16 bits.
struct RowConverter {
    private let plan: ChannelPlan
    private let codestream: Codestream
    private let channels: [Channel]

    /// How the samples of a channel become pixels.
    private struct Channel {
        /// Is added to a sample, so that it is not negative.
        var offset: Int32 = 0
        /// The largest sample with its offset.
        var largest: Int32 = 0
        /// Scaled values; empty if the samples are shifted only.
        var table: [UInt16] = []
        /// How many low bits are dropped.
        var shift: Int32 = 0
    }

    init(_ plan: ChannelPlan, _ codestream: Codestream, _ palette: ImageHeader.Palette?) {
        self.plan = plan
        self.codestream = codestream
        channels = plan.sources.map { source in
            let component = codestream.components[source.component]
            let (bits, target) = (component.bits, plan.format.bits)
            var channel = Channel()
            if component.isSigned { channel.offset = 1 << (bits - 1) }
            channel.largest = bits == 31 ? .max : 1 << bits - 1
            if let column = source.column, let palette {
                channel.table = Self.table(palette, column, bits: target)
                channel.largest = min(channel.largest, Int32(channel.table.count - 1))
            } else if bits > 16 {
                channel.shift = Int32(bits - target)
            } else if bits != target {
                channel.table = (0..<1 << bits).map { Self.scaled($0, from: bits, to: target) }
            }
            return channel
        }
    }

    /// Scales a sample to another width, rounded.
    private static func scaled(_ value: Int, from bits: Int, to target: Int) -> UInt16 {
        let (largest, wanted) = (1 << bits - 1, 1 << target - 1)
        return UInt16(clamping: (min(max(0, value), largest) * wanted + largest / 2) / largest)
    }

    /// The column of a palette with samples of a width.
    private static func table(_ palette: ImageHeader.Palette, _ column: Int, bits: Int) -> [UInt16] {
        let (stored, isSigned) = (palette.bits[column], palette.isSigned[column])
        return (0..<palette.count).map { entry in
            var value = palette.values[entry * palette.bits.count + column]
            // A signed number is stored as two's complement; the smallest becomes 0.
            if isSigned { value = (value ^ 1 << (stored - 1)) & (1 << stored - 1) }
            return stored > 16 ? UInt16(clamping: value >> (stored - bits)) : scaled(value, from: stored, to: bits)
        }
    }

    // MARK: Rows

    /// Scratch memory of one row of each channel.
    final class Scratch {
        fileprivate var rows: [[Int32]]

        init(channels: Int, width: Int) { rows = .init(repeating: .init(repeating: 0, count: width), count: channels) }
    }

    func scratch(width: Int) -> Scratch { Scratch(channels: channels.count, width: width) }

    /// Converts one row.
    ///
    /// - Parameters:
    ///   - part: the columns and rows of the canvas that the surface shows.
    ///   - row: the row of the canvas.
    func convert(
        _ planes: DecodedPlanes, _ canvas: Canvas, _ part: PixelRect, row: Int, _ scratch: Scratch,
        into surface: borrowing Surface
    ) {
        let width = part.width
        for (index, source) in plan.sources.enumerated() {
            gather(planes.planes[source.component], source.component, canvas, part, row, &scratch.rows[index])
        }
        switch plan.conversion {
        case .none: break
        case .lumaChroma: mixColors(&scratch.rows, width)
        case .lab(let range):
            return surface.withMutableRow(row - part.y) { target in
                convertLab(scratch.rows, range, width, into: &target)
            }
        }
        surface.withMutableRow(row - part.y) { target in
            for (index, channel) in channels.enumerated() {
                store(scratch.rows[index], channel, index, width, into: &target)
            }
        }
    }

    /// Copies a row of samples, at the distance of the pixels; all samples get the offset of their component.
    private func gather(
        _ plane: DecodedPlanes.Plane?, _ component: Int, _ canvas: Canvas, _ part: PixelRect, _ row: Int,
        _ target: inout [Int32]
    ) {
        let facts = codestream.components[component]
        let offset: Int32 = facts.isSigned ? 1 << (facts.bits - 1) : 0
        let largest: Int32 = facts.bits == 31 ? .max : 1 << facts.bits - 1
        guard let plane else {
            for x in 0..<part.width { target[x] = 0 }
            return
        }
        let y = min(max(0, (canvas.top + row) * canvas.stepY / facts.dy - plane.y), plane.height - 1)
        precondition(target.count >= part.width && y >= 0 && plane.width > 0)
        let start = unsafe plane.samples + y * plane.width
        let first = canvas.left + part.x - plane.x
        unsafe target.withUnsafeMutableBufferPointer { target in
            if facts.dx == canvas.stepX, first >= 0, first + part.width <= plane.width {
                for x in 0..<part.width {
                    unsafe target[x] = min(max(0, start[first + x] &+ offset), largest)
                }
            } else {
                for x in 0..<part.width {
                    let place = (canvas.left + part.x + x) * canvas.stepX / facts.dx - plane.x
                    let sample = unsafe start[min(max(0, place), plane.width - 1)]
                    unsafe target[x] = min(max(0, sample &+ offset), largest)
                }
            }
        }
    }

    /// Converts luma and color differences to RGB.
    ///
    /// - Source: ISO/IEC 15444-1 annex G.3 (the irreversible transform): ITU-R BT.601 in full range.
    private func mixColors(_ rows: inout [[Int32]], _ width: Int) {
        let largest = Int(channels[0].largest)
        let half = (largest + 1) / 2
        for x in 0..<width {
            let (luma, blue, red) = (Int(rows[0][x]) << 16 + 32_768, Int(rows[1][x]) - half, Int(rows[2][x]) - half)
            rows[0][x] = Int32(min(max(0, (luma + 91_881 * red) >> 16), largest))
            rows[1][x] = Int32(min(max(0, (luma - 22_554 * blue - 46_802 * red) >> 16), largest))
            rows[2][x] = Int32(min(max(0, (luma + 116_130 * blue) >> 16), largest))
        }
    }

    private func store(
        _ samples: [Int32], _ channel: Channel, _ index: Int, _ width: Int, into row: inout MutableRawSpan
    ) {
        let count = plan.format.channels.count
        precondition(samples.count >= width && row.byteCount >= width * plan.format.bytesPerPixel)
        unsafe row.withUnsafeMutableBytes { bytes in
            unsafe samples.withUnsafeBufferPointer { samples in
                unsafe channel.table.withUnsafeBufferPointer { table in
                    if plan.format.bits == 8 {
                        let target = unsafe bytes.baseAddress! + index
                        let last = table.count - 1
                        for x in 0..<width {
                            let sample = unsafe samples[x]
                            let value =
                                unsafe last < 0
                                ? UInt8(truncatingIfNeeded: sample >> channel.shift)
                                : UInt8(truncatingIfNeeded: table[min(Int(sample), last)])
                            unsafe target.storeBytes(of: value, toByteOffset: x * count, as: UInt8.self)
                        }
                    } else {
                        let target = unsafe bytes.baseAddress! + 2 * index
                        let last = table.count - 1
                        for x in 0..<width {
                            let sample = unsafe samples[x]
                            let value =
                                unsafe last < 0
                                ? UInt16(truncatingIfNeeded: sample >> channel.shift)
                                : table[min(Int(sample), last)]
                            unsafe target.storeBytes(of: value, toByteOffset: 2 * x * count, as: UInt16.self)
                        }
                    }
                }
            }
        }
    }

    // MARK: Lab

    private func convertLab(_ rows: [[Int32]], _ range: LabRange, _ width: Int, into row: inout MutableRawSpan) {
        let count = plan.format.channels.count
        let bits = plan.sources.map { codestream.components[$0.component].bits }
        func value(_ channel: Int, _ x: Int) -> Double {
            (Double(rows[channel][x]) - range.offset(channel, bits: bits[channel])) * range.ranges[channel]
                / Double(1 << bits[channel] - 1)
        }
        for x in 0..<width {
            let colors = LabColor(l: value(0, x), a: value(1, x), b: value(2, x)).linear
            for (channel, color) in [colors.0, colors.1, colors.2].enumerated() {
                let sample = UInt16(min(max(0, color), 1) * 65_535 + 0.5)
                row.storeBytes(of: sample, toByteOffset: 2 * (count * x + channel), as: UInt16.self)
            }
            guard count == 4 else { continue }
            let alpha = Self.scaled(Int(rows[3][x]), from: bits[3], to: 16)
            row.storeBytes(of: alpha, toByteOffset: 2 * (count * x + 3), as: UInt16.self)
        }
    }
}

/// A color in CIE L*a*b* under D50.
struct LabColor {
    let l: Double
    let a: Double
    let b: Double

    /// Linear RGB with the primaries of sRGB under D65, adapted by Bradford's transform.
    var linear: (Double, Double, Double) {
        func root(_ value: Double) -> Double {
            value > 6.0 / 29 ? value * value * value : 3 * (6.0 / 29) * (6.0 / 29) * (value - 4.0 / 29)
        }
        let f = (l + 16) / 116
        let (x, y, z) = (root(f + a / 500) * 0.9642, root(f), root(f - b / 200) * 0.8249)
        return (
            3.133_856_1 * x - 1.616_866_7 * y - 0.490_614_6 * z, -0.978_768_4 * x + 1.916_141_5 * y + 0.033_454 * z,
            0.071_945_3 * x - 0.228_991_4 * y + 1.405_242_7 * z
        )
    }
}
