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
        let isCarried =
            switch blob.kind {
            case .icc: !blob.bytes.isEmpty
            case .exif: blob.bytes.count >= 8
            case .xmp: Self.isPlainText(blob.bytes)
            case .text: blob.key.map(Self.isKeyword) ?? false && Self.isPlainText(blob.bytes)
            // What the file said of its colours is true as long as nothing else is said of them.
            case .raw:
                info?.color == ColorDescription()
                    && (blob.key == "gAMA" && blob.bytes.count == 4 || blob.key == "cHRM" && blob.bytes.count == 32)
            case .iptc: false
            }
        if isCarried { blobs.append(blob) }
        return isCarried
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
        embed(info, into: writer)
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

    private func embed(_ info: ImageInfo, into writer: PNGWriter) {
        var hasProfile = false
        for blob in blobs {
            let text = String(decoding: blob.bytes, as: UTF8.self)
            let isTaken =
                switch blob.kind {
                case .icc: writer.setProfile(blob.bytes)
                case .exif: writer.setExif(blob.bytes)
                // Readers look for the packet with their eyes shut, so it stays readable (XMP part 3, 1.1.5).
                case .xmp: writer.addText(PNGMetadata.xmpKeyword, text, isUTF8: true, isCompressed: false)
                case .text:
                    writer.addText(
                        blob.key ?? "", text, isUTF8: !blob.bytes.allSatisfy { $0 < 0x80 },
                        isCompressed: blob.bytes.count > 1024)
                case .raw: writer.addChunk(blob.key ?? "", blob.bytes)
                case .iptc: false
                }
            if blob.kind == .icc { hasProfile = isTaken }
            if !isTaken { host.warn("metadata of the kind \(blob.kind) was left out: it does not fit this picture") }
        }
        embedColor(info.color, into: writer, hasProfile: hasProfile)
        switch info.density {
        case .perMeter(let x, let y): _ = writer.setDensity(x: x, y: y, isMeter: true)
        case .aspect(let x, let y): _ = writer.setDensity(x: x, y: y, isMeter: false)
        case nil: break
        }
    }

    private func embedColor(_ color: ColorDescription, into writer: PNGWriter, hasProfile: Bool) {
        guard let points = color.codePoints, !hasProfile || color.prefersCodePoints else { return }
        if points == .sRGB, !hasProfile {
            _ = writer.setSRGB()
            return
        }
        // The samples of PNG are RGB of full range, whatever they were before (PNG 3rd edition, 11.3.2.6).
        _ = writer.addChunk("cICP", [points.primaries, points.transfer, 0, 1])
    }

    /// Whether it can be a keyword: 1 … 79 printable letters without spaces around (PNG 3rd edition, 11.3.3.1).
    private static func isKeyword(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        return (1...79).contains(bytes.count) && bytes.allSatisfy { (0x20...0x7E).contains($0) }
            && bytes.first != 0x20 && bytes.last != 0x20
    }

    private static func isPlainText(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }
}
