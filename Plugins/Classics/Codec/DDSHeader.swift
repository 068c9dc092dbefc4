import CoderPluginKit
import ImageModel

/// The headers of a DDS file.
///
/// - Source: Microsoft, "Programming Guide for DDS", with `DDS_HEADER` and `DDS_HEADER_DXT10`.
struct DDSHeader {
    let size: PixelSize
    /// The number of sizes of each image, each half of the previous one.
    let levels: Int
    /// The number of images: of an array, a cube, or the slices of a volume.
    let images: Int
    let isCube: Bool
    let isVolume: Bool
    let layout: DDSLayout
    /// The position of the first pixels.
    let end: Int
    /// The faces that the file has, as bits from +X on.
    private let faces: Int

    private static let allFaces = 63

    init(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        guard try reader.consume(Array("DDS ".utf8)) else { throw .notMine() }
        var fields: [Int] = []
        for _ in 0..<31 { fields.append(Int(try reader.u32LE())) }
        guard fields[0] == 124 else { throw .corrupt("a DDS header of \(fields[0]) bytes does not exist", at: 4) }
        let (flags, caps) = (fields[1], fields[27])
        size = try PixelSize.checked(fields[3], fields[2], bits: 128, at: 12)
        let kind = fields[20]
        isVolume = caps & 0x20_0000 != 0 && flags & 0x80_0000 != 0
        var (isCube, faces, count) = (caps & 0x200 != 0, caps >> 10 & Self.allFaces, 1)
        if fields[19] & 4 != 0, kind == DDSLayout.code("DX10") {
            var more: [Int] = []
            for _ in 0..<5 { more.append(Int(try reader.u32LE())) }
            layout = try DDSLayout(dxgi: more[0], alphaMode: more[4] & 7)
            if more[2] & 4 != 0 { (isCube, faces) = (true, Self.allFaces) }
            count = max(1, more[3])
        } else {
            layout = try DDSLayout(
                flags: fields[19], code: kind, bits: fields[21], masks: Array(fields[22..<26]), &reader)
        }
        if isCube, faces == 0 { faces = Self.allFaces }
        (self.isCube, self.faces) = (isCube, faces)
        let depth = isVolume ? max(1, fields[5]) : 1
        let (images, overflow) = (isCube ? faces.nonzeroBitCount * count : count).multipliedReportingOverflow(by: depth)
        guard !overflow, images <= 1 << 16 else { throw .corrupt("\(images) images in one file", at: 24) }
        self.images = images
        let most = Int.bitWidth - max(size.width, size.height).leadingZeroBitCount
        levels = isVolume ? 1 : min(most, max(1, flags & 0x2_0000 != 0 ? fields[6] : 1))
        end = reader.offset
    }

    /// Returns the size of a level.
    func size(level: Int) -> PixelSize { PixelSize(max(1, size.width >> level), max(1, size.height >> level)) }

    /// Returns the position of a level of an image.
    func offset(image: Int, level: Int) -> Int {
        let sizes = (0..<levels).map { layout.byteCount(size(level: $0)) }
        return end + image * sizes.reduce(0, +) + sizes[..<level].reduce(0, +)
    }

    /// Returns the name of an image; nil if it has none.
    func name(of image: Int) -> String? {
        guard isCube else { return nil }
        let names = ["+x", "-x", "+y", "-y", "+z", "-z"].enumerated().filter { faces >> $0.offset & 1 == 1 }
        return names[image % names.count].element
    }
}
