import CoderHost
import ImageModel
package import ImageProcessing

/// The cache keys of a request.
///
/// The key of a result consists of the file's key, the thumbnail size, all other options that change pixels, and the
/// transformer. These parts stand in front of the file extension. Without such options the key of the result equals the
/// file's key. The scale factor is not part of the key, because every scale factor uses the same pixels.
///
///     https://example.com/cat.jpg
///     https://example.com/cat-Thumbnail(512x512,aspect)-Decode(upright)-Blur(3).jpg
///
/// The key of a file is its URL without the fragment, which is never sent to a server. The answer of a server may also
/// depend on the request's header fields, its credential, and whether it sends cookies. A digest of them follows the
/// URL. A key filter replaces all of this.
///
///     https://example.com/cat.jpg#Request(b5bb9d8014a0f9b1d61e21e796d78dcc)
package struct CacheKey: Sendable, Hashable {
    /// Key of the original file.
    package var original: String
    /// Key of the decoded image.
    package var decoded: String
    /// Key of the decoded and transformed image.
    package var result: String

    /// Creates the keys of a request.
    ///
    /// - Parameters:
    ///   - filter: the manager's filter; a filter in the options takes precedence.
    ///   - transformer: the manager's transformer; a transformer in the options takes precedence.
    package init(
        _ request: ImageRequest, filter: CacheKeyFilter? = nil, transformer: (any ImageTransformer)? = nil
    ) {
        let options = request.options
        let key = (options.parts.keyFilter ?? filter)?(request.url) ?? options.fileKey(request.url)
        self.init(original: key, options, transformer: options.transformer(or: transformer))
    }

    /// Creates the keys for a file whose key is known.
    ///
    /// - Parameters:
    ///   - original: the file's key, already filtered.
    ///   - transformer: the transformer of the decoded image; the transformer in the options is ignored.
    package init(original: String, _ options: LoadOptions, transformer: (any ImageTransformer)? = nil) {
        self.original = original
        var decoded = original
        if let (size, fit) = options.decode.size.thumbnail {
            decoded = thumbnailKey(decoded, size, preservesAspectRatio: fit == .inside)
        }
        let variant = options.decodeVariant
        if !variant.isEmpty { decoded = transformedKey(decoded, variant) }
        self.decoded = decoded
        var result = decoded
        if let transformer {
            result = transformedKey(result, transformer.key)
            // Without this option animations stay untransformed, so one transformer has two different results.
            if options.animation.transformsFrames { result = transformedKey(result, "Frames") }
        }
        let stored = options.storedVariant
        if !stored.isEmpty { result = transformedKey(result, stored) }
        self.result = result
    }

    /// Whether the result is the unchanged decoded file.
    package var isOriginal: Bool { original.utf8.elementsEqual(result.utf8) }
}

extension LoadOptions {
    /// Returns the key of a URL's file, including everything in the request that may change the server's answer.
    func fileKey(_ url: String) -> String {
        let (fragment, hasBracket) = Self.marks(url.utf8Span.span)
        var base = url
        if let fragment, Self.isWeb(url) {
            base = String(url[..<url.utf8.index(url.startIndex, offsetBy: fragment)])
        }
        // The common case; it determines the cost of a memory cache lookup.
        if request.headers.isEmpty, request.credential == nil, !request.handlesCookies,
            !request.allowsInvalidCertificates
        {
            // Without the suffix, the URL could equal the key of another file's thumbnail.
            return hasBracket && Self.isWeb(url) ? "\(base)#File" : base
        }
        var parts = request.headers.map { "\($0.key.lowercased()): \($0.value)" }.sorted()
        if let credential = request.credential { parts.append(credential.basic) }
        if request.handlesCookies { parts.append("cookies") }
        if request.allowsInvalidCertificates { parts.append("any certificate") }
        let digest = SHA256.hexDigest(of: Array(parts.joined(separator: "\n").utf8))
        return "\(base)#Request(\(digest.prefix(32)))"
    }

    /// Finds the start of the fragment, and whether a "(" precedes it.
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

