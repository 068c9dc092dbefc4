import BMPCodec
import CoderPluginKit
import ImageModel

/// A bitmap within an ICO or CUR file: a header with twice the height, the image, and a mask of one bit per pixel.
///
/// The image is decoded as a BMP file. Its fourth byte is alpha, unless all of them are 0; then, and for all other depths,
/// the mask decides.
///
/// - Source: Windows SDK, `BITMAPINFOHEADER`; "Icons" in the Win32 guide.
struct IconBitmap: IconImage {
    let info: ImageInfo
    private let session: DecoderSession
    private let bytes: Range<Int>
    let depth: Int
    private let headerBytes: Int
    /// The number of bytes of header, palette and image.
    private let imageEnd: Int
    private let hasMask: Bool
    private let isCut: Bool

    private var size: PixelSize { info.size }
    private var maskRowBytes: Int { (size.width + 31) / 32 * 4 }
    private static let alphaHeaderBytes = 56

    /// - Parameters:
    ///   - bytes: the place of the bitmap in the source.
    ///   - isCut: whether the file ends within the bitmap.
    init(_ session: DecoderSession, _ bytes: Range<Int>, isCut: Bool) throws(CoderError) {
        self.session = session
        self.isCut = isCut
        self.bytes = bytes
        var reader = ByteReader(session.source.window(bytes))
        headerBytes = Int(try reader.u32LE())
        let isCore = headerBytes == 12
        guard isCore || headerBytes >= 40 && headerBytes <= 124 else {
            throw .corrupt("a bitmap header of \(headerBytes) bytes does not occur in icons", at: bytes.lowerBound)
        }
        let width = isCore ? Int(try reader.u16LE()) : Int(Int32(bitPattern: try reader.u32LE()))
        let stored = abs(isCore ? Int(try reader.u16LE()) : Int(Int32(bitPattern: try reader.u32LE())))
        try reader.skip(2)
        depth = Int(try reader.u16LE())
        let compression = isCore ? 0 : Int(try reader.u32LE())
        // An odd height cannot be that of image and mask.
        hasMask = stored % 2 == 0
        let height = hasMask ? stored / 2 : stored
        guard width > 0, height > 0 else { throw .corrupt("invalid image size \(width)x\(height)") }
        guard [1, 4, 8, 16, 24, 32].contains(depth), compression == 0 else {
            throw .unsupported("an icon with \(depth) bits per pixel and compression \(compression)")
        }
        var colors = 0
        if depth <= 8 {
            if isCore {
                colors = 3 << depth
            } else {
                reader.offset = 32
                let count = Int(try reader.u32LE())
                colors = 4 * (count == 0 ? 1 << depth : min(count, 1 << depth))
            }
        }
        let (bits, overflow) = width.multipliedReportingOverflow(by: depth)
        let (pixels, isTooLarge) = ((bits + 31) / 32 * 4).multipliedReportingOverflow(by: height)
        guard !overflow, !isTooLarge, pixels < Int.max / 2 else { throw .corrupt("invalid image size") }
        imageEnd = headerBytes + colors + pixels
        info = ImageInfo(size: PixelSize(width, height), nativeFormat: .rgba8, bitDepth: 8, hasAlpha: true)
    }

    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        guard surface.size == size, surface.format == .rgba8 else {
            throw CoderError(.misuse, "the surface does not have the size or format of the image")
        }
        guard imageEnd <= bytes.count else {
            throw .truncated("\(imageEnd - bytes.count) bytes of an image in the icon are missing")
        }
        // The copy of the bytes, and the decoded colors.
        let memory = imageEnd + 4 * (size.area ?? 0)
        try session.host.reserve(bytes: memory)
        // Freeing reserved memory never fails.
        defer { try? session.host.reserve(bytes: -memory) }
        let decoder = BMPDecoder(
            DecoderSession(source: ByteSource(bitmapFile()), limits: session.limits, host: session.host))
        let colors = try decoder.readHeader()
        guard colors.size == size else { throw .corrupt("the image in the icon has the size \(colors.size)") }
        let buffer = try PixelBuffer(size: size, format: colors.nativeFormat)
        let decoded = Surface(buffer)
        _ = try decoder.decode(DecodeRequest(), into: decoded)
        let usesAlpha = depth == 32 && Self.hasAlpha(decoded)
        if isCut, !usesAlpha { throw .truncated("the mask of an image in the icon is cut") }
        for y in 0..<size.height {
            if y % 64 == 0 { try session.host.checkCancellation() }
            decoded.withRow(y) { from in
                surface.withMutableRow(y) { to in
                    copy(from, decoded.format, to: &to, y: y, usesAlpha: usesAlpha)
                }
            }
        }
        return .complete
    }

    /// Returns the bytes of a BMP file with the header, the palette and the image.
    private func bitmapFile() -> [UInt8] {
        let source = session.source
        let hasAlpha = depth == 32
        let start = bytes.lowerBound
        var header = source.bytes(start..<start + headerBytes)
        // The height of the image alone, in the sign that says where it begins.
        if headerBytes == 12 {
            Self.put(size.height, 2, at: 6, in: &header)
        } else {
            let isTopDown = header[11] & 0x80 != 0
            Self.put(isTopDown ? -size.height : size.height, 4, at: 8, in: &header)
        }
        if hasAlpha {
            // The same header with masks that name the alpha byte.
            header = Array(header.prefix(40)) + [UInt8](repeating: 0, count: Self.alphaHeaderBytes - 40)
            Self.put(Self.alphaHeaderBytes, 4, at: 0, in: &header)
            Self.put(3, 4, at: 16, in: &header)
            for (index, mask) in [0xff_0000, 0xff00, 0xff, 0xff00_0000].enumerated() {
                Self.put(mask, 4, at: 40 + 4 * index, in: &header)
            }
        }
        let rest = source.bytes(start + headerBytes..<start + imageEnd)
        var file = Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + header
        Self.put(file.count + rest.count, 4, at: 2, in: &file)
        let pixelBytes = (size.width * depth + 31) / 32 * 4 * size.height
        Self.put(file.count + rest.count - pixelBytes, 4, at: 10, in: &file)
        return file + rest
    }

    private static func put(_ value: Int, _ count: Int, at place: Int, in bytes: inout [UInt8]) {
        for index in 0..<count { bytes[place + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
    }

    private static func hasAlpha(_ surface: borrowing Surface) -> Bool {
        for y in 0..<surface.size.height {
            let found = surface.withRow(y) { row in
                stride(from: 3, to: row.byteCount, by: 4).contains { row.byte(at: $0) != 0 }
            }
            if found { return true }
        }
        return false
    }

    private func copy(
        _ from: RawSpan, _ format: PixelFormat, to row: inout MutableRawSpan, y: Int, usesAlpha: Bool
    ) {
        let step = format.bytesPerPixel
        // The mask begins at the bottom, as the image does.
        let mask = bytes.lowerBound + imageEnd + (size.height - 1 - y) * maskRowBytes
        let isThere = hasMask && mask + maskRowBytes <= bytes.upperBound
        for x in 0..<size.width {
            let place = x * step
            for channel in 0..<3 {
                let offset = step == 1 ? 0 : format.channels == .bgra ? 2 - channel : channel
                row.storeBytes(of: from.byte(at: place + offset), toByteOffset: 4 * x + channel, as: UInt8.self)
            }
            var alpha: UInt8 = 255
            if usesAlpha {
                alpha = from.byte(at: place + 3)
            } else if isThere, session.source[mask + x / 8] >> (7 - x % 8) & 1 == 1 {
                alpha = 0
            }
            row.storeBytes(of: alpha, toByteOffset: 4 * x + 3, as: UInt8.self)
        }
    }
}
