import CoderPluginKit
import ImageModel

/// The rows of an X pixmap, version 3: C source with characters for pixels.
///
/// - Source: Arnaud Le Hors, XPM Manual, version 3.4.
struct XPMRows: StoredRows {
    let info: ImageInfo
    private var text: SourceText
    private let start: Int
    private let characters: Int
    /// The color of each pixel's characters.
    private var colors: [UInt64: XColor] = [:]

    init(_ session: DecoderSession) throws(CoderError) {
        try Self.checkStart(session)
        text = try SourceText(session)
        guard let values = text.string() else { throw .truncated("the values of the image are missing") }
        let words = String(decoding: values, as: UTF8.self).split { $0 == " " || $0 == "\t" }
        let numbers = words.prefix(4).compactMap { Int($0) }
        guard numbers.count == 4, numbers[2] > 0 else { throw .corrupt("the values of the image are no four numbers") }
        let size = try PixelSize.checked(numbers[0], numbers[1], bits: 64, at: 0)
        characters = numbers[3]
        guard (1...8).contains(characters) else { throw .unsupported("XPM with \(characters) characters per pixel") }
        if words.count > 5 { session.host.warn("the hot spot is not kept") }
        var isTransparent = false
        for number in 0..<numbers[2] {
            if number % 4096 == 0 { try session.host.checkCancellation() }
            guard let line = text.string() else { throw .truncated("colors are missing") }
            guard line.count > characters else { throw .corrupt("color \(number) has no value", at: text.offset) }
            let color = try XColor(line.dropFirst(characters))
            if color.alpha == 0 { isTransparent = true }
            colors[Self.key(line.prefix(characters))] = color
        }
        start = text.offset
        info = ImageInfo(size: size, nativeFormat: isTransparent ? .rgba8 : .rgb8, decodesRows: true)
    }

    /// Throws unless the source begins with a comment that names the format.
    private static func checkStart(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        guard try reader.consume(Array("/*".utf8)) else { throw .notMine() }
        let end = min(session.source.available, 64)
        let head = String(decoding: session.source.bytes(0..<end), as: UTF8.self)
        if head.split(separator: "*").contains(where: { $0.split(separator: " ") == ["XPM"] }) { return }
        throw end < 64 && !session.source.isComplete ? .needsInput : .notMine()
    }

    private static func key(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    mutating func begin(atRow row: Int) -> Bool {
        guard row == 0 else { return false }
        text.offset = start
        return true
    }

    mutating func next(_ row: inout MutableRawSpan) throws(CoderError) {
        let before = text.offset
        let step = info.nativeFormat.bytesPerPixel
        guard let line = text.string() else {
            text.offset = before
            throw .truncated()
        }
        guard line.count >= info.size.width * characters else {
            throw .corrupt("a row has less characters than pixels", at: before)
        }
        for x in 0..<info.size.width {
            guard let color = colors[Self.key(line[x * characters..<(x + 1) * characters])] else {
                throw .corrupt("a pixel has characters without a color", at: before)
            }
            row.storeBytes(of: color.red, toByteOffset: step * x, as: UInt8.self)
            row.storeBytes(of: color.green, toByteOffset: step * x + 1, as: UInt8.self)
            row.storeBytes(of: color.blue, toByteOffset: step * x + 2, as: UInt8.self)
            if step == 4 { row.storeBytes(of: color.alpha, toByteOffset: 4 * x + 3, as: UInt8.self) }
        }
    }
}
