internal import ImageModel

/// The facts of one part of a file.
struct Part {
    /// A rectangle of pixels whose origin may be negative.
    typealias Window = PixelRect

    let index: Int
    let names: Names
    /// The pixels that are stored.
    let data: Window
    /// The pixels that are shown.
    let display: Window
    let compression: Compression
    let isDeep: Bool
    let storage: Storage
    let channels: [Channel]
    let color: Color
    /// The number of attributes.
    let attributeCount: Int

    struct Names {
        let part: String?
        /// The view that the part shows, such as `left`.
        let view: String?
        /// The views in the channels of this part; the first is the default one.
        let views: [String]
    }

    struct Storage {
        /// The size of a tile; nil for a part of rows.
        let tile: PixelSize?
        /// The number of rows of a chunk.
        let rows: Int
        /// The sizes of all levels, the full size first; only those that halve both sides.
        let levels: [PixelSize]
        /// The number of chunks of all levels.
        let chunkCount: Int
        /// The largest number of bytes of a decoded chunk.
        let chunkBytes: Int
        /// Whether levels also halve each side alone.
        let hasRipLevels: Bool
    }

    /// One kind of sample.
    struct Channel {
        enum Sample: Int32 {
            case integer = 0
            case half = 1
            case float = 2
        }

        let name: String
        let sample: Sample
        /// The number of pixels for one sample, across and down.
        let sampling: PixelSize
    }

    /// What the file states about colors and the shape of pixels.
    struct Color {
        /// The x and y of red, green, blue and white.
        let chromaticities: [Float]?
        let aspect: Float
        /// Pixels per inch; 0 if unknown.
        let density: Float
        /// The size of the preview image; nil if there is none.
        let preview: PixelSize?
    }

    /// The position of the data window on the canvas, which is the display window.
    var origin: (x: Int, y: Int) { (data.x - display.x, data.y - display.y) }
    /// Whether the stored pixels are exactly those that are shown.
    var isWhole: Bool { data == display }
}

/// A compression by its number in the file.
struct Compression {
    let number: UInt8

    private static let names = ["none", "RLE", "ZIPS", "ZIP", "PIZ", "PXR24", "B44", "B44A", "DWAA", "DWAB"]

    var name: String { number < Self.names.count ? Self.names[Int(number)] : "\(number)" }
    /// Whether OpenEXRCore 3.1 decodes it.
    var isSupported: Bool { number < 8 }
    /// Whether it packs blocks of 4 x 4 samples: B44 and B44A.
    var isInBlocks: Bool { number == 6 || number == 7 }
    /// Whether it changes samples.
    var isLossy: Bool { number >= 5 }
}
