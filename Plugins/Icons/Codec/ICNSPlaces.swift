import CoderPluginKit
import ImageModel

/// Finds the images of an ICNS file.
enum ICNSPlaces {
    static func all(_ session: DecoderSession) throws(CoderError) -> [IconItems.Place] {
        let elements = try ICNSElement.all(in: session.source)
        let places = elements.compactMap { element -> IconItems.Place? in
            guard let kind = ICNSKind(element.type) else { return nil }
            return IconItems.Place(name: element.type) { () throws(CoderError) in
                try image(session, element, kind, elements)
            }
        }
        if places.isEmpty { throw .unsupported("an icon with \(list(elements)) alone") }
        let others = elements.filter { ICNSKind.isUnsupportedImage($0.type) }
        if !others.isEmpty {
            session.host.warn("images with the colors of a fixed palette are left out: \(list(others))")
        }
        return places
    }

    private static func list(_ elements: [ICNSElement]) -> String {
        elements.isEmpty ? "no image" : elements.prefix(8).map(\.type).joined(separator: ", ")
    }

    private static func image(
        _ session: DecoderSession, _ element: ICNSElement, _ kind: ICNSKind, _ all: [ICNSElement]
    ) throws(CoderError) -> any IconImage {
        let source = session.source
        let start = source.bytes(element.bytes.prefix(12))
        if start.starts(with: PNGIcon.signature) { return try PNGIcon(session, element.bytes) }
        if start.starts(with: [0, 0, 0, 12, 0x6A, 0x50]) || start.starts(with: [0xFF, 0x4F, 0xFF, 0x51]) {
            throw .unsupported("JPEG 2000 in an icon")
        }
        if element.isCut { throw .truncated("the element \(element.type) of the icon is cut") }
        switch kind {
        case .file: throw .corrupt("the element \(element.type) of the icon is no image", at: element.bytes.lowerBound)
        case .packed(let side, let mask):
            let alpha = all.first { $0.type == mask }
            if alpha?.isCut ?? isCut(source) { throw .truncated("the mask of the icon is cut") }
            // Elements of 128 pixels begin with four zero bytes.
            let skipped = side == 128 && start.starts(with: [0, 0, 0, 0]) ? 4 : 0
            return ICNSPixels(
                session, side, Array(source.bytes(element.bytes.dropFirst(skipped))), .separate(alpha?.bytes))
        case .withAlpha(let side):
            guard start.starts(with: Array("ARGB".utf8)) else {
                throw .corrupt("the element \(element.type) of the icon is no image", at: element.bytes.lowerBound)
            }
            return ICNSPixels(session, side, Array(source.bytes(element.bytes.dropFirst(4))), .first)
        case .bits(let side): return ICNSPixels(session, side, source.bytes(element.bytes), .bits)
        }
    }

    /// Whether the file is shorter than its header declares.
    private static func isCut(_ source: ByteSource) -> Bool {
        source.bytes(4..<8).reduce(0) { $0 << 8 | Int($1) } > source.available
    }
}
