/// A pattern for the first and last bytes of a format; pure data, so recognizing a file runs no plugin code.
package struct Signature: Sendable, Hashable {
    /// A condition. The host implements the container parsers; the plugin supplies the values to find.
    package enum Rule: Sendable, Hashable {
        /// Bytes at an offset from the start, or from the end if negative; `mask` selects bits.
        case bytes(at: Int, [UInt8], mask: [UInt8])
        /// The major brand or a compatible brand of an ISO base media file.
        case brands([[UInt8]])
        /// The form of a RIFF file.
        case riff([UInt8])
        /// Masked bytes in the first chunk of a RIFF file, which must have this tag.
        case riffChunk(form: [UInt8], chunk: [UInt8], at: Int, [UInt8], mask: [UInt8])
        /// A chunk that comes before another one in a file of length-type-data-checksum chunks.
        case chunk([UInt8], before: [UInt8], from: Int)
        /// Bytes that start anywhere within the first `within` bytes.
        case find([UInt8], within: Int)
        /// The local name of an XML document's root element, and its namespace.
        case xmlRoot([UInt8], namespace: [UInt8]?)
        /// A tag in the first directory of a TIFF or BigTIFF file.
        case tiffTag(Int)
        /// A rule for the start of a gzip file's content.
        indirect case gzip(Rule)
    }

    /// The rules, all of which must match.
    package var rules: [Rule]
    /// The rank among matching signatures; higher wins.
    package var rank: Int

    /// Creates a signature.
    package init(rules: [Rule], rank: Int = 0) {
        self.rules = rules
        self.rank = rank
    }
}
