import HostSystem
import ImageModel
import ImageProcessing
import PluginRuntime

/// Prepares images for an encoder: pixel format, orientation, metadata.
struct EncodingPlan {
    /// The properties of the output.
    let info: ImageInfo
    private let blobs: [MetadataBlob]
    /// The orientation to apply to the pixels because the format cannot store it.
    private let turn: Orientation
    /// The colors to convert to sRGB because the output does not describe them.
    private let undescribed: ColorProfile?
    private let context: SessionContext
    private let transfer: TextTransfer
    /// The kinds of metadata that the format can hold.
    private let carries: Set<String>
    /// The color behind transparent pixels if the format has no alpha.
    private let background: RGBAColor

    /// Creates a plan.
    ///
    /// - Parameters:
    ///   - facts: the properties of the images, with the size and format of their pixels.
    ///   - wishes: the background and the dynamic range.
    init(
        _ facts: ImageInfo, _ metadata: [MetadataBlob], _ encoder: any FrameEncoder, _ coder: CoderDescriptor,
        _ context: SessionContext, _ wishes: EncodeOptions
    ) throws(CoderError) {
        let background = wishes.background
        var info = facts
        info.hasItems = false
        let accepted = try encoder.acceptedFormats(for: info)
        let format = accepted.contains(info.nativeFormat) ? info.nativeFormat : accepted[0]
        Self.warn(of: info, becoming: format, background, context)

        // A format that supports it stores the orientation; for other formats, the pixels are turned.
        let pending = info.orientationApplied ? Orientation.up : info.orientation ?? .up
        let keepsOrientation = coder.storesOrientation(pending, metadata)
        turn = keepsOrientation ? .up : pending
        let orientationOfBlob: Orientation? = turn != .up || info.orientationApplied ? .up : nil
        if turn.swapsSides { info.size = info.size.transposed }
        info.orientation = keepsOrientation ? pending : .up
        info.orientationApplied = true
        info.nativeFormat = format
        if !format.hasTransparency { info.hasAlpha = false }

        undescribed = OutputColors(facts, metadata, becoming: format, coder).toConvert(wishes.dynamicRange, context)
        var metadata = metadata
        if undescribed != nil {
            metadata.removeAll { $0.kind == .icc }
            info.color = ColorDescription(codePoints: .sRGB)
        }
        metadata = metadata + Self.profile(of: info, metadata, coder, context)
        blobs = Self.suitable(metadata, for: format, orientation: orientationOfBlob, context)
        info.color.hasProfile = blobs.contains { $0.kind == .icc }
        self.info = info
        self.context = context
        transfer = TextTransfer(to: coder)
        carries = coder.output.carries
        self.background = background
    }

    /// Whether no pixel moves, so that rows can be prepared separately.
    var keepsPlaces: Bool { turn == .up }

    func begin(_ encoder: any FrameEncoder, _ sink: any OutputSink) throws(CoderError) {
        try encoder.begin(info, to: sink)
        var refused: Set<MetadataBlob.Kind> = []
        func refuse(_ kind: MetadataBlob.Kind) {
            // A raw blob belongs to one format and is meaningless in others.
            if kind != .raw, refused.insert(kind).inserted {
                // A format that stores a kind may still have no place for a certain text.
                let isInvalid = kind != .text && carries.contains("\(kind)")
                let reason = isInvalid ? "the encoder rejects the" : "the format cannot store"
                context.warn("\(reason) \(kind) metadata: it is left out")
            }
        }
        var transfer = self.transfer
        for blob in blobs where blob.kind != .xmp {
            if try !encoder.add(blob), !transfer.take(blob) { refuse(blob.kind) }
        }
        // The packet comes last: it takes texts that have no other place.
        var packets = blobs.filter { $0.kind == .xmp }
        let original = packets.first
        if !transfer.isEmpty {
            let merged = transfer.merged(into: original)
            if try encoder.add(merged) {
                packets = Array(packets.dropFirst())
            } else {
                refuse(.text)
            }
        }
        for packet in packets where try !encoder.add(packet) { refuse(.xmp) }
        transfer.warn(context)
    }

    /// Returns the pixels in the form that the encoder accepts.
    func prepared(_ pixels: PixelBuffer) throws(CoderError) -> PixelBuffer {
        let colors = try colored(pixels)
        let converted = try PixelConverter.convert(colors, to: info.nativeFormat, background: background)
        return turn == .up ? converted : try PixelConverter.upright(converted, turn)
    }

    /// Returns pixels in the color space of the output.
    private func colored(_ pixels: PixelBuffer) throws(CoderError) -> PixelBuffer {
        guard let undescribed else { return pixels }
        // Frames may differ in their format. Fewer bits are rounded once, not before the conversion.
        let (source, bits) = (pixels.format, info.nativeFormat.bits)
        let isNarrower = source.numeric == .unorm && bits < source.bits
        var target = isNarrower ? PixelFormat(source.channels, bits: bits, alpha: source.alpha) : source
        if source.channels == .cmyk { target = PixelFormat(.rgb, bits: target.bits) }
        let transform = try ColorTransformCache.shared.transform(from: undescribed, source, to: .sRGB, target)
        return try transform.convert(pixels)
    }

