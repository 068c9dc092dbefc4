public import CoderPluginKit
public import ImageModel

/// Encodes a still as PNG, in strips of rows that are compressed on the host's threads.
public final class PNGEncoder: RowEncoder {
    private let options: CoderOptions
    private let host: HostServices
    private var info: ImageInfo?
    private var sink: ByteSink?
    private var blobs: [MetadataBlob] = []
    /// The writer of an image that arrives in bands.
    private var strips: RowStrips?
    private var reserved = 0
    private var isWritten = false

    public init(_ session: EncoderSession) throws(CoderError) {
        options = session.options
        host = session.host
    }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let native = info.nativeFormat
        if try PaletteSettings(options).isWanted { return native.hasTransparency ? [.rgba8] : [.rgb8, .rgba8] }
        let isGray = native.channels == .gray || native.channels == .grayAlpha
        var formats = Self.takes(native) ? [native] : []
        for bits in native.bits > 8 ? [16, 8] : [8] {
            let hasAlpha = native.hasTransparency
            if isGray { formats.append(PixelFormat(hasAlpha ? .grayAlpha : .gray, bits: bits)) }
            formats.append(PixelFormat(hasAlpha ? .rgba : .rgb, bits: bits))
            formats.append(PixelFormat(.rgba, bits: bits))
        }
        return formats.enumerated().filter { formats.firstIndex(of: $0.element) == $0.offset }.map(\.element)
    }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        guard !info.size.isEmpty, info.size.width <= Int32.max, info.size.height <= Int32.max else {
            throw .invalidArgument("PNG cannot hold an image of \(info.size) pixels")
        }
        guard Self.takes(info.nativeFormat) else {
            throw CoderError(.misuse, "the encoder did not offer this pixel format")
        }
        if let frames = info.frameCount, frames > 1 {
            throw .unsupported("an animation in a still PNG")
        }
        self.info = info
        self.sink = sink
    }

    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        guard let info, PNGPreamble.carries(blob, of: info) else { return false }
        blobs.append(blob)
        return true
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        guard let info, let sink, surface.size == info.size, surface.format == info.nativeFormat else {
            throw CoderError(.misuse, "the surface does not have the size or format of the image")
        }
        if isWritten { throw .unsupported("a second frame in a still PNG") }
        isWritten = true
        let settings = try PaletteSettings(options)
        if settings.isIdle { host.warn("png.dither has no effect without png.colors or png.quality-range") }
        guard settings.isWanted else { return try write(surface, info, wantsPalette: wantsPalette, to: sink) }
        let needed = surface.size.width.multipliedReportingOverflow(by: 4 * surface.size.height)
        try host.reserve(bytes: needed.overflow ? .max : needed.partialValue)
        switch try ColorReducer(settings, host).reduce(surface) {
        case .unchanged: try write(surface, info, wantsPalette: true, to: sink)
        case .reduced(let copy): try write(Surface(copy), info, wantsPalette: true, to: sink)
        case .trueColor: try write(surface, info, wantsPalette: wantsPalette, to: sink)
        }
        try host.reserve(bytes: -needed.partialValue)
    }

    private var wantsPalette: Bool { options.bool("png.palette") == true }

    private func write(
        _ surface: borrowing Surface, _ info: ImageInfo, wantsPalette: Bool, to sink: ByteSink
    ) throws(CoderError) {
        let effort = try StillEffort(options)
        let compressor = try RowCompressor()
        let chooser = SampleChooser(
            options: options, effort: effort, wantsPalette: wantsPalette, blobs: blobs, host: host)
        let choice = try chooser.choose(for: surface, info, compressor)
        try writePreamble(info, choice, to: sink)
        if isInterlaced {
            try write(surface, choice, effort, by: compressor, to: sink)
        } else {
            let layout = RowStrips.Layout(size: info.size, format: info.nativeFormat, choice: choice)
            let threads = min(host.threadHint, layout.count)
            try strips(layout, effort, lanes: min(Self.stripsPerThread * threads, layout.count), threads, to: sink)
                .write(surface)
        }
        try writeEnd(to: sink)
    }

    /// The strips per thread that are started at a time: a thread that finishes early takes the next.
    private static let stripsPerThread = 4

    public func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int {
        guard let info, let sink, frame.rect == PixelRect(info.size), !isWritten else {
            throw CoderError(.misuse, "the frame does not fit the image")
        }
        let effort = try StillEffort(options)
        let isReduced = try PaletteSettings(options).isWanted
        let chooser = SampleChooser(
            options: options, effort: effort, wantsPalette: wantsPalette || isReduced, blobs: blobs, host: host)
        let choice = try chooser.plain(info.nativeFormat)
        if isInterlaced { throw .refused("an interlaced PNG needs the whole image at once") }
        if chooser.needsWholeImage { throw .refused("these options need the whole image at once") }
        let layout = RowStrips.Layout(size: info.size, format: info.nativeFormat, choice: choice)
        try writePreamble(info, choice, to: sink)
        let threads = min(host.threadHint, layout.count, Self.mostStripsPerBand)
        strips = try strips(layout, effort, lanes: threads, threads, to: sink)
        return layout.rowsPerStrip * threads
    }

    /// Bands stay small on machines with many processors.
    private static let mostStripsPerBand = 4

    public func addRows(_ surface: borrowing Surface) throws(CoderError) {
        guard let strips, let sink, !isWritten else { throw CoderError(.misuse, "no rows were begun") }
        try strips.write(surface)
        guard strips.isComplete else { return }
        self.strips = nil
        isWritten = true
        try writeEnd(to: sink)
    }

    private func strips(
        _ layout: RowStrips.Layout, _ effort: StillEffort, lanes: Int, _ threads: Int, to sink: ByteSink
    ) throws(CoderError) -> RowStrips {
        let total = layout.bytesPerRow.multipliedReportingOverflow(by: layout.size.height)
        let (method, lanes, reserved) = effort.method(
            total: total.overflow ? .max : total.partialValue, ofEach: layout.rowsPerStrip * layout.bytesPerRow,
            lanes: lanes, atLeast: threads, filters: layout.choice.filters, host: host)
        self.reserved = reserved
        return try RowStrips(layout, method, lanes: lanes, host, to: sink)
    }

    private func writePreamble(
        _ info: ImageInfo, _ choice: SampleChooser.Choice, to sink: ByteSink
    ) throws(CoderError) {
        try sink.write(
            PNGPreamble.bytes(
                info, depth: choice.layout.depth, colorType: choice.layout.colorType, isInterlaced: isInterlaced,
                palette: choice.palette?.entries, blobs: blobs, host: host))
    }

    private func writeEnd(to sink: ByteSink) throws(CoderError) {
        if reserved > 0 { try host.reserve(bytes: -reserved) }
        reserved = 0
        try sink.write(bigEndian(0) + Array("IEND".utf8) + bigEndian(chunkChecksum(Array("IEND".utf8))))
    }

    /// Writes the passes of an interlaced image.
    private func write(
        _ surface: borrowing Surface, _ choice: SampleChooser.Choice, _ effort: StillEffort,
        by compressor: RowCompressor, to sink: ByteSink
    ) throws(CoderError) {
        let size = surface.size
        let passes = Adam7.passes(isInterlaced).filter { $0.width(of: size) > 0 && $0.height(of: size) > 0 }
        let total = passes.reduce(0) { sum, pass in
            sum + pass.height(of: size) * choice.layout.bytesPerRow(width: pass.width(of: size))
        }
        let (method, reserved) = effort.method(total: total, filters: choice.filters, host: host)
        self.reserved = reserved
        try compressor.start(
            width: size.width, format: surface.format, isOpaque: !surface.format.hasTransparency,
            layout: choice.layout, palette: choice.palette, effort: method)
        for (number, pass) in passes.enumerated() {
            try compressor.beginPass(first: pass.x, step: pass.dx)
            for first in stride(from: pass.y, to: size.height, by: 64 * pass.dy) {
                try host.checkCancellation()
                let rows = first..<min(first + 64 * pass.dy, size.height)
                try compressor.push(surface, rows: rows, step: pass.dy)
                try compressor.writeChunks("IDAT", to: sink, isLast: false)
                host.progress(number * size.height + rows.upperBound, of: passes.count * size.height)
            }
        }
        try compressor.finish()
        try compressor.writeChunks("IDAT", to: sink, isLast: true)
    }

    private var isInterlaced: Bool { options.bool("png.interlaced") ?? false }

    public func finish() throws(CoderError) {
        guard isWritten else { throw CoderError(.misuse, "the image has no frame") }
    }

    // MARK: Parts

    private static func takes(_ format: PixelFormat) -> Bool {
        guard format.numeric == .unorm, format.alpha != .premultiplied else { return false }
        return switch format.channels {
        case .gray, .grayAlpha, .rgb, .rgba: true
        case .bgra, .cmyk: false
        }
    }
}
