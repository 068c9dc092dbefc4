import HostSystem
public import ImageModel

/// A font for ``TextOverlay``, from a file or installed on this machine.
///
/// The first font loads FreeType, and HarfBuzz and fontconfig if they are installed. A program without fonts loads none of
/// these libraries.
/// - Concurrency: any thread; texts of one font are drawn one at a time.
public final class TextFont: Sendable {
    /// The largest file of a font.
    static let maxBytes = 64 << 20

    /// The name of the font's file, without folders.
    public let name: String
    /// The beginning of the digest of the font's file.
    let digest: String
    /// Whether HarfBuzz shapes the text.
    let shapes: Bool
    private let face: Mutex<FontFace>

    /// Opens a font.
    ///
    /// - Parameters:
    ///   - name: a file, or the name of an installed family such as `DejaVu Sans`; nil for an installed sans-serif font.
    ///   - text: the text to draw: without a name, a font that has its characters is preferred.
    /// - Throws: `.notFound`; `.inputOutput`; `.corrupt` for a file without outlines; `.limitExceeded`;
    ///   `.unsupportedFeature` if FreeType is not installed.
    public convenience init(_ name: String? = nil, for text: String = "") throws(CoderError) {
        try self.init(name, for: text, folders: nil)
    }

    /// Opens a font.
    ///
    /// - Parameters:
    ///   - folders: the folders to search instead of asking fontconfig.
    ///   - shapes: whether to shape with HarfBuzz, if it is installed.
    package init(
        _ name: String? = nil, for text: String = "", folders: [String]?, shapes: Bool = true
    ) throws(CoderError) {
        guard FontFace.isAvailable else {
            throw CoderError(
                .unsupportedFeature, "text needs FreeType, which is not installed", hint: "apt install libfreetype6")
        }
        let found = try FontLookup.find(name, for: text, folders: folders)
        let bytes = try Self.read(found.path)
        guard let face = FontFace(bytes, index: found.index, shapes: shapes) else {
            throw CoderError(
                .corrupt, "\(found.path) is no font with outlines, or is damaged",
                hint: "choose a TrueType or OpenType font")
        }
        let file = FileName(found.path)
        self.name = file.stem + (file.suffix.map { "." + $0 } ?? "")
        digest = String(SHA256.hexDigest(of: bytes).prefix(16))
        self.shapes = face.shapes
        self.face = Mutex(face)
    }

    private static func read(_ path: String) throws(CoderError) -> [UInt8] {
        do throws(SystemError) {
            let file = try File(reading: path)
            let size = try file.status().size
            if size <= maxBytes { return try file.bytes(at: 0, count: size) }
        } catch {
            throw CoderError(
                error.code == 2 ? .notFound : .inputOutput, "cannot read the font \(path): \(error)",
                hint: FontLookup.remedy)
        }
        throw CoderError(
            .limitExceeded, "the font \(path) has more than \(maxBytes >> 20) MiB", hint: "choose a smaller font")
    }

    /// Calls `body` with the opened font.
    func withFace<R: Sendable, E: Error>(_ body: (FontFace) throws(E) -> R) throws(E) -> R {
        try face.withLock { face throws(E) in try body(face) }
    }

    /// Returns warnings about the characters that the font or the missing HarfBuzz cannot draw as they should be.
    func warnings(for text: String) -> [String] {
        var (missing, needsShaping) = ([Unicode.Scalar](), false)
        var seen: Set<UInt32> = []
        withFace { face in
            for scalar in text.unicodeScalars where scalar.value >= 32 && !scalar.properties.isDefaultIgnorableCodePoint
            {
                if seen.insert(scalar.value).inserted, !face.hasGlyph(scalar.value) { missing.append(scalar) }
            }
        }
        for scalar in text.unicodeScalars where TextDirection.needsShaping(scalar) { needsShaping = true }
        var warnings: [String] = []
        if !missing.isEmpty {
            let list = missing.prefix(4).map { "\"\($0)\" (U+\(String($0.value, radix: 16, uppercase: true)))" }
            let rest = missing.count > 4 ? " and \(missing.count - 4) more" : ""
            warnings.append(
                "the font \(name) lacks \(list.joined(separator: ", "))\(rest); choose another one with --font")
        }
        if needsShaping, !shapes {
            warnings.append(
                "the letters of this script are neither joined nor ordered correctly without HarfBuzz "
                    + "(apt install libharfbuzz0b)")
        }
        return warnings
    }
}
