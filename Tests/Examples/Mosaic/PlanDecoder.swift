import CoderPluginKit

/// Draws plans, an example of vectors: a disc that fills the image.
///
///     <plan xmlns="urn:example:plan" width="60" height="40"/>
final class PlanDecoder: ImageDecoder {
    private let session: DecoderSession

    init(_ session: DecoderSession) { self.session = session }

    func readHeader() throws(CoderError) -> ImageInfo {
        guard session.source.isComplete else { throw .needsInput }
        let text = session.source.bytes(0..<min(session.source.available, 4096))
        if text.starts(with: [0x1F, 0x8B]) { throw .unsupported("compressed plans") }
        guard text.last(where: { $0 > 0x20 }) == UInt8(ascii: ">") else { throw .truncated() }
        guard let width = attribute("width", text), let height = attribute("height", text) else {
            throw .corrupt("the plan has no size")
        }
        return ImageInfo(size: PixelSize(width, height), nativeFormat: .gray8, isScalable: true)
    }

    // vectors begins
    func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize { wanted }
    // vectors ends

    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let (width, height) = (Double(surface.size.width), Double(surface.size.height))
        for y in 0..<surface.size.height {
            if y % 64 == 0 { try session.host.checkCancellation() }
            surface.withMutableRow(y) { row in
                for x in 0..<surface.size.width {
                    let (right, down) = ((Double(2 * x + 1) - width) / width, (Double(2 * y + 1) - height) / height)
                    let isInside = right * right + down * down <= 1
                    row.storeBytes(of: isInside ? 0 : 255, toByteOffset: x, as: UInt8.self)
                }
            }
        }
        return .complete
    }

    /// Returns the positive number of an attribute.
    private func attribute(_ name: String, _ text: [UInt8]) -> Int? {
        let key = Array(" \(name)=\"".utf8)
        for start in 0..<max(0, text.count - key.count) where text[start..<start + key.count].elementsEqual(key) {
            let digits = text[(start + key.count)...].prefix { $0 >= 0x30 && $0 <= 0x39 }
            return Int(String(decoding: digits, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
        }
        return nil
    }
}
