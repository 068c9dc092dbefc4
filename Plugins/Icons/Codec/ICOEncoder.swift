public import CoderPluginKit
public import ImageModel
import PNGCodec

/// Encodes an icon of one or more sizes: a PNG above 48 pixels, a bitmap of 32 bits up to there, which every reader
/// takes.
public final class ICOEncoder: ItemEncoder {
    private let session: EncoderSession
    private var sink: ByteSink?
    private var info: ImageInfo?
    private var images: [Image] = []

    private struct Image {
        let size: PixelSize
        let bytes: [UInt8]
    }

    /// The largest side that the directory can state.
    private static let longest = 256
    private static let longestBitmap = 48
    /// The signature of the format has 0 in the high byte of the count.
    private static let mostImages = 255

    public init(_ session: EncoderSession) { self.session = session }

    public func beginItem(_ item: ItemDescription) throws(CoderError) {
        guard [.primary, .page, .alternative, .level].contains(item.role) else {
            throw .refused("an icon has sizes, no \(item.role == .thumbnail ? "thumbnails" : "auxiliary images")")
        }
        guard images.count < Self.mostImages else { throw .refused("an icon has at most \(Self.mostImages) images") }
    }

    public func acceptedFormats(for info: ImageInfo) -> [PixelFormat] { [.rgba8] }

    public func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        guard max(info.size.width, info.size.height) <= Self.longest else {
            throw .invalidArgument(
                "an icon of \(info.size) pixels is larger than 256x256", hint: "scale the image to 256x256 or less")
        }
        (self.sink, self.info) = (sink, info)
    }

    public func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        guard let info else { throw CoderError(.misuse, "begin comes first") }
        let size = surface.size
        let isPNG = max(size.width, size.height) > Self.longestBitmap
        let bytes = isPNG ? try png(info, frame, surface) : bitmap(surface)
        try session.host.reserve(bytes: bytes.count)
        images.append(Image(size: size, bytes: bytes))
    }

    /// Writes the directory, which states the places of all images, then the images.
    public func finish() throws(CoderError) {
        guard let sink else { throw CoderError(.misuse, "begin comes first") }
        var directory: [UInt8] = [0, 0, 1, 0, UInt8(images.count), 0]
        var place = directory.count + 16 * images.count
        for image in images {
            // 0 stands for 256.
            let sides = [image.size.width, image.size.height].map { UInt8(truncatingIfNeeded: $0) }
            directory += sides + [0, 0, 1, 0, 32, 0] + Self.u32(image.bytes.count) + Self.u32(place)
            place += image.bytes.count
        }
        try sink.write(directory)
        for image in images { try sink.write(image.bytes) }
        try session.host.reserve(bytes: -images.reduce(0) { $0 + $1.bytes.count })
    }

    private func png(
        _ info: ImageInfo, _ frame: FrameInfo, _ surface: borrowing Surface
    ) throws(CoderError) -> [UInt8] {
        let file = ByteSink()
        let encoder = try PNGEncoder(session)
        try encoder.begin(info, to: file)
        try encoder.add(frame, pixels: surface)
        try encoder.finish()
        return file.written
    }

    /// Returns a header with twice the height, the pixels from the bottom up, and the mask.
    private func bitmap(_ surface: borrowing Surface) -> [UInt8] {
        let size = surface.size
        let maskRow = (size.width + 31) / 32 * 4
        var bytes = Self.u32(40) + Self.u32(size.width) + Self.u32(2 * size.height) + [1, 0, 32, 0]
        bytes += Self.u32(0) + Self.u32(size.height * (4 * size.width + maskRow)) + [UInt8](repeating: 0, count: 16)
        var mask: [UInt8] = []
        for y in stride(from: size.height - 1, through: 0, by: -1) {
            var bits = [UInt8](repeating: 0, count: maskRow)
            surface.withRow(y) { row in
                for x in 0..<size.width {
                    for channel in [2, 1, 0, 3] { bytes.append(row.byte(at: 4 * x + channel)) }
                    if row.byte(at: 4 * x + 3) == 0 { bits[x / 8] |= 0x80 >> (x % 8) }
                }
            }
            mask += bits
        }
        return bytes + mask
    }

    private static func u32(_ value: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}
