import CoderPluginKit
import ImageModel

/// The rows of an X bitmap: C source with one bit for each pixel, the lowest first.
///
/// - Source: Xlib Programming Manual, "Manipulating bitmaps".
struct XBMRows: StoredRows {
    let info: ImageInfo
    private var text: SourceText
    private let start: Int
    /// The bytes of a number: 1, or 2 in version 10.
    private let numberBytes: Int

    init(_ session: DecoderSession) throws(CoderError) {
        try Self.checkStart(session)
        text = try SourceText(session)
        var sides: [String: Int] = [:]
        text.skipSpace()
        while text.has("#define") {
            text.offset += 7
            text.skipSpace()
            let name = text.word()
            text.skipSpace()
            guard let value = text.number() else { throw .corrupt("\(name) is no number", at: text.offset) }
            let kind = name.split(separator: "_").last.map(String.init) ?? ""
            sides[kind] = value
            if name.hasSuffix("_x_hot") { session.host.warn("the hot spot is not kept") }
            text.skipSpace()
        }
        guard let width = sides["width"], let height = sides["height"] else { throw .notMine() }
        let size = try PixelSize.checked(width, height, bits: 8, at: 0)
        var isShort = false
        while !text.has("{") {
            guard !text.isAtEnd else { throw .truncated("the bits of the image are missing") }
            let word = text.word()
            if word == "short" { isShort = true }
            if word.isEmpty { text.offset += 1 }
            text.skipSpace()
        }
        numberBytes = isShort ? 2 : 1
        text.offset += 1
        start = text.offset
        info = ImageInfo(size: size, nativeFormat: .gray8, bitDepth: 1, decodesRows: true)
    }

    /// Throws unless the source begins like C source with a definition or a comment.
    private static func checkStart(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        var byte = try reader.u8()
        while HeaderText.isSpace(byte) { byte = try reader.u8() }
        guard byte == UInt8(ascii: "#") || byte == UInt8(ascii: "/") else { throw .notMine() }
    }

    mutating func begin(atRow row: Int) -> Bool {
        guard row == 0 else { return false }
        text.offset = start
        return true
    }

    mutating func next(_ row: inout MutableRawSpan) throws(CoderError) {
        let before = text.offset
        let width = info.size.width
        let step = 8 * numberBytes
        for x in stride(from: 0, to: width, by: step) {
            text.skipSpace()
            if x > 0 || before != start, text.has(",") { text.offset += 1 }
            text.skipSpace()
            let value = text.isAtEnd || text.has("}") ? nil : text.number()
            // Something follows every number, so a number at the end of the file may be cut.
            guard let value, !text.isAtEnd else {
                defer { text.offset = before }
                guard text.isAtEnd || text.has("}") else { throw .corrupt("a number is expected", at: text.offset) }
                throw .truncated()
            }
            for bit in 0..<min(step, width - x) {
                row.storeBytes(of: value >> bit & 1 == 1 ? 0 : 255, toByteOffset: x + bit, as: UInt8.self)
            }
        }
    }
}
