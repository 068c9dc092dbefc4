import CoderPluginKit
import ImageModel

/// The frame header of an image that the library does not decode: lossless, or of 12 bits.
///
///     FF C3 len | precision 1 | height 2 | width 2 | count 1 | id 1, factors 4+4 bits, divisors 1 | …
///
/// - Source: ITU-T T.81 B.2.2, A.1.1.
struct ExtendedFrame {
    enum Process {
        case sequential
        case progressive
        case lossless
    }

    struct Component {
        let id: UInt8
        /// The sampling factors.
        let across, down: Int
        /// The number of the table of divisors.
        let divisors: Int
        /// The size in samples.
        let size: PixelSize
    }

    let process: Process
    let precision: Int
    let size: PixelSize
    let components: [Component]
    /// The largest sampling factors.
    let mostAcross, mostDown: Int

    /// The side of the blocks: one sample if there is no transform.
    var side: Int { process == .lossless ? 1 : 8 }
    /// The MCUs of a scan with all components.
    var columns: Int { (size.width + side * mostAcross - 1) / (side * mostAcross) }
    var rows: Int { (size.height + side * mostDown - 1) / (side * mostDown) }
    /// The height of an MCU in pixels.
    var rowHeight: Int { side * mostDown }

    /// The most blocks of an MCU.
    private static let mostBlocks = 10

    /// Reads the body of a frame header; returns nil for frames of the library or of an unsupported process.
    ///
    /// - Throws: `.corrupt`, `.unsupportedFeature`.
    init?(marker: UInt8, _ body: [UInt8]) throws(CoderError) {
        guard body.count >= 6 else { return nil }
        let precision = Int(body[0])
        switch (marker, precision) {
        case (0xC0, 12), (0xC1, 12): process = .sequential
        case (0xC2, 12): process = .progressive
        case (0xC3, 2...16): process = .lossless
        default: return nil
        }
        self.precision = precision
        size = PixelSize(Int(body[3]) << 8 | Int(body[4]), Int(body[1]) << 8 | Int(body[2]))
        let count = Int(body[5])
        guard size.width > 0 else { throw .corrupt("invalid image size \(size)") }
        guard size.height > 0 else { throw .unsupported("a height that follows the first scan (DNL)") }
        guard count == 1 || count == 3 || count == 4 else { throw .unsupported("an image with \(count) components") }
        guard body.count >= 6 + 3 * count else { throw .corrupt("a frame header is too short") }

        // The factors of one component alone have no meaning (T.81, A.2.2).
        let raw = (0..<count).map { number in
            let factors = count == 1 ? 0x11 : Int(body[7 + 3 * number])
            return (id: body[6 + 3 * number], across: factors >> 4, down: factors & 15, at: Int(body[8 + 3 * number]))
        }
        let (mostAcross, mostDown) = (raw.map(\.across).max() ?? 1, raw.map(\.down).max() ?? 1)
        var components: [Component] = []
        for part in raw {
            // Lossless images have no divisors.
            guard 1...4 ~= part.across, 1...4 ~= part.down, part.at < 4 || process == .lossless else {
                throw .corrupt("invalid sampling factors or tables of a component")
            }
            guard mostAcross % part.across == 0, mostDown % part.down == 0 else {
                throw .unsupported("sampling factors that are not divisors of the largest one")
            }
            components.append(
                Component(
                    id: part.id, across: part.across, down: part.down, divisors: part.at,
                    size: PixelSize(
                        (size.width * part.across + mostAcross - 1) / mostAcross,
                        (size.height * part.down + mostDown - 1) / mostDown)))
        }
        guard count == 1 || components.reduce(0, { $0 + $1.across * $1.down }) <= Self.mostBlocks else {
            throw .corrupt("an MCU has more than \(Self.mostBlocks) blocks")
        }
        self.components = components
        self.mostAcross = mostAcross
        self.mostDown = mostDown
    }
}
