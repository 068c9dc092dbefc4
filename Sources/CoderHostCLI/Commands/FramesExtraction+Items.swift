import CoderHost
import CommandLineKit
import ImageModel

/// `frames extract --items`: writes one image for each item of the file, including thumbnails and auxiliary images.
extension FramesExtraction {
    func extractItems(
        of session: DecodeSession, _ file: String, _ subject: inout String, _ outputs: inout OutputGuard
    ) throws(CoderError) {
        let items = try session.items()
        var written: [JSONValue] = []
        var first: String?
        for item in items {
            do throws(CoderError) {
                _ = try item.item.get()
                try session.select(item: item.index)
            } catch {
                guard error.code == .refused else { throw error }
                session.context.warn("item \(item.index) is skipped: \(error.message)")
                continue
            }
            let profile = try session.metadata().filter { $0.kind == .icc }
            let pixels = try session.decodeImage()
            let path = try write(
                pixels, profile, session, file, item.index, of: items.count, &subject, &outputs)
            first = first ?? path
            written.append(
                .object([
                    ("item", .integer(item.index)), ("role", .string(item.facts?.role.name ?? "")),
                    ("file", .string(path)), ("width", .integer(pixels.size.width)),
                    ("height", .integer(pixels.size.height)),
                ]))
        }
        guard let first else { throw CoderError(.corrupt, "the file has no decodable item") }
        report(file, session, [("items", .array(written))], count: written.count, first: first)
    }
}