    /// The options that make the image on disk differ from the image in memory.
    var storedVariant: String {
        var parts: [String] = []
        if let size = cache.encode.maxPixelSize { parts.append("within=\(size.width)x\(size.height)") }
        if cache.encode.firstFrameOnly { parts.append("first") }
        return parts.isEmpty ? "" : "Stored(\(parts.joined(separator: ",")))"
    }

    /// Returns the transformer of the options, or `standard` if the options leave the choice to the manager.
    package func transformer(or standard: (any ImageTransformer)?) -> (any ImageTransformer)? {
        switch transformer {
        case .standard: standard
        case .none: nil
        case .custom(let transformer): transformer
        }
    }

    /// The options besides the thumbnail size that change pixels; empty if there are none.
    ///
    /// Names and values are escaped and contain no character with a meaning in keys, so different options never make
    /// equal keys.
    var decodeVariant: String {
        var parts: [String] = []
        switch decode.part {
        case nil: break
        case .rect(let part): parts.append("region=\(part.width)x\(part.height)+\(part.x)+\(part.y)")
        case .aspect(let width, let height): parts.append("region=\(width):\(height)")
        case .size(let size): parts.append("region=\(size)")
        }
        switch decode.size {
        case .full: break
        case .box where decode.size.thumbnail != nil: break
        case .box(let size, let fit, let enlarging):
            parts.append("box=\(size),\(fit)\(enlarging ?? fit.enlarges ? ",enlarging" : "")")
        case .scaled(let factor): parts.append("scaled=\(factor)")
        case .limited(let limit): parts.append("limit=\(limit)")
        }
        if decode.cropPosition != .center { parts.append("crop=\(decode.cropPosition)") }
        if decode.resampling.filter != Resampling().filter { parts.append("filter=\(decode.resampling.filter)") }
        if decode.resampling.linearLight { parts.append("linear") }
        if !decode.usesEmbeddedThumbnail { parts.append("whole") }
        if decode.appliesOrientation { parts.append("upright") }
        if decode.colors != .stored { parts.append("colors=\(decode.colors)") }
        if let type = decode.hint.type { parts.append("type=\(escaped(type))") }
        if let suffix = decode.hint.fileExtension { parts.append("extension=\(escaped(suffix))") }
        if let coder = self.parts.coder { parts.append("coder=\(escaped(coder))") }
        switch kind {
        case .any: if decode.firstFrameOnly { parts.append("first") }
        case .still: parts.append("first")
        // The first frame as an animation of one frame.
        case .animated: parts.append(decode.firstFrameOnly ? "animated,first" : "animated")
        }
        let values = decode.coder.values.map { (name: escaped($0.key), value: text($0.value)) }
        // Sorted by the escaped names, so that equal options make equal keys.
        for (name, value) in values.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            parts.append("\(name):\(value)")
        }
        return parts.isEmpty ? "" : "Decode(\(parts.joined(separator: ",")))"
    }

    /// Encodes a value with its type, because coders may distinguish `1` from `true`.
    private func text(_ value: OptionValue) -> String {
        switch value {
        case .bool(let value): value ? "b1" : "b0"
        case .integer(let value): "i\(value)"
        // Different numbers have different digits, also 0.0 and -0.0.
        case .real(let value): value.isNaN ? "rnan" : "r\(escaped("\(value)"))"
        case .string(let value): "s\(escaped(value))"
        case .bytes(let value):
            value.count <= 32 ? "x\(SHA256.hex(value))" : "h\(value.count).\(SHA256.hexDigest(of: value))"
        }
    }

    /// Keeps letters, digits and "-", and replaces every other byte by "_" and two hexadecimal digits.
    ///
    /// The result cannot be mistaken for a part of a path or a URL. Long texts become their digest.
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

extension DecodedSize {
    /// The box and the fit of a thumbnail as in SDWebImage, which is never enlarged; the key names it.
    fileprivate var thumbnail: (PixelSize, Fit)? {
        guard case .box(let size, let fit, let enlarging) = self, fit == .inside || fit == .fill,
            !(enlarging ?? fit.enlarges)
        else { return nil }
        return (size, fit)
    }
}
