internal import CoderPluginKit
internal import ImageModel

/// The facts of a page for the host.
struct PageInfo {
    let info: ImageInfo

    init(_ page: Page, _ form: PageForm, hasProfile: Bool, hasItems: Bool) {
        var color = ColorDescription(hasProfile: hasProfile)
        if form.isLinear {
            // Converted to linear light, which the profile of the stored colors does not describe.
            color = ColorDescription(
                codePoints: CodePoints(primaries: 1, transfer: 8, matrix: 0, isFullRange: true),
                hasProfile: hasProfile)
            color.prefersCodePoints = true
        }
        let storage = page.storage
        let isOne = !storage.isTiled && storage.block.height >= page.size.height
        let isLarge = !storage.isTiled && storage.isPlanar && storage.blockBytes > 8 << 20
        info = ImageInfo(
            size: page.size, nativeFormat: form.format, bitDepth: min(form.bits, form.format.bits),
            orientation: page.orientation,
            isLossy: [6, 7, 34_887].contains(storage.compression), color: color, density: page.density,
            hasItems: hasItems, decodesRows: !(isLarge || storage.needsConversion && isOne),
            tileSize: storage.isTiled ? storage.block : nil, regionCost: storage.isTiled ? .tiles : .above)
    }

    /// Old JPEG, JBIG, PixarLog, LERC, ThunderScan, NeXT.
    static let rare: Set<Int> = [6, 34_661, 32_909, 34_887, 32_809, 32_766]

    static func compression(_ number: Int) -> String {
        switch number {
        case 6: "6 (old JPEG)"
        case 34_661: "34661 (JBIG)"
        case 32_909: "32909 (PixarLog)"
        case 34_887: "34887 (LERC)"
        case 32_809: "32809 (ThunderScan)"
        case 32_766: "32766 (NeXT)"
        case 33_003, 33_004, 33_005, 34_712: "\(number) (JPEG 2000)"
        case 50_002, 52_546: "\(number) (JPEG XL)"
        default: "\(number)"
        }
    }
}
