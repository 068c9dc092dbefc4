import Glibc

/// A preview of a few cosine waves as text.
///
///     position  0      1          2 … 5           6 …
///               size   maximum    mean color      waves, two digits each
///
/// - Source: the format description of BlurHash, "Algorithm.md" of woltapp/blurhash.
struct BlurHash {
    private static let digits = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".unicodeScalars)

    /// The number of waves across and down, 1 … 9.
    let columns: Int
    let rows: Int

    /// Returns the text for an image.
    ///
    /// - Parameter background: the light below transparent pixels.
    func text(of samples: SummarySamples, over background: SIMD3<Double>) -> String {
        let waves = waves(samples, background)
        var text = String.UnicodeScalarView()
        Self.put(columns - 1 + (rows - 1) * 9, 1, &text)
        let greatest = waves.dropFirst().map { max(abs($0.x), abs($0.y), abs($0.z)) }.max() ?? 0
        let step = min(82, max(0, Int((greatest * 166 - 0.5).rounded(.down))))
        Self.put(waves.count > 1 ? step : 0, 1, &text)
        let mean = SummarySamples.stored(waves[0])
        Self.put(Int(mean.x) << 16 | Int(mean.y) << 8 | Int(mean.z), 4, &text)
        let scale = Double(step + 1) / 166
        for wave in waves.dropFirst() {
            let levels = [wave.x, wave.y, wave.z].map { Self.level($0 / scale) }
            Self.put((levels[0] * 19 + levels[1]) * 19 + levels[2], 2, &text)
        }
        return String(text)
    }

    /// Returns the amplitude of every wave, row by row; the first is the mean.
    private func waves(_ samples: SummarySamples, _ background: SIMD3<Double>) -> [SIMD3<Double>] {
        func cosines(_ waves: Int, _ length: Int) -> [[Double]] {
            (0..<waves).map { wave in
                (0..<length).map { cos(.pi * Double(wave) * Double($0) / Double(length)) }
            }
        }
        let (across, down) = (cosines(columns, samples.width), cosines(rows, samples.height))
        var sums = [SIMD3<Double>](repeating: .zero, count: columns * rows)
        for y in 0..<samples.height {
            // The waves across this row, then each of them down.
            var row = [SIMD3<Double>](repeating: .zero, count: columns)
            for x in 0..<samples.width {
                let light = samples.light(at: y * samples.width + x, over: background)
                for wave in 0..<columns { row[wave] += light * across[wave][x] }
            }
            for wave in sums.indices { sums[wave] += row[wave % columns] * down[wave / columns][y] }
        }
        let scale = 1 / Double(samples.count)
        return sums.enumerated().map { $0.element * ($0.offset == 0 ? scale : 2 * scale) }
    }

    /// Returns one of 19 levels for an amplitude from −1 to 1, finer around 0.
    private static func level(_ value: Double) -> Int {
        let root = value < 0 ? -(-value).squareRoot() : value.squareRoot()
        return min(18, max(0, Int((root * 9 + 9.5).rounded(.down))))
    }

    private static func put(_ value: Int, _ count: Int, _ text: inout String.UnicodeScalarView) {
        var unit = (1..<count).reduce(1) { unit, _ in unit * 83 }
        while unit > 0 {
            text.append(digits[value / unit % 83])
            unit /= 83
        }
    }
}
