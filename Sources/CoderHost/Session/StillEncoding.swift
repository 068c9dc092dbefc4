import ImageModel

/// The way of one picture into an encoder: pixel format, orientation, metadata.
struct StillEncoding {
    private let image: DecodedImage
    private let coder: CoderDescriptor
    private let context: SessionContext

    init(_ image: DecodedImage, _ coder: CoderDescriptor, _ context: SessionContext) {
        self.image = image
        self.coder = coder
        self.context = context
    }

    func run(_ encoder: any FrameEncoder, _ sink: any OutputSink) throws(CoderError) {
        var info = image.info
        info.nativeFormat = image.pixels.format
        info.frameCount = 1
        info.isAnimated = false
        info.loopCount = .unknown
        info.thumbnailCount = 0

        let accepted = try encoder.acceptedFormats(for: info)
        let format = accepted.contains(info.nativeFormat) ? info.nativeFormat : accepted[0]
        if info.nativeFormat.hasTransparency && !format.channels.hasAlpha && info.hasAlpha {
            context.warn("the format has no alpha: the picture is put on white")
        }
        if image.pixels.format.bits > format.bits {
            context.warn("samples of \(image.pixels.format.bits) bits become \(format.bits) bits")
        }
        let isGray = image.pixels.format.channels == .gray || image.pixels.format.channels == .grayAlpha
        if !isGray && (format.channels == .gray || format.channels == .grayAlpha) {
            context.warn("the format has no colours: the picture becomes gray")
        }
        var pixels = try PixelConverter.convert(image.pixels, to: format)

        // A format that can say so keeps the orientation; for any other the pixels are turned, once.
        let pending = info.orientationApplied ? Orientation.up : info.orientation ?? .up
        let keepsOrientation =
            coder.carries.contains("orientation") && coder.carries.contains("exif")
            && image.metadata.contains { $0.kind == .exif && ExifOrientation.read($0.bytes) == pending }
        var orientationOfBlob: Orientation?
        if pending != .up && !keepsOrientation {
            pixels = try PixelConverter.upright(pixels, pending)
            orientationOfBlob = .up
        } else if info.orientationApplied {
            orientationOfBlob = .up
        }
        info.size = pixels.size
        info.orientation = keepsOrientation ? pending : .up
        info.orientationApplied = true
        info.nativeFormat = format
        if !format.hasTransparency { info.hasAlpha = false }

        let blobs = suitable(for: format, orientation: orientationOfBlob)
        info.color.hasProfile = blobs.contains { $0.kind == .icc }
        try encoder.begin(info, to: sink)
        for blob in blobs {
            if try !encoder.add(blob), blob.kind != .text && blob.kind != .raw {
                context.warn("the format cannot carry \(blob.kind) metadata: it is left out")
            }
        }
        try encoder.add(
            FrameInfo(index: 0, rect: PixelRect(pixels.size), hasAlpha: info.hasAlpha), pixels: pixels)
        try encoder.finish()
    }

    /// Metadata that still holds for the pixels as they are written.
    private func suitable(for format: PixelFormat, orientation: Orientation?) -> [MetadataBlob] {
        var result: [MetadataBlob] = []
        for blob in image.metadata {
            var blob = blob
            switch blob.kind {
            case .exif:
                if let orientation { blob.bytes = ExifOrientation.replacing(blob.bytes, with: orientation) }
            case .xmp:
                if let orientation { blob.bytes = XMPOrientation.replacing(blob.bytes, with: orientation) }
            case .icc:
                if let model = Self.colorModel(ofProfile: blob.bytes), model != Self.colorModel(of: format) {
                    context.warn("the \(model) profile does not fit the written pixels: it is left out")
                    continue
                }
            default: break
            }
            result.append(blob)
        }
        return result
    }

    /// The data colour space of an ICC profile.
    ///
    /// - Source: ICC.1, profile header, bytes 16 … 19.
    private static func colorModel(ofProfile profile: [UInt8]) -> String? {
        guard profile.count >= 128 else { return nil }
        return String(decoding: profile[16..<20], as: UTF8.self).filter { !$0.isWhitespace }
    }

    private static func colorModel(of format: PixelFormat) -> String {
        switch format.channels {
        case .gray, .grayAlpha: "GRAY"
        case .cmyk: "CMYK"
        case .rgb, .rgba, .bgra: "RGB"
        }
    }
}
