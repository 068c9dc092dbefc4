internal import ImageModel

/// The facts of one directory, as libtiff reads them.
struct Page {
    var size = PixelSize.zero
    /// How the samples are stored.
    var storage = Storage()
    /// What the samples mean.
    var meaning = Meaning()
    /// The stored orientation; nil if it is not valid.
    var orientation: Orientation?
    var density: PixelDensity?

    struct Storage {
        var isTiled = false
        /// The size of a strip or tile.
        var block = PixelSize.zero
        /// The number of strips or tiles, of all planes.
        var blockCount = 0
        /// The number of bytes of a decoded block, and of one of its rows.
        var blockBytes = 0
        var rowBytes = 0
        /// Whether each sample has its own blocks.
        var isPlanar = false
        var compression = 0
        var isCodecMissing = false
        /// Whether only the library's conversion to RGB decodes the samples.
        var needsConversion = false
    }

    struct Meaning {
        var bits = 0
        var samples = 0
        var sampleFormat = 0
        var photometric = 0
        var inkSet = 0
        /// The kinds of the samples behind the colors: 0 unknown, 1 premultiplied alpha, 2 straight alpha.
        var extras: [Int] = []
        /// Whether the codec converts YCbCr to RGB.
        var isConverted = false
    }

    /// Returns the density for a resolution in a unit of tag 296.
    static func density(_ x: Float, _ y: Float, unit: Int) -> PixelDensity? {
        let (x, y) = (Double(x), Double(y))
        guard x > 0, y > 0, x < 1e6, y < 1e6 else { return nil }
        switch unit {
        case 2: return .perMeter(x: UInt32((x / 0.0254).rounded()), y: UInt32((y / 0.0254).rounded()))
        case 3: return .perMeter(x: UInt32((x * 100).rounded()), y: UInt32((y * 100).rounded()))
        case 1 where x != y: return .aspect(x: UInt32((x * 100).rounded()), y: UInt32((y * 100).rounded()))
        default: return nil
        }
    }
}
