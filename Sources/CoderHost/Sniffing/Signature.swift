/// What the first and last bytes of a format look like; data, so that no plugin code runs to recognise a file.
public struct Signature: Sendable, Hashable {
    /// One condition. Container probes are written once here; which values they look for is the plugin's word.
    public enum Rule: Sendable, Hashable {
        /// Bytes at an offset from the start, or from the end when negative; `mask` picks bits.
        case bytes(at: Int, [UInt8], mask: [UInt8])
        /// The major brand or a compatible brand of an ISO base media file.
        case brands([[UInt8]])
        /// The form of a RIFF file.
        case riff([UInt8])
        /// Masked bytes inside the first chunk of a RIFF file, which must have this tag.
        case riffChunk(form: [UInt8], chunk: [UInt8], at: Int, [UInt8], mask: [UInt8])
        /// A chunk of a length-type-data-checksum file that stands before another.
        case chunk([UInt8], before: [UInt8], from: Int)
        /// Bytes that begin anywhere in the first `within` ones.
        case find([UInt8], within: Int)
        /// The name of the root element of an XML document, without its prefix, and the namespace that it is in.
        case xmlRoot([UInt8], namespace: [UInt8]?)
        /// A tag of the first directory of a TIFF or BigTIFF file.
        case tiffTag(Int)
        /// A rule for the beginning of what a gzip file holds.
        indirect case gzip(Rule)
    }

    /// All of them must hold.
    public var rules: [Rule]
    /// Higher wins between signatures that hold at the same time.
    public var rank: Int

    public init(rules: [Rule], rank: Int = 0) {
        self.rules = rules
        self.rank = rank
    }
}
