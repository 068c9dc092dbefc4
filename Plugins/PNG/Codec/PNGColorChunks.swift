internal import CoderPluginKit
internal import ImageModel

/// Parses and makes the chunks that describe colors by numbers.
///
/// - Source: PNG 3rd edition, 11.3.2.1 (cHRM), 11.3.2.2 (gAMA), 11.3.2.7 (mDCV), 11.3.2.8 (cLLI).
extension PrimaryPoints {
    /// White, red, green, blue; in 1/100,000.
    init(cHRM numbers: [UInt32]) {
        func point(_ index: Int) -> Int32 { Int32(clamping: numbers[index]) }
        self.init(
            redX: point(2), redY: point(3), greenX: point(4), greenY: point(5), blueX: point(6), blueY: point(7),
            whiteX: point(0), whiteY: point(1))
    }

    /// Nil for points that the chunk cannot store.
    var cHRM: [UInt8]? {
        let points = [whiteX, whiteY, redX, redY, greenX, greenY, blueX, blueY]
        guard points.allSatisfy({ $0 >= 0 }) else { return nil }
        return points.flatMap { bigEndian(UInt32($0)) }
    }
}

extension MasteringDisplay {
    /// Red, green, blue, white, two bytes per number in 1/50,000; then the luminance in 1/10,000 cd/m².
    init(mDCV bytes: [UInt8]) throws(CoderError) {
        guard bytes.count == 24 else { throw .corrupt("mDCV has \(bytes.count) bytes") }
        func point(_ index: Int) -> Int32 { 2 * (Int32(bytes[2 * index]) << 8 | Int32(bytes[2 * index + 1])) }
        func luminance(_ offset: Int) -> UInt32 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        self.init(
            colors: PrimaryPoints(
                redX: point(0), redY: point(1), greenX: point(2), greenY: point(3), blueX: point(4), blueY: point(5),
                whiteX: point(6), whiteY: point(7)),
            maxLuminance: luminance(16), minLuminance: luminance(20))
    }

    /// Nil for points that the chunk cannot store.
    var mDCV: [UInt8]? {
        let points = [
            colors.redX, colors.redY, colors.greenX, colors.greenY, colors.blueX, colors.blueY, colors.whiteX,
            colors.whiteY,
        ]
        var bytes: [UInt8] = []
        for point in points {
            guard let units = UInt16(exactly: point / 2) else { return nil }
            bytes += [UInt8(units >> 8), UInt8(units & 0xFF)]
        }
        return bytes + bigEndian(maxLuminance) + bigEndian(minLuminance)
    }
}

extension ContentLight {
    var cLLI: [UInt8] { bigEndian(maximum) + bigEndian(maximumFrameAverage) }
}
