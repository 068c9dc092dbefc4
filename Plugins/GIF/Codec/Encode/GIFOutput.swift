internal import CoderPluginKit
internal import ImageModel
internal import Palettes

/// Writes the blocks of a GIF in order, and later updates delays and colors that were not known yet.
struct GIFOutput {
    static let longestDelay = 0xFFFF

    private let sink: ByteSink
    private let host: HostServices
    private var written = 0
    /// The bits of an index into the palette of the file.
    private(set) var globalBits = 0
    /// The last delay and its position; nil if it must not grow.
    private var last: (delay: Int, offset: Int)?

    init(_ sink: ByteSink, _ host: HostServices) {
        self.sink = sink
        self.host = host
    }

    var isSeekable: Bool { sink.isSeekable }

    mutating func write(_ bytes: [UInt8]) throws(CoderError) {
        try sink.write(bytes)
        written += bytes.count
    }

    /// Writes the blocks in front of the frames.
    mutating func start(_ info: ImageInfo, _ table: ColorTable, bits: Int, plays: Int?) throws(CoderError) {
        globalBits = bits
        try write(GIFWriter.screen(info.size, colors: table.colors, bits: bits, plays: plays))
    }

    /// Writes the blocks in front of the pixels of a frame.
    ///
    /// - Returns: the remaining hundredths for ``hold(_:_:_:skip:_:)``.
    mutating func begin(
        _ rect: ChangedRect, _ palette: FramePalette, delay: Int, _ disposal: Disposal
    ) throws(CoderError) -> Int {
        let now = min(delay, Self.longestDelay)
        last = disposal == .keep ? (now, written + GIFWriter.delayOffset) : nil
        try write(
            GIFWriter.control(
                delay: now, disposal: delay > now ? .keep : disposal, transparent: palette.table.transparentIndex)
                + GIFWriter.descriptor(rect, colors: palette.isGlobal ? nil : palette.table.colors))
        return delay - now
    }

    /// Extends the duration of the last frame.
    mutating func lengthen(by delay: Int, skip: UInt8?, _ packer: LZWPacker) throws(CoderError) {
        if let last, isSeekable, last.delay + delay <= Self.longestDelay {
            try sink.overwrite(GIFWriter.u16(last.delay + delay), at: last.offset)
            self.last = (last.delay + delay, last.offset)
        } else {
            try hold(delay, .pixel, .keep, skip: skip, packer)
        }
    }

    /// Writes frames that draw nothing; the last one has the given disposal for a rectangle.
    ///
    /// - Parameter skip: the transparent index of the file's palette.
    mutating func hold(
        _ delay: Int, _ rect: ChangedRect, _ disposal: Disposal, skip: UInt8?, _ packer: LZWPacker
    ) throws(CoderError) {
        var left = delay
        repeat {
            try host.checkCancellation()
            let now = min(left, Self.longestDelay)
            left -= now
            let isLast = left == 0 && disposal != .keep
            let rect = isLast ? rect : .pixel
            let index = skip ?? 0
            last = isLast ? nil : (now, written + GIFWriter.delayOffset)
            try write(
                GIFWriter.control(delay: now, disposal: isLast ? disposal : .keep, transparent: index)
                    + GIFWriter.descriptor(rect, colors: skip == nil ? [ColorTable.transparent] : nil))
            var symbols = [UInt8](repeating: index, count: rect.width * rect.height)
            let bits = max(2, FramePalette.bits(Int(index) + 1))
            packer.start(minimumCodeSize: bits, patience: nil, window: 512, common: index)
            packer.pack(&symbols, to: symbols.count, PixelChoices.none())
            packer.finish()
            try write(packer.take())
        } while left > 0
    }

    /// Writes the colors of later frames into the global palette.
    func end(_ table: ColorTable) throws(CoderError) {
        try sink.overwrite(GIFWriter.palette(table.colors, bits: globalBits), at: GIFWriter.paletteOffset)
    }
}
