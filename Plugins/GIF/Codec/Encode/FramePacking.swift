internal import CoderPluginKit
internal import ImageModel
internal import Palettes

/// Packs the indices of one frame.
struct FramePacking {
    /// The ends of strings, the resets of the dictionary, and whether unchanged pixels are drawn.
    enum Way: CaseIterable {
        case plain, restless, patient, redrawn, hasty

        var patience: Int? {
            switch self {
            case .plain, .redrawn, .hasty: nil
            case .restless: 0
            case .patient: 1
            }
        }

        /// Grainy images need new strings soon; text repeats after a while.
        var window: Int { self == .hasty || self == .restless ? 64 : 512 }
    }

    let packer: LZWPacker
    let choices: PixelChoices
    let bits: Int
    let host: HostServices
    /// Whether the symbols are all work of the session.
    var reportsProgress = true

    /// Packs in one way and passes on the bytes as they are produced.
    func pack(
        _ symbols: inout [UInt8], _ way: Way, _ body: ([UInt8]) throws(CoderError) -> Void
    ) throws(CoderError) {
        let strip = 64 * choices.rect.width
        let common = choices.table.transparentIndex ?? symbols[0]
        packer.start(minimumCodeSize: bits, patience: way.patience, window: way.window, common: common)
        for start in stride(from: 0, to: symbols.count, by: strip) {
            try host.checkCancellation()
            if reportsProgress { host.progress(start, of: symbols.count) }
            packer.pack(&symbols, to: start + strip, choices)
            try body(packer.take())
        }
        packer.finish()
        try body(packer.take())
    }

    /// Packs in several ways and keeps the smallest result.
    func smallest(_ symbols: inout [UInt8]) throws(CoderError) -> [UInt8] {
        var best = symbols
        var least: [UInt8]?
        for way in Way.allCases {
            var trial = symbols
            if way == .redrawn, !choices.redraw(&trial) { continue }
            if way == .hasty, !packer.wasFull { continue }
            var bytes: [UInt8] = []
            try pack(&trial, way) { bytes += $0 }
            if bytes.count < least?.count ?? .max { (best, least) = (trial, bytes) }
        }
        symbols = best
        return least ?? []
    }
}
