public import HostSystem
public import ImageModel
import ImageProcessing

extension CodersManager {
    /// Encodes a still while its rows are decoded. If the encoder accepts bands, memory does not grow with the image
    /// height. The output is the same as for the whole image.
    ///
    /// - Returns: the coder, and warnings about the output.
    @discardableResult
    public func encode(
        _ image: RowImage, to format: ImageFormat, _ options: EncodeOptions, into sink: any OutputSink
    ) throws(CoderError) -> EncodeReport {
        let needsWhole = options.maxPixelSize != nil || options.maxFileSize != nil || options.embedsThumbnail
        if needsWhole { return try encode(try image.whole(), to: format, options, into: sink) }
        return try encode(.rows(image), to: format, coding(options, for: format), options, into: sink)
    }
}

/// The input of an encoder: a whole image or rows.
enum EncodingContent {
    case whole(DecodedImage)
    case rows(RowImage)

    /// The properties of the pixels, and the metadata.
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

    /// Returns the whole image in memory.
    func whole() throws(CoderError) -> DecodedImage {
        switch self {
        case .whole(let image): image
        case .rows(let image): try image.whole()
        }
    }
}

extension EncodingContent {
    /// Writes the image with an encoder; `finish`, or a further image, must follow.
    func write(
        with encoder: any FrameEncoder, _ coder: CoderDescriptor, _ wishes: EncodeOptions, _ context: SessionContext,
        _ sink: any OutputSink
    ) throws(CoderError) {
        let (facts, metadata) = facts
        let plan = try EncodingPlan(facts, metadata, encoder, coder, context, wishes)
        let frame = FrameInfo(index: 0, rect: PixelRect(plan.info.size), hasAlpha: plan.info.hasAlpha)
        var hasBegun = false
        if case .rows(let rows) = self, plan.keepsPlaces {
            try plan.begin(encoder, sink)
            hasBegun = true
            if let multiple = try encoder.beginRows(frame) {
                return try BandPipeline(rows.rows, multiple: multiple, to: encoder, plan, context).run()
            }
        }
        let image = try whole()
        try context.holding(pixelBytes: plan.byteCount(with: image.pixels)) { () throws(CoderError) in
            let pixels = try plan.prepared(image.pixels)
            if !hasBegun { try plan.begin(encoder, sink) }
            if wishes.embedsThumbnail, try !encoder.addThumbnail(try plan.thumbnail(of: pixels)) {
                context.warn("the format cannot store a thumbnail: it is left out")
            }
            try encoder.add(frame, pixels: pixels)
        }
    }
}

extension RowImage {
    /// Returns the whole image in memory.
    func whole() throws(CoderError) -> DecodedImage {
        return DecodedImage(info: info, pixels: try rows.collected(), metadata: metadata, format: format, coder: coder)
    }
}
