public import CoderPluginKit
public import ImageModel

/// Encodes a still as PNG, row by row from the surface.
public final class PNGEncoder: ImageEncoder {
    private let options: CoderOptions
    private let host: HostServices
    private var info: ImageInfo?
    private var sink: ByteSink?
    private var blobs: [MetadataBlob] = []
    private var isWritten = false

    public init(_ session: EncoderSession) throws(CoderError) {
        options = session.options
        host = session.host
    }

    public func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] {
        let native = info.nativeFormat
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
            throw .invalidArgument("PNG cannot hold a picture of \(info.size) pixels")
        }
        guard Self.takes(info.nativeFormat) else {
            throw CoderError(.misuse, "the pixel format was not offered")
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
            throw CoderError(.misuse, "the surface does not fit the picture")
        }
        if isWritten { throw .unsupported("a second frame in a still PNG") }
        isWritten = true

        let palette = try wantsPalette(surface) ? PNGPalette(of: surface, host: host) : nil
        let writer = try PNGWriter(layout(of: surface, palette: palette), to: sink)
        if let palette { try writer.setPalette(palette.entries, transparent: palette.transparentCount) }
        PNGPreamble.embed(blobs, of: info, into: writer, host: host)
        let passes = try writer.begin()
        var indices = [UInt8](repeating: 0, count: palette == nil ? 0 : info.size.width)
        for pass in 0..<passes {
            for first in stride(from: 0, to: info.size.height, by: 64) {
                try host.checkCancellation()
                let rows = first..<min(first + 64, info.size.height)
                if let palette {
                    for y in rows {
                        palette.indices(ofRow: y, of: surface, into: &indices)
                        try writer.write(indices: indices)
                    }
                } else {
                    try writer.write(rows: rows, of: surface)
                }
                host.progress(pass * info.size.height + rows.upperBound, of: passes * info.size.height)
            }
        }
        try writer.finish()
    }

    public func finish() throws(CoderError) {
        guard isWritten else { throw CoderError(.misuse, "the picture has no frame") }
    }

    // MARK: Parts

    private static func takes(_ format: PixelFormat) -> Bool {
        guard format.numeric == .unorm, format.alpha != .premultiplied else { return false }
        return switch format.channels {
        case .gray, .grayAlpha, .rgb, .rgba: true
        case .bgra, .cmyk: false
        }
    }

    private func wantsPalette(_ surface: borrowing Surface) -> Bool {
        options.bool("png.palette") == true && surface.format.bits == 8
            && (surface.format.channels == .rgb || surface.format.channels == .rgba)
    }

    private func layout(
        of surface: borrowing Surface, palette: PNGPalette?
    ) throws(CoderError) -> PNGWriter.Layout {
        let format = surface.format
        let isColor = format.channels == .rgb || format.channels == .rgba
        let level = options.integer(OptionKey.effort) ?? 6
        guard (0...9).contains(level) else {
            throw .invalidArgument("effort is \(level)", hint: "it goes from 0 to 9")
        }
        let colorType: UInt8 = palette != nil ? 3 : (isColor ? 2 : 0) | (format.hasTransparency ? 4 : 0)
        return PNGWriter.Layout(
            size: surface.size, depth: palette?.depth ?? format.bits, colorType: colorType,
            isInterlaced: options.bool("png.interlaced") ?? false, level: level,
            filters: try filters(hasPalette: palette != nil, isStored: level == 0),
            dropsAlpha: palette == nil && format.alpha == .opaque)
    }

    /// The PNG_FILTER_ bits of png.h.
    private func filters(hasPalette: Bool, isStored: Bool) throws(CoderError) -> UInt8 {
        switch options.string("png.filter") ?? "adaptive" {
        case "none": 0x08
        case "sub": 0x10
        case "up": 0x20
        case "avg": 0x40
        case "paeth": 0x80
        // Filters help neither indices nor stored data (PNG 3rd edition, 12.7).
        case "adaptive": hasPalette || isStored ? 0x08 : 0xF8
        case let name: throw .invalidArgument("png.filter has no value \(name)")
        }
    }
}
