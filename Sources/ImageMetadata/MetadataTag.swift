public import ImageModel

/// One tag of an image's metadata, named as exiftool names it.
///
///     let tags = MetadataTag.read(from: image.metadata)
///     let camera = tags.first { $0.name == "Model" }?.text
///
/// The reader is part of this package, in safe Swift with bounded work, because Exif and XMP are untrusted bytes: a C++
/// library under the GPL, such as exiv2, would need a sandbox and a license that plugins of this project do not have.
public struct MetadataTag: Sendable, Hashable {
    /// The value without formatting.
    public enum Value: Sendable, Hashable {
        /// A whole number.
        case integer(Int)
        /// Any other number.
        case real(Double)
        /// A text, or several numbers separated by spaces.
        case text(String)
        /// The texts of a list.
        case list([String])
    }

    /// The part of the metadata, such as `IFD0`, `GPS` or `XMP-dc`.
    public var group: String
    /// The name, such as `DateTimeOriginal`.
    public var name: String
    /// The value without formatting, such as `0.008`.
    public var value: Value
    /// The value as people read it, such as `1/125`.
    public var text: String

    package init(_ group: String, _ name: String, _ value: Value, text: String? = nil) {
        self.group = group
        self.name = name
        self.value = value
        self.text = text ?? value.plain
    }

    /// The largest number of tags from one image.
    package static let maxCount = 20_000

    /// Reads all known tags of an image's metadata, in the order of the file; damaged parts are left out.
    ///
    /// - Complexity: linear in the number of bytes, with at most 20,000 tags.
    public static func read(from metadata: [MetadataBlob]) -> [MetadataTag] {
        var omissions: [String] = []
        return read(from: metadata, omissions: &omissions)
    }

    /// Reads all known tags of an image's metadata.
    ///
    /// - Parameter omissions: receives a warning for each part that is left out.
    package static func read(from metadata: [MetadataBlob], omissions: inout [String]) -> [MetadataTag] {
        var tags: [MetadataTag] = []
        for blob in metadata {
            switch blob.kind {
            case .exif:
                var reader = ExifReader(blob.bytes)
                tags += reader?.read() ?? []
            case .xmp: tags += XMPReader.read(blob.bytes, omissions: &omissions)
            case .iptc: tags += IPTCReader.read(blob.bytes)
            case .icc: tags += ICCReader.read(blob.bytes)
            case .text where blob.kindInText == nil:
                tags.append(text(blob))
                if blob.bytes.count > Texts.maxBytes { omissions.append(Texts.omission(tags[tags.count - 1].name)) }
            case .text, .raw: continue
            }
            if tags.count > maxCount {
                omissions.append("the tags after the first \(maxCount) are left out")
                tags = Array(tags.prefix(maxCount))
                break
            }
        }
        return tags + CompositeTags.of(tags)
    }

    /// Whether a name as typed means this tag: `Model` or `IFD0:Model`, without regard to case.
    public func matches(_ typed: String) -> Bool {
        let parts = typed.lowercased().split(separator: ":", maxSplits: 1)
        guard let last = parts.last, name.lowercased() == last else { return false }
        let own = group.lowercased()
        return parts.count == 1 || own == parts[0] || own.hasPrefix(parts[0] + "-")
    }

    private static func text(_ blob: MetadataBlob) -> MetadataTag {
        let key = blob.key ?? "Text"
        var name = ""
        var isStart = true
        for character in key.prefix(200) {
            guard character.isASCII, character.isLetter || character.isNumber || character == "-" else {
                isStart = true
                continue
            }
            name += isStart ? character.uppercased() : String(character)
            isStart = false
        }
        return MetadataTag("Text", name.isEmpty ? "Text" : name, .text(Texts.decoded(blob.bytes)))
    }
}

extension MetadataTag.Value {
    /// The value as text.
    public var plain: String {
        switch self {
        case .integer(let number): String(number)
        case .real(let number): Numbers.text(number)
        case .text(let text): text
        case .list(let texts): texts.joined(separator: ", ")
        }
    }

    /// The value as a number, if it is one.
    package var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .real(let number): number
        case .text, .list: nil
        }
    }
}
