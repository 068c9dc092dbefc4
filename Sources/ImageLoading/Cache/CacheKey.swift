import CoderHost
import ImageModel
public import ImageProcessing

/// What makes two requests the same picture.
///
/// The key of a result is that of the file, then the size of a thumbnail, whatever else changes pixels, and the
/// transformer, all in front of the extension. With nothing asked for it is that of the file, unchanged. Density is no
/// part of it: the same pixels serve all of them.
///
///     https://example.com/cat.jpg
///     https://example.com/cat-Thumbnail(512x512,aspect)-Decode(upright)-Blur(3).jpg
///
/// The key of a file is its URL without a fragment, which no server sees. What one sees besides, the header fields and the
/// credential of a request (and whether cookies are sent), stands behind it as a digest, for the answer may depend on them. A filter decides for itself.
///
///     https://example.com/cat.jpg#Request(b5bb9d8014a0f9b1d61e21e796d78dcc)
public struct CacheKey: Sendable, Hashable {
    /// Of the file, as it came.
    public var original: String
    /// Of what was decoded from it.
    public var decoded: String
    /// Of what was decoded from it, and transformed.
    public var result: String

    /// - Parameters:
    ///   - filter: the manager's; that of the options comes before it.
    ///   - transformer: the manager's; that of the options comes before it.
    public init(
        _ request: ImageRequest, filter: CacheKeyFilter? = nil, transformer: (any ImageTransformer)? = nil
    ) {
        let options = request.options
        let key = (options.keyFilter ?? filter)?(request.url) ?? options.fileKey(request.url)
        self.init(original: key, options, transformer: options.transformer(or: transformer))
    }

    /// - Parameters:
    ///   - original: of the file, filtered already.
    ///   - transformer: what is made of the decoded picture; that of the options is not looked at.
    public init(original: String, _ options: LoadOptions, transformer: (any ImageTransformer)? = nil) {
        self.original = original
        var decoded = original
        if let size = options.decode.thumbnailSize, !size.isEmpty {
            decoded = thumbnailKey(decoded, size, preservesAspectRatio: options.decode.preservesAspectRatio)
        }
        let variant = options.decodeVariant
        if !variant.isEmpty { decoded = transformedKey(decoded, variant) }
        self.decoded = decoded
        var result = decoded
        if let transformer {
            result = transformedKey(result, transformer.key)
            // Without it animations stay as they are, so there are two results of one transformer.
            if options.transformsAnimations { result = transformedKey(result, "Frames") }
        }
        let stored = options.storedVariant
        if !stored.isEmpty { result = transformedKey(result, stored) }
        self.result = result
    }

    /// Whether the result is the decoded file, with nothing changed.
    public var isOriginal: Bool { original.utf8.elementsEqual(result.utf8) }
}

extension LoadOptions {
    /// The key of a URL's file: who asks for it, and how, may decide what a server answers.
    func fileKey(_ url: String) -> String {
        let (fragment, hasBracket) = Self.marks(url.utf8Span.span)
        var base = url
        if let fragment, Self.isWeb(url) {
            base = String(url[..<url.utf8.index(url.startIndex, offsetBy: fragment)])
        }
        // Most requests; this is what a look into a memory cache costs.
        if headers.isEmpty, credential == nil, !handlesCookies, !allowsInvalidCertificates {
            // A file may have the name that a thumbnail of another one would have.
            return hasBracket && Self.isWeb(url) ? "\(base)#File" : base
        }
        var parts = headers.map { "\($0.key.lowercased()): \($0.value)" }.sorted()
        if let credential { parts.append(credential.basic) }
        if handlesCookies { parts.append("cookies") }
        if allowsInvalidCertificates { parts.append("any certificate") }
        let digest = SHA256.hexDigest(of: Array(parts.joined(separator: "\n").utf8))
        return "\(base)#Request(\(digest.prefix(32)))"
    }

