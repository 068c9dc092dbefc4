package import ImageModel

/// A format that is recognized even if no plugin for it is known.
///
/// The tables ``stills``, ``cameras``, ``containers`` and ``others`` are data only: names and signatures from the
/// specifications of the formats. A signature of an installed plugin always has precedence.
package struct KnownFormat: Sendable {
    /// The names of the format.
    package let names: RecognizedFormat
    /// The signatures of the format.
    let signatures: [Signature]
    /// Whether the signatures are too short to count without the file name extension.
    let needsExtension: Bool

    /// The tables, the more specific formats first.
    package static let all: [KnownFormat] = cameras + stills + documents + containers + others

    /// Returns the format with the best matching signature; of equal matches, the first in the tables.
    ///
    /// - Parameter fileExtension: the lower-case extension of the file name, which formats with a short signature need.
    package static func recognized(by sniffer: FormatSniffer, fileExtension: String? = nil) -> RecognizedFormat? {
        var best: (names: RecognizedFormat, score: Int)?
        for known in all where !known.needsExtension || known.names.extensions.contains(fileExtension ?? "") {
            if let score = sniffer.score(known.signatures), score > best?.score ?? -1 { best = (known.names, score) }
        }
        return best?.names
    }

    // MARK: Notation of the tables

    /// Describes a format.
    ///
    /// - Parameters:
    ///   - id: the identifier of the format.
    ///   - mime: the MIME type; empty for none.
    ///   - uti: the uniform type identifier; empty for none.
    ///   - extensions: the file name extensions, separated by spaces.
    ///   - signatures: alternatives, each with all its rules.
    ///   - needsExtension: whether one of the extensions must confirm a short signature.
    init(
        _ id: String, _ name: String, _ mime: String, _ uti: String, _ extensions: String,
        _ signatures: [[Signature.Rule]], rank: Int = 0, isImage: Bool = true, needsExtension: Bool = false
    ) {
        self.needsExtension = needsExtension
        names = RecognizedFormat(
            ImageFormat(id), name: name, mimeType: mime.isEmpty ? nil : mime,
            typeIdentifier: uti.isEmpty ? nil : uti, extensions: extensions.split(separator: " ").map(String.init),
            isImage: isImage)
        self.signatures = signatures.map { Signature(rules: $0, rank: rank) }
    }

    /// Returns a rule for bytes, written as characters up to U+00FF; a negative offset counts from the end.
    static func at(_ offset: Int, _ text: String, mask: String? = nil) -> Signature.Rule {
        let bytes = latin(text)
        return .bytes(at: offset, bytes, mask: mask.map(latin) ?? [UInt8](repeating: 0xFF, count: bytes.count))
    }

    /// Returns a rule for text that begins within the first bytes.
    static func find(_ text: String, _ within: Int) -> Signature.Rule { .find(latin(text), within: within) }

    /// Returns a rule for brands, each of four characters.
    static func brands(_ names: String) -> Signature.Rule {
        .brands(names.split(separator: ",").map { latin(String($0)) })
    }

    /// Returns a rule for the form of a RIFF file.
    static func riff(_ form: String) -> Signature.Rule { .riff(latin(form)) }

    private static func latin(_ text: String) -> [UInt8] {
        text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }
}
