import CCoderPlugin
import ImageModel

extension ColorDescription {
    init(_ info: cpi_image_info) {
        let flags = info.color.flags
        self.init(
            hasProfile: flags.has(CPI_COLOR_HAS_ICC), prefersCodePoints: flags.has(CPI_COLOR_PREFER_CICP),
            gamma: flags.has(CPI_COLOR_HAS_GAMMA) ? info.gamma : nil,
            primaries: flags.has(CPI_COLOR_HAS_CHROMATICITIES) ? PrimaryPoints(info.chromaticities) : nil)
        if flags.has(CPI_COLOR_HAS_CICP) {
            codePoints = CodePoints(
                primaries: info.color.primaries, transfer: info.color.transfer, matrix: info.color.matrix,
                isFullRange: info.color.full_range != 0)
        }
        if flags.has(CPI_COLOR_HAS_MASTERING) {
            mastering = MasteringDisplay(
                colors: PrimaryPoints(info.mastering.colors), maxLuminance: info.mastering.max_luminance,
                minLuminance: info.mastering.min_luminance)
        }
        if flags.has(CPI_COLOR_HAS_CONTENT_LIGHT) {
            contentLight = ContentLight(
                maximum: info.max_content_light, maximumFrameAverage: info.max_frame_average_light)
        }
    }

    func fill(_ info: inout cpi_image_info) {
        info.color.flags.set(CPI_COLOR_HAS_ICC, if: hasProfile)
        info.color.flags.set(CPI_COLOR_PREFER_CICP, if: prefersCodePoints)
        if let codePoints {
            info.color.flags.set(CPI_COLOR_HAS_CICP, if: true)
            info.color.primaries = codePoints.primaries
            info.color.transfer = codePoints.transfer
            info.color.matrix = codePoints.matrix
            info.color.full_range = codePoints.isFullRange ? 1 : 0
        }
        if let gamma {
            info.color.flags.set(CPI_COLOR_HAS_GAMMA, if: true)
            info.gamma = gamma
        }
        if let primaries {
            info.color.flags.set(CPI_COLOR_HAS_CHROMATICITIES, if: true)
            info.chromaticities = primaries.raw
        }
        if let mastering {
            info.color.flags.set(CPI_COLOR_HAS_MASTERING, if: true)
            info.mastering = cpi_mastering(
                colors: mastering.colors.raw, max_luminance: mastering.maxLuminance,
                min_luminance: mastering.minLuminance)
        }
        if let contentLight {
            info.color.flags.set(CPI_COLOR_HAS_CONTENT_LIGHT, if: true)
            info.max_content_light = contentLight.maximum
            info.max_frame_average_light = contentLight.maximumFrameAverage
        }
    }
}

extension UInt32 {
    fileprivate func has(_ flag: UInt32) -> Bool { self & flag != 0 }
    fileprivate mutating func set(_ flag: UInt32, if condition: Bool) { if condition { self |= flag } }
}

extension PrimaryPoints {
    init(_ raw: cpi_chromaticities) {
        self.init(
            redX: raw.red_x, redY: raw.red_y, greenX: raw.green_x, greenY: raw.green_y, blueX: raw.blue_x,
            blueY: raw.blue_y, whiteX: raw.white_x, whiteY: raw.white_y)
    }

    var raw: cpi_chromaticities {
        cpi_chromaticities(
            red_x: redX, red_y: redY, green_x: greenX, green_y: greenY, blue_x: blueX, blue_y: blueY, white_x: whiteX,
            white_y: whiteY)
    }
}
