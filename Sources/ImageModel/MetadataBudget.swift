/// Counts the metadata of one image against the limits for one piece and for all pieces together.
package struct MetadataBudget: Sendable {
    /// The largest number of bytes in a key.
    package static let maxKeyBytes = 4096
    /// The largest piece in bytes when no limit is set: a piece is sent between processes as one message.
    package static let maxPieceBytes = 60 << 20
    /// The largest number of pieces in one image.
    package static let maxCount = 256

    private let each: Int
    private let total: Int
    private var used = 0
    private var count = 0

    /// Creates a budget from limits.
    package init(_ limits: DecodeLimits) {
        let limit = limits.maxMetadataBytes
        each = limit > 0 ? min(limit, Self.maxPieceBytes) : Self.maxPieceBytes
        total = limits.maxTotalMetadataBytes > 0 ? limits.maxTotalMetadataBytes : .max
    }

    /// The number of bytes that the next piece may have.
    package var room: Int { min(each, total - used) }

    /// Counts a piece, or returns the reason for leaving it out.
    ///
    /// - Parameters:
    ///   - name: the kind of the piece, for the message.
    ///   - bytes: the length of the piece, without its key.
    ///   - keyBytes: the length of its key; any number above ``maxKeyBytes`` stands for a longer key.
    package mutating func refusal(of name: String, bytes: Int, keyBytes: Int = 0) -> String? {
        if keyBytes > Self.maxKeyBytes {
            return "\(name) metadata is left out: its key is longer than \(Self.maxKeyBytes) bytes"
        }
        if bytes > each {
            return "\(name) metadata of \(bytes) bytes is left out: the limit for one piece is \(each); "
                + CoderError.Limit.hint("metadata")
        }
        if bytes > total - used {
            return "\(name) metadata of \(bytes) bytes is left out: all metadata together would pass the limit of "
                + "\(total); " + CoderError.Limit.hint("all-metadata")
        }
        if count == Self.maxCount { return "metadata is left out: there are more than \(Self.maxCount) pieces" }
        used += bytes
        count += 1
        return nil
    }
}
