public import ImageModel
import ImageProcessing

extension CodersManager {
    /// Encodes a still whose rows are decoded meanwhile, in memory that does not grow with its height where the encoder
    /// takes bands. The output is the same as that of the whole image.
    ///
    /// - Returns: what was off although the output is usable.
    @discardableResult
    public func encode(
        _ image: RowImage, to format: ImageFormat, _ options: EncodeOptions, into sink: any OutputSink
    ) throws(CoderError) -> EncodeReport {
        let needsWhole = options.maxPixelSize != nil || options.maxFileSize != nil || options.embedsThumbnail
        if needsWhole { return try encode(try image.whole(), to: format, options, into: sink) }
        return try encode(.rows(image), to: format, coding(options, for: format), options, into: sink)
    }
}

/// What an encoder is handed.
enum EncodingContent {
    case whole(DecodedImage)
    case rows(RowImage)

    /// The facts of the pixels, and what stands beside them.
    var facts: (info: ImageInfo, metadata: [MetadataBlob]) {
        var (info, metadata) =
            switch self {
            case .whole(let image): (image.info, image.metadata)
            case .rows(let image): (image.info, image.metadata)
            }
        if case .whole(let image) = self { (info.size, info.nativeFormat) = (image.pixels.size, image.pixels.format) }
        info.frameCount = 1
        info.isAnimated = false
        info.loopCount = .unknown
        return (info, metadata)
    }

    /// The image in memory as a whole.
    func whole() throws(CoderError) -> DecodedImage {
        switch self {
        case .whole(let image): image
        case .rows(let image): try image.whole()
        }
    }
}

extension RowImage {
    /// The image in memory as a whole.
    func whole() throws(CoderError) -> DecodedImage {
        let pixels = try PixelBufferPool.shared.take(rows.size, rows.format, clean: false)
        for y in 0..<rows.size.height {
            try rows.withRow(y) { row throws(CoderError) in pixels.withMutableRow(y) { $0.copy(row) } }
        }
        return DecodedImage(info: info, pixels: pixels, metadata: metadata, format: format, coder: coder)
    }
}
