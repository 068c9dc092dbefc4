import ImageModel
import PluginRuntime

/// Moves texts and IPTC records that a format cannot store into its XMP packet, and names the losses.
struct TextTransfer {
    private var texts = XMPTexts()
    private var taken: Set<MetadataBlob.Kind> = []
    private var lostKeys: [String] = []
    private var lostDataSets: [String] = []
    private let storesXMP: Bool

    /// The number of names in a warning.
    private static let mostNames = 8

    init(to coder: CoderDescriptor) { storesXMP = coder.output.carries.contains("xmp") }

    var isEmpty: Bool { texts.isEmpty }

    /// Takes a blob that the encoder refused; false if nothing of it fits.
    mutating func take(_ blob: MetadataBlob) -> Bool {
        // Such text repeats metadata that the image also has in its regular form.
        guard storesXMP, blob.kindInText == nil else { return false }
        switch blob.kind {
        case .text:
            if let key = blob.key, texts.add(key, blob.bytes) {
                taken.insert(.text)
            } else {
                lostKeys.append(blob.key ?? "without a name")
            }
            return true
        case .iptc:
            let (lost, isTaken) = texts.add(iptc: blob.bytes)
            guard isTaken else { return lost.isEmpty }
            lostDataSets += lost
            taken.insert(.iptc)
            return true
        case .exif, .xmp, .icc, .raw: return false
        }
    }

    /// Returns the packet with the texts.
    mutating func merged(into packet: MetadataBlob?) -> MetadataBlob {
        let (bytes, left) = texts.merged(into: packet?.bytes)
        lostKeys += left
        return MetadataBlob(.xmp, bytes, key: packet?.key)
    }

    /// Warns of texts without a place in XMP.
    func warn(_ context: SessionContext) {
        Self.warn(of: "text", lostKeys, isAll: !taken.contains(.text) && !taken.contains(.iptc), context)
        Self.warn(of: "iptc", lostDataSets, isAll: !taken.contains(.iptc), context)
    }

    private static func warn(of kind: String, _ names: [String], isAll: Bool, _ context: SessionContext) {
        if names.isEmpty { return }
        if isAll {
            context.warn("the format cannot store \(kind) metadata: it is left out")
            return
        }
        let more = names.count > mostNames ? " and \(names.count - mostNames) more" : ""
        let list = names.prefix(mostNames).joined(separator: ", ")
        context.warn("the format stores \(kind) metadata as XMP, without a place for \(list)\(more): left out")
    }
}
