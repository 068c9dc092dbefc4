internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// Redundant parts of the samples of an image.
@safe struct SampleSurvey {
    /// Red, green and blue are equal in every pixel.
    let isGray: Bool
    /// Every pixel is opaque.
    let isOpaque: Bool
    /// Both bytes of every 16-bit sample are equal: 8 bits are enough.
    let isDoubled: Bool

    init(of surface: borrowing Surface, host: HostServices) throws(CoderError) {
        let format = surface.format
        var survey = pngshim_survey(gray: 1, opaque: 1, doubled: format.bits == 16 ? 1 : 0)
        for first in stride(from: 0, to: surface.size.height, by: 64) {
            try host.checkCancellation()
            let start = unsafe (surface.baseAddress + first * surface.stride).assumingMemoryBound(to: UInt8.self)
            unsafe pngshim_survey_add(
                &survey, start, UInt64(surface.stride), UInt32(surface.size.width),
                UInt32(min(64, surface.size.height - first)), UInt8(format.channels.count),
                UInt8(format.bytesPerSample))
        }
        isGray = survey.gray != 0
        isOpaque = survey.opaque != 0 || !format.hasTransparency
        isDoubled = survey.doubled != 0
    }
}
