internal import CoderPluginKit
internal import ImageModel

/// Packs the indices of frames again, and drops unused colors of a local palette.
final class GIFFramePacker {
    /// A way to end strings, and the number of codes between checks of a full dictionary.
    private static let ways: [(patience: Int?, window: Int, isHasty: Bool)] = [
        (0, 64, false), (1, 512, false), (nil, 512, false), (nil, 64, true),
    ]
    /// The number of indices between two polls.
    private static let patience = 1 << 18

    private let session: RewriteSession
    private let globalPalette: Range<Int>?
    private let lzw = LZWDecoder()
    private let packer = LZWPacker()
    private var frameCount = 0
    /// The transparent index of the next image.
    private var transparentIndex: UInt8?

    init(_ session: RewriteSession, globalPalette: Range<Int>?) {
        self.session = session
        self.globalPalette = globalPalette
    }

    /// Returns the image in fewer bytes; nil for any other block, and if there is no shorter form.
    ///
    /// - Throws: `.limitExceeded`.
    func packed(_ block: GIFBlock) throws(CoderError) -> [UInt8]? {
        if block.kind == .control { noteControl(block) }
        guard case .image(let flags, let dataOffset) = block.kind else { return nil }
        defer { transparentIndex = nil }
        let limits = session.limits
        frameCount += 1
        if limits.maxFrames > 0, frameCount > limits.maxFrames {
            throw .limit("frames", allowed: limits.maxFrames, requested: frameCount)
        }
        let head = session.source.bytes(block.range.lowerBound..<block.range.lowerBound + 10)
        let area = (Int(head[5]) | Int(head[6]) << 8) * (Int(head[7]) | Int(head[8]) << 8)
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
        // The stored indices, twice, and the codes for them.
        let reserved = 2 * area + block.range.count
        try session.host.reserve(bytes: reserved)
        defer { try? session.host.reserve(bytes: -reserved) }
        guard
            let indices = try lzw.indices(
                of: session.source, codeSizeAt: dataOffset, upTo: block.range.upperBound, count: area,
                host: session.host)
        else { return nil }

        var isUsed = [Bool](repeating: false, count: 256)
        for index in indices { isUsed[Int(index)] = true }
        let palette = palette(flags, dataOffset, isUsed)
        let limit = block.range.count - head.count - palette.bytes.count
        guard let data = try data(of: indices, isUsed, limit: limit) else { return nil }
        return head.dropLast() + [palette.flags] + palette.bytes + data
    }

    /// 21 F9 | 4 | flags | delay 2 | transparent index | 0 (GIF89a specification, section 23).
    private func noteControl(_ block: GIFBlock) {
        guard block.range.count >= 8 else { return }
        let bytes = session.source.bytes(block.range.lowerBound..<block.range.lowerBound + 7)
        transparentIndex = bytes[2] >= 4 && bytes[3] & 1 != 0 ? bytes[6] : nil
    }

    // MARK: Codes

    /// Returns the code size and data blocks; nil if they are not shorter than `limit`.
    private func data(of indices: [UInt8], _ isUsed: [Bool], limit: Int) throws(CoderError) -> [UInt8]? {
        let bits = max(2, FramePalette.bits((isUsed.lastIndex(of: true) ?? 0) + 1))
        var best: [UInt8]?
        for way in Self.ways {
            // A dictionary that was never full is the same for any window.
            if way.isHasty, !packer.wasFull { continue }
            var symbols = indices
            packer.start(minimumCodeSize: bits, patience: way.patience, window: way.window, common: indices[0])
            for start in stride(from: 0, to: symbols.count, by: Self.patience) {
                try session.host.checkCancellation()
                packer.pack(&symbols, to: start + Self.patience, PixelChoices.none())
            }
            packer.finish()
            let bytes = packer.take()
            if bytes.count < best?.count ?? limit { best = bytes }
        }
        return best
    }

    // MARK: Palettes

    /// Returns the flags of the descriptor and the palette, without colors that no pixel has.
    private func palette(
        _ flags: UInt8, _ dataOffset: Int, _ isUsed: [Bool]
    ) -> (flags: UInt8, bytes: [UInt8]) {
        let count = GIFFrame.paletteBytes(flags)
        if count == 0 { return (flags, []) }
        let bytes = session.source.bytes(dataOffset - count..<dataOffset)
        // Viewers differ on an index behind the end of a palette: such a palette stays.
        guard let last = isUsed.lastIndex(of: true), 3 * last < count else { return (flags, bytes) }
        if let globalPalette, 3 * last < globalPalette.count {
            let global = session.source.bytes(globalPalette)
            let isSame = isUsed.indices.allSatisfy { index in
                !isUsed[index] || bytes[3 * index..<3 * index + 3] == global[3 * index..<3 * index + 3]
            }
            // Keeps the palette, its order and its size.
            if isSame { return (flags & ~0xA7, []) }
        }
        // Some viewers require the transparent index to be in the palette, even if no pixel has it.
        let bits = FramePalette.bits(max(last, transparentIndex.map(Int.init) ?? 0) + 1)
        if 3 << bits >= count { return (flags, bytes) }
        return (flags & ~7 | UInt8(bits - 1), Array(bytes[..<(3 << bits)]))
    }
}
