import CCoderPlugin
import HostSystem
import ImageModel

extension PixelFormat {
    /// Converts a format returned by a plugin; nil if this version does not know it.
    init?(_ raw: cpi_pixel_format) {
        guard raw.count == 0, raw.layout == CPI_LAYOUT_INTERLEAVED, raw.reserved == 0,
            let channels = Channels(rawValue: raw.channels), let numeric = Numeric(rawValue: raw.numeric),
            let alpha = Alpha(rawValue: raw.alpha), channels.hasAlpha == (alpha != .none)
        else { return nil }
        self.init(channels, bits: Int(raw.bits), numeric: numeric, alpha: alpha)
        if !isValid { return nil }
    }

    var contract: cpi_pixel_format {
        cpi_pixel_format(
            channels: channels.rawValue, numeric: numeric.rawValue, bits: UInt8(bits), alpha: alpha.rawValue,
            count: 0, layout: CPI_LAYOUT_INTERLEAVED, reserved: 0)
    }
}

extension PixelRect {
    init(_ raw: cpi_rect) {
        self.init(x: Int(raw.x), y: Int(raw.y), width: Int(raw.width), height: Int(raw.height))
    }

    var contract: cpi_rect {
        cpi_rect(
            x: Int32(clamping: x), y: Int32(clamping: y), width: UInt32(clamping: width),
            height: UInt32(clamping: height))
    }
}

extension OptionValue {
    /// Returns the representation of an option for a plugin; bytes for text and binary values.
    ///
    /// - Parameter isChoice: Whether the schema lists the allowed values of a text option.
    func contractParts(isChoice: Bool) -> (type: UInt32, integer: Int64, real: Double, bytes: [UInt8]?) {
        switch self {
        case .bool(let flag): (CPI_OPTION_BOOL, flag ? 1 : 0, flag ? 1 : 0, nil)
        case .integer(let number): (CPI_OPTION_I64, number, Double(number), nil)
        case .real(let number): (CPI_OPTION_F64, Int64(exactly: number.rounded()) ?? 0, number, nil)
        case .string(let text): (isChoice ? CPI_OPTION_ENUM : CPI_OPTION_STRING, 0, 0, Array(text.utf8))
        case .bytes(let bytes): (CPI_OPTION_BYTES, 0, 0, bytes)
        }
    }
}

extension ImageInfo {
    /// Converts the image properties returned by a plugin.
    ///
    /// - Parameter native: The format to use for `raw.native`.
    /// - Throws: `.unsupportedFeature` if a value requires a newer host, `.pluginFault` for values that the contract
    ///   does not define.
    init(_ raw: cpi_image_info, native: PixelFormat) throws(CoderError) {
        try raw.requireUnderstood()
        let flags = raw.flags
        let color = ColorDescription(raw)
        let loops: LoopCount =
            switch raw.loop_kind {
            case CPI_LOOPS_COUNT: .plays(Int(clamping: raw.loop_count))
            case CPI_LOOPS_INFINITE: .infinite
            case CPI_LOOPS_UNKNOWN: .unknown
            default: throw .undefined("loop_kind", raw.loop_kind)
            }
        let density: PixelDensity? =
            switch raw.density_unit {
            case CPI_DENSITY_METER: .perMeter(x: raw.density_x, y: raw.density_y)
            case CPI_DENSITY_ASPECT: .aspect(x: raw.density_x, y: raw.density_y)
            case CPI_DENSITY_NONE: nil
            default: throw .undefined("density_unit", raw.density_unit)
            }
        guard let regionCost = RegionCost(rawValue: raw.region_cost) else {
            throw .undefined("region_cost", raw.region_cost)
        }
        let orientation = Orientation(rawValue: Int(raw.orientation))
        if orientation == nil, raw.orientation != 0 { throw .undefined("orientation", raw.orientation) }
        let background = raw.background
        self.init(
            size: PixelSize(Int(raw.width), Int(raw.height)), nativeFormat: native,
            bitDepth: min(64, Int(raw.bit_depth)), hasAlpha: flags & CPI_IMAGE_HAS_ALPHA != 0,
            orientation: orientation,
            orientationApplied: flags & CPI_IMAGE_ORIENTATION_APPLIED != 0,
            frameCount: raw.frame_count > 0 ? Int(raw.frame_count) : nil, loopCount: loops,
            isAnimated: flags & CPI_IMAGE_ANIMATED != 0, isLossy: flags & CPI_IMAGE_LOSSY != 0, color: color,
            density: density,
            background: flags & CPI_IMAGE_HAS_BACKGROUND != 0
                ? RGBAColor(red: background.0, green: background.1, blue: background.2, alpha: background.3) : nil,
            hasItems: flags & CPI_IMAGE_ITEMS != 0, decodesRows: flags & CPI_IMAGE_ROWS != 0 && raw.frame_count == 1,
            isScalable: flags & CPI_IMAGE_SCALABLE != 0,
            tileSize: raw.tile_width > 0 && raw.tile_height > 0
                ? PixelSize(Int(raw.tile_width), Int(raw.tile_height)) : nil,
            regionCost: regionCost)
    }