    /// Where a fragment begins, and whether there is a bracket before it.
    private static func marks(_ url: Span<UInt8>) -> (fragment: Int?, hasBracket: Bool) {
        var hasBracket = false
        for index in url.indices {
            if url[index] == UInt8(ascii: "#") { return (index, hasBracket) }
            if url[index] == UInt8(ascii: "(") { hasBracket = true }
        }
        return (nil, hasBracket)
    }

    private static func isWeb(_ url: String) -> Bool {
        ["http://", "https://"].contains { url.prefix($0.utf8.count).lowercased() == $0 }
    }

    /// What makes the picture on disk another one than that in memory.
    var storedVariant: String {
        var parts: [String] = []
        if let size = encode.maxPixelSize { parts.append("within=\(size.width)x\(size.height)") }
        if encode.firstFrameOnly { parts.append("first") }
        return parts.isEmpty ? "" : "Stored(\(parts.joined(separator: ",")))"
    }

    /// The transformer that counts: that of the options, unless they leave it to the manager.
    public func transformer(or standard: (any ImageTransformer)?) -> (any ImageTransformer)? {
        switch transformer {
        case .standard: standard
        case .none: nil
        case .custom(let transformer): transformer
        }
    }

    /// What changes pixels besides the size of a thumbnail; empty when nothing does.
    ///
    /// Words and values have no character that means something in a key, so no two of them can be taken for a third.
    var decodeVariant: String {
        var parts: [String] = []
        if let part = decode.region { parts.append("region=\(part.width)x\(part.height)+\(part.x)+\(part.y)") }
        if let limit = decode.limitBytes { parts.append("limit=\(limit)") }
        if decode.resampling.filter != Resampling().filter { parts.append("filter=\(decode.resampling.filter)") }
        if decode.resampling.linearLight { parts.append("linear") }
        if !decode.usesEmbeddedThumbnail { parts.append("whole") }
        if decode.appliesOrientation { parts.append("upright") }
        if decode.convertsToSRGB { parts.append("srgb") }
        switch decode.dynamicRange {
        case nil: break
        case .standard: parts.append("range=standard")
        case .high: parts.append("range=high")
        }
        if let type = decode.typeHint { parts.append("type=\(escaped(type))") }
        if let suffix = decode.fileExtensionHint { parts.append("extension=\(escaped(suffix))") }
        if let coder { parts.append("coder=\(escaped(coder))") }
        switch kind {
        case .any: if decode.firstFrameOnly { parts.append("first") }
        case .still: parts.append("first")
        // The first frame of an animation, as an animation of one frame.
        case .animated: parts.append(decode.firstFrameOnly ? "animated,first" : "animated")
        }
        let values = decode.coder.values.map { (name: escaped($0.key), value: text($0.value)) }
        // Sorted by what they are in the key, which has one form only.
        for (name, value) in values.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            parts.append("\(name):\(value)")
        }
        return parts.isEmpty ? "" : "Decode(\(parts.joined(separator: ",")))"
    }

    /// The type is a part of it: coders may tell `1` from `true`.
    private func text(_ value: OptionValue) -> String {
        switch value {
        case .bool(let value): value ? "b1" : "b0"
        case .integer(let value): "i\(value)"
        // Every number has digits of its own, also the two zeros.
        case .real(let value): value.isNaN ? "rnan" : "r\(escaped("\(value)"))"
        case .string(let value): "s\(escaped(value))"
        case .bytes(let value):
            value.count <= 32 ? "x\(SHA256.hex(value))" : "h\(value.count).\(SHA256.hexDigest(of: value))"
        }
    }

    /// Letters, digits and "-"; anything else as "_" and two digits, so that neither a path nor a URL is taken apart
    /// there. Long texts become their digest.
    private func escaped(_ text: String) -> String {
        if text.utf8.count > Self.longestText { return "_h\(SHA256.hexDigest(of: Array(text.utf8)))" }
        var result = ""
        for byte in text.utf8 {
            let isPlain =
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                || byte == UInt8(ascii: "-")
            result += isPlain ? String(Unicode.Scalar(byte)) : "_" + SHA256.hex([byte])
        }
        return result
    }

    private static let longestText = 128
}
