internal import CCoderPlugin
internal import ImageModel

extension ImageInfo {
    /// Reads the image facts that a host passes to an encoder.
    ///
    /// - Throws: `.misuse` if they are invalid.
    @unsafe
    init(_ pointer: UnsafePointer<cpi_image_info>) throws(CoderError) {
        let raw = unsafe try copyIn(pointer, least: FirstSize.imageInfo)
        let size = PixelSize(Int(raw.width), Int(raw.height))
        guard !size.isEmpty, let native = PixelFormat(raw.native) else {
            throw CoderError(.misuse, "the host described an invalid image")
        }
        let loopCount: LoopCount =
            switch raw.loop_kind {
            case CPI_LOOPS_COUNT: .plays(Int(clamping: raw.loop_count))
            case CPI_LOOPS_INFINITE: .infinite
            default: .unknown
            }
        let density: PixelDensity? =
            switch raw.density_unit {
            case CPI_DENSITY_METER: .perMeter(x: raw.density_x, y: raw.density_y)
            case CPI_DENSITY_ASPECT: .aspect(x: raw.density_x, y: raw.density_y)
            default: nil
            }
        let background = RGBAColor(
            red: raw.background.0, green: raw.background.1, blue: raw.background.2, alpha: raw.background.3)
        self.init(
            size: size, nativeFormat: native, bitDepth: Int(raw.bit_depth),
            hasAlpha: raw.flags.has(CPI_IMAGE_HAS_ALPHA),
            orientation: Orientation(rawValue: Int(raw.orientation)),
            orientationApplied: raw.flags.has(CPI_IMAGE_ORIENTATION_APPLIED),
            frameCount: raw.frame_count > 0 ? Int(raw.frame_count) : nil,
            loopCount: loopCount, isAnimated: raw.flags.has(CPI_IMAGE_ANIMATED),
            isLossy: raw.flags.has(CPI_IMAGE_LOSSY),
            color: ColorDescription(raw), density: density,
            background: raw.flags.has(CPI_IMAGE_HAS_BACKGROUND) ? background : nil,
            hasItems: raw.flags.has(CPI_IMAGE_ITEMS), decodesRows: raw.flags.has(CPI_IMAGE_ROWS),
            isScalable: raw.flags.has(CPI_IMAGE_SCALABLE),
            tileSize: raw.tile_width > 0 ? PixelSize(Int(raw.tile_width), Int(raw.tile_height)) : nil,
            regionCost: RegionCost(rawValue: raw.region_cost) ?? .whole)
    }

    /// Returns the facts as a C struct.
    ///
    /// - Throws: `.pluginFault` if a decoder reports invalid facts.
    func raw() throws(CoderError) -> cpi_image_info {
        guard !size.isEmpty, let width = UInt32(exactly: size.width), let height = UInt32(exactly: size.height),
            nativeFormat.isValid, let frames = UInt32(exactly: frameCount ?? 0)
        else { throw CoderError(.pluginFault, "the decoder reports an image of \(size) pixels") }
        var raw = cpi_image_info()
        raw.width = width
        raw.height = height
        raw.native = nativeFormat.raw
        raw.orientation = UInt32(orientation?.rawValue ?? 0)
        raw.bit_depth = UInt32(clamping: bitDepth)
        raw.frame_count = frames
        raw.flags.set(CPI_IMAGE_HAS_ALPHA, if: hasAlpha)
        raw.flags.set(CPI_IMAGE_ORIENTATION_APPLIED, if: orientationApplied)
        raw.flags.set(CPI_IMAGE_LOSSY, if: isLossy)
        raw.flags.set(CPI_IMAGE_ANIMATED, if: isAnimated)
        raw.flags.set(CPI_IMAGE_ROWS, if: decodesRows)
        raw.flags.set(CPI_IMAGE_ITEMS, if: hasItems)
        raw.flags.set(CPI_IMAGE_SCALABLE, if: isScalable)
        switch loopCount {
        case .unknown: raw.loop_kind = CPI_LOOPS_UNKNOWN
        case .infinite: raw.loop_kind = CPI_LOOPS_INFINITE
        case .plays(let count):
            raw.loop_kind = CPI_LOOPS_COUNT
            raw.loop_count = UInt64(clamping: count)
        }
        switch density {
        case nil: raw.density_unit = CPI_DENSITY_NONE
        case .perMeter(let x, let y): (raw.density_unit, raw.density_x, raw.density_y) = (CPI_DENSITY_METER, x, y)
        case .aspect(let x, let y): (raw.density_unit, raw.density_x, raw.density_y) = (CPI_DENSITY_ASPECT, x, y)
        }
        if let background {
            raw.flags.set(CPI_IMAGE_HAS_BACKGROUND, if: true)
            raw.background = (background.red, background.green, background.blue, background.alpha)
        }
        raw.tile_width = UInt32(clamping: tileSize?.width ?? 0)
        raw.tile_height = UInt32(clamping: tileSize?.height ?? 0)
        raw.region_cost = regionCost.rawValue
        color.fill(&raw)
        return raw
    }
}
