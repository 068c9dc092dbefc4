internal import CoderPluginKit
internal import ImageModel

/// The fields that describe the pixels of an encoded page.
struct PageFields {
    private let info: ImageInfo
    private let settings: EncodeSettings
    private let layout: BlockLayout

    init(_ info: ImageInfo, _ settings: EncodeSettings, _ layout: BlockLayout) {
        self.info = info
        self.settings = settings
        self.layout = layout
    }

    func write(to writer: TIFFWriter) throws(CoderError) {
        let format = info.nativeFormat
        try writer.set(256, info.size.width)
        try writer.set(257, info.size.height)
        try writer.set(258, layout.isBilevel ? 1 : format.bits)
        try writer.set(277, format.channels.count)
        try writer.set(284, 1)
        try writer.set(259, settings.compression.number)
        try writer.set(262, photometric)
        if format.numeric == .float { try writer.set(339, 3) }
        if format.hasTransparency { try writer.setExtraSample(format.alpha == .premultiplied ? 1 : 2) }
        if layout.isTiled {
            try writer.set(322, layout.block.width)
            try writer.set(323, layout.block.height)
        } else {
            try writer.set(278, layout.block.height)
        }
        if let orientation = info.orientation { try writer.set(274, orientation.rawValue) }
        try writeDensity(to: writer)
        try writeCodec(to: writer)
    }

    private var photometric: Int {
        switch info.nativeFormat.channels {
        case .gray, .grayAlpha: layout.isBilevel ? 0 : 1
        case .rgb, .rgba, .bgra: settings.compression == .jpeg ? 6 : 2
        case .cmyk: 5
        }
    }

    private func writeDensity(to writer: TIFFWriter) throws(CoderError) {
        switch info.density {
        case .perMeter(let x, let y):
            try writer.set(296, 2)
            try writer.set(282, real: Self.perInch(x))
            try writer.set(283, real: Self.perInch(y))
        case .aspect(let x, let y):
            try writer.set(296, 1)
            try writer.set(282, real: Double(x))
            try writer.set(283, real: Double(y))
        case nil: break
        }
    }

    /// Returns pixels per inch: a whole number if rounding to meters explains the difference, as 2835 for 72.
    private static func perInch(_ perMeter: UInt32) -> Double {
        let value = Double(perMeter) * 0.0254
        return abs(value - value.rounded()) <= 0.0127 ? value.rounded() : (value * 100).rounded() / 100
    }

    /// Sets the pseudo-fields of the codecs, which are not stored.
    private func writeCodec(to writer: TIFFWriter) throws(CoderError) {
        let isFloat = info.nativeFormat.numeric == .float
        if settings.compression.hasPredictor, settings.predictor { try writer.set(317, isFloat ? 3 : 2) }
        switch settings.compression {
        case .deflate: try writer.set(65_557, settings.level)
        case .zstd: try writer.set(65_564, settings.level)
        case .jpeg:
            try writer.set(65_537, max(1, settings.quality))
            // The library converts RGB to YCbCr.
            if photometric == 6 { try writer.set(65_538, 1) }
        case .webp:
            try writer.set(65_568, max(1, settings.quality))
            if settings.isLossless { try writer.set(65_569, 1) }
        case .none, .lzw, .group4: break
        }
    }
}

/// The fields that carry metadata into an encoded page.
struct MetadataFields {
    private let host: HostServices

    init(_ host: HostServices) { self.host = host }

    func write(_ blobs: [MetadataBlob], orientation: Orientation?, to writer: TIFFWriter) throws(CoderError) {
        for blob in blobs {
            switch blob.kind {
            case .icc: try writer.set(34_675, bytes: blob.bytes)
            case .xmp: try writer.set(700, bytes: blob.bytes)
            case .iptc: try writer.set(33_723, bytes: blob.bytes)
            case .raw: try writer.set(34_377, bytes: blob.bytes)
            case .exif: try writeExif(blob.bytes, orientation: orientation, to: writer)
            case .text: break
            }
        }
    }

    /// Writes the texts of IFD0 as fields of the page, and the Exif and GPS directories behind the header.
    private func writeExif(
        _ bytes: [UInt8], orientation: Orientation?, to writer: TIFFWriter
    ) throws(CoderError) {
        let source = ByteSource(bytes)
        guard let reader = try? DirectoryReader(source), !reader.isBig,
            let directory = reader.first.flatMap(reader.directory)
        else { return host.warn("the Exif data is damaged and is left out") }
        var dropped = 0
        for entry in directory.entries {
            switch entry.tag {
            // Description, make, model, software, date, artist, host computer, copyright.
            case 270, 271, 272, 305, 306, 315, 316, 33_432:
                if entry.type == 2 { try writer.set(entry.tag, text: source.bytes(entry.value)) }
            case ExifBuilder.exif: try writeDirectory(entry, reader, to: writer)
            case ExifBuilder.gps: try writeDirectory(entry, reader, to: writer)
            case 274:
                if orientation == nil, let number = reader.numbers(entry).first, (1...8).contains(number) {
                    try writer.set(274, number)
                }
            // The page has its own density; the rest describes a thumbnail.
            case 256...263, 273, 277...279, 282...284, 296, 513, 514, 529...532: break
            default: dropped += 1
            }
        }
        if dropped > 0 { host.warn("\(dropped) field\(dropped == 1 ? "" : "s") of Exif IFD0 left out") }
        if directory.next != nil { host.warn("the thumbnail in Exif is left out") }
    }

    private func writeDirectory(
        _ entry: Directory.Entry, _ reader: DirectoryReader, to writer: TIFFWriter
    ) throws(CoderError) {
        guard let inner = reader.numbers(entry).first.flatMap(reader.directory) else {
            return host.warn("the directory \(entry.tag) of Exif is damaged and is left out")
        }
        // Later pages have the byte order of the first one.
        func value(_ field: Directory.Entry) -> [UInt8] {
            let bytes = reader.source.bytes(field.value)
            return reader.isBigEndian == writer.isBigEndian ? bytes : Directory.swapped(bytes, type: field.type)
        }
        func fields(_ directory: Directory) -> [DirectoryWriter.Field] {
            directory.entries.map { field in
                if field.tag == ExifBuilder.interoperability,
                    let below = reader.numbers(field).first.flatMap(reader.directory)
                {
                    return DirectoryWriter.Field(
                        field.tag,
                        below.entries.map {
                            DirectoryWriter.Field($0.tag, type: $0.type, value($0))
                        })
                }
                return DirectoryWriter.Field(field.tag, type: field.type, value(field))
            }
        }
        let place = writer.end
        let order = DirectoryWriter(isBigEndian: writer.isBigEndian, isBig: writer.isBig)
        try writer.append(order.bytes(of: fields(inner), at: place))
        try writer.set(entry.tag, offset: place)
    }
}