    /// Returns the bytes of an image and of the copies made by ``prepared(_:)``.
    func byteCount(with pixels: PixelBuffer) throws(CoderError) -> Int {
        let copy = try PixelBuffer.layout(size: info.size, format: info.nativeFormat).byteCount
        // Inks are converted only once.
        let tones = undescribed == nil || pixels.format.channels == .cmyk ? 0 : max(copy, pixels.byteCount)
        if pixels.format == info.nativeFormat, turn == .up { return pixels.byteCount + tones }
        // An image that is converted and turned is copied twice.
        let isConverted = pixels.format != info.nativeFormat
        return pixels.byteCount + copy * (isConverted && turn != .up ? 2 : 1) + tones
    }

    /// The longest side of an embedded thumbnail, as in SDWebImage's encoders.
    private static let thumbnailSide = 320

    /// Returns a thumbnail of prepared pixels.
    func thumbnail(of pixels: PixelBuffer) throws(CoderError) -> PixelBuffer {
        let size = pixels.size.scaled(to: PixelSize(Self.thumbnailSide, Self.thumbnailSide))
        let small = size == pixels.size ? pixels : try Resampler.resample(BufferRows(pixels), to: size)
        let isGray = [.gray, .grayAlpha].contains(small.format.channels)
        return try PixelConverter.convert(small, to: isGray ? .gray8 : .rgb8, background: background)
    }

    /// Returns a profile for colors that the format cannot describe in another way.
    private static func profile(
        of info: ImageInfo, _ metadata: [MetadataBlob], _ coder: CoderDescriptor, _ context: SessionContext
    ) -> [MetadataBlob] {
        let colors = ColorProfile(of: info, metadata: metadata)
        switch colors {
        case .assumed, .sRGB, .icc: return []
        case .codePoints where coder.output.carries.contains("code-points"): return []
        case .calibrated where coder.output.carries.contains("gamma"): return []
        case .codePoints, .calibrated: break
        }
        let isGray = [.gray, .grayAlpha].contains(info.nativeFormat.channels)
        if coder.output.carries.contains("icc"), let bytes = colors.iccBytes(isGray: isGray) {
            return [MetadataBlob(.icc, bytes)]
        }
        context.warn("the format cannot store the color space \(colors): colors will look different, unless sRGB")
        return []
    }

    /// Warns about properties of the pixels that cannot be kept.
    private static func warn(
        of info: ImageInfo, becoming format: PixelFormat, _ background: RGBAColor, _ context: SessionContext
    ) {
        let native = info.nativeFormat
        if native.hasTransparency && !format.channels.hasAlpha && info.hasAlpha {
            let place = background == .white ? "white" : background == .black ? "black" : "the background"
            context.warn("the format has no alpha: the image is drawn over \(place)")
        }
        if native.bits > format.bits {
            context.warn("samples of \(native.bits) bits become \(format.bits) bits")
        }
        let isGray = native.channels == .gray || native.channels == .grayAlpha
        if !isGray && (format.channels == .gray || format.channels == .grayAlpha) {
            context.warn("the format has no colors: the image becomes gray")
        }
    }

    /// Returns the metadata that is valid for the written pixels.
    private static func suitable(
        _ metadata: [MetadataBlob], for format: PixelFormat, orientation: Orientation?, _ context: SessionContext
    ) -> [MetadataBlob] {
        var budget = MetadataBudget(context.limits)
        var result: [MetadataBlob] = []
        for blob in metadata {
            var blob = blob
            switch blob.kind {
            case .exif:
                if let orientation { blob.bytes = ExifOrientation.replacing(blob.bytes, with: orientation) }
            case .xmp:
                if let orientation { blob.bytes = XMPOrientation.replacing(blob.bytes, with: orientation) }
                blob.bytes = aboutOneImage(XMPPadding.removing(blob.bytes), context)
            case .icc:
                if !format.fits(profile: blob.bytes) {
                    let model = ProfileHeader.modelName(of: blob.bytes) ?? "color"
                    context.warn("the \(model) profile does not fit the written pixels: it is left out")
                    continue
                }
            default: break
            }
            let keyBytes = blob.key?.utf8.count ?? 0
            if let reason = budget.refusal(of: "\(blob.kind)", bytes: blob.bytes.count, keyBytes: keyBytes) {
                context.warn(reason)
                continue
            }
            result.append(blob)
        }
        return result
    }

    /// Returns an XMP packet without properties of a gain map and other further images.
    ///
    /// The host does this, not a coder: XMP is the same in every format, and an encoder always writes one image, so
    /// these properties would always point to nothing. Files that are copied or rewritten with their images keep them.
    private static func aboutOneImage(_ packet: [UInt8], _ context: SessionContext) -> [UInt8] {
        let rest = XMPFurtherImages.removing(packet)
        if rest != packet {
            context.warn(
                "the XMP describes a gain map or other images, which the output does not hold: "
                    + "these properties are left out")
        }
        return rest
    }
}