    var contract: cpi_image_info {
        var raw = cpi_image_info()
        raw.size = UInt32(MemoryLayout<cpi_image_info>.size)
        raw.width = UInt32(clamping: size.width)
        raw.height = UInt32(clamping: size.height)
        raw.orientation = UInt32(orientation?.rawValue ?? 0)
        raw.bit_depth = UInt32(clamping: bitDepth)
        raw.frame_count = UInt32(clamping: frameCount ?? 0)
        raw.native = nativeFormat.contract
        raw.tile_width = UInt32(clamping: tileSize?.width ?? 0)
        raw.tile_height = UInt32(clamping: tileSize?.height ?? 0)
        raw.region_cost = regionCost.rawValue
        if hasItems { raw.flags |= CPI_IMAGE_ITEMS }
        if isScalable { raw.flags |= CPI_IMAGE_SCALABLE }
        if hasAlpha { raw.flags |= CPI_IMAGE_HAS_ALPHA }
        if orientationApplied { raw.flags |= CPI_IMAGE_ORIENTATION_APPLIED }
        if isLossy { raw.flags |= CPI_IMAGE_LOSSY }
        if isAnimated { raw.flags |= CPI_IMAGE_ANIMATED }
        switch loopCount {
        case .unknown: raw.loop_kind = CPI_LOOPS_UNKNOWN
        case .plays(let count):
            raw.loop_kind = CPI_LOOPS_COUNT
            raw.loop_count = UInt64(clamping: count)
        case .infinite: raw.loop_kind = CPI_LOOPS_INFINITE
        }
        color.fill(&raw)
        switch density {
        case .perMeter(let x, let y): (raw.density_unit, raw.density_x, raw.density_y) = (CPI_DENSITY_METER, x, y)
        case .aspect(let x, let y): (raw.density_unit, raw.density_x, raw.density_y) = (CPI_DENSITY_ASPECT, x, y)
        case nil: raw.density_unit = CPI_DENSITY_NONE
        }
        if let background {
            raw.flags |= CPI_IMAGE_HAS_BACKGROUND
            raw.background = (background.red, background.green, background.blue, background.alpha)
        }
        return raw
    }
}

extension ItemDescription {
    /// The number for `cpi_item.of`.
    var contractOwner: UInt32 { owner.map { UInt32(clamping: $0) } ?? CPI_ITEM_NONE }
}

extension FrameInfo {
    /// Converts a frame returned by a plugin.
    ///
    /// - Throws: the errors of ``ImageInfo``'s initializer.
    init(_ raw: cpi_frame_info) throws(CoderError) {
        try raw.requireUnderstood()
        guard let blend = Blend(rawValue: raw.blend) else { throw .undefined("blend", raw.blend) }
        guard let disposal = Disposal(rawValue: raw.disposal) else { throw .undefined("disposal", raw.disposal) }
        self.init(
            index: Int(raw.index), rect: PixelRect(raw.rect),
            duration: FrameDuration(raw.duration.numerator, over: raw.duration.denominator), blend: blend,
            disposal: disposal, hasAlpha: raw.flags & CPI_FRAME_HAS_ALPHA != 0,
            isIndependent: raw.flags & CPI_FRAME_INDEPENDENT != 0,
            blendsInFixedPoint: raw.flags & CPI_FRAME_FIXED_POINT != 0)
    }

    var contract: cpi_frame_info {
        var raw = cpi_frame_info()
        raw.size = UInt32(MemoryLayout<cpi_frame_info>.size)
        raw.index = UInt32(clamping: index)
        raw.rect = rect.contract
        raw.duration = cpi_rational(numerator: duration.numerator, denominator: duration.denominator)
        raw.blend = blend.rawValue
        raw.disposal = disposal.rawValue
        if hasAlpha { raw.flags |= CPI_FRAME_HAS_ALPHA }
        if isIndependent { raw.flags |= CPI_FRAME_INDEPENDENT }
        return raw
    }
}

extension DecodeLimits {
    var contract: cpi_limits {
        var raw = cpi_limits()
        raw.size = UInt32(MemoryLayout<cpi_limits>.size)
        raw.max_width = UInt32(clamping: maxSide)
        raw.max_height = UInt32(clamping: maxSide)
        raw.max_frames = UInt32(clamping: maxFrames)
        raw.max_pixels = UInt64(clamping: maxPixels)
        raw.max_total_pixels = UInt64(clamping: maxTotalPixels)
        raw.max_source_pixels = UInt64(clamping: maxSourcePixels)
        raw.max_alloc = UInt64(clamping: maxDecodedBytes)
        raw.max_total_alloc = UInt64(clamping: maxDecodedBytes)
        raw.max_metadata_bytes = UInt64(clamping: maxMetadataBytes)
        raw.max_input_bytes = UInt64(clamping: maxInputBytes)
        raw.max_output_bytes = UInt64(clamping: maxOutputBytes)
        raw.max_nesting = UInt32(clamping: maxNesting)
        raw.max_threads = UInt32(clamping: maxThreads)
        raw.max_scans = UInt32(clamping: maxScans)
        raw.max_ratio = UInt32(clamping: maxRatio)
        return raw
    }
}
