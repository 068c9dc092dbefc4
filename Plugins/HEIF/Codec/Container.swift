internal import CoderPluginKit
internal import ImageModel

/// The boxes at the top of the file, as far as a still picture needs them.
///
///     ftyp | meta | mdat …        in any order behind ftyp, with others in between
///
/// - Source: ISO/IEC 14496-12 sections 4.3 and 8.11.1.
enum Container {
    /// Finds the `meta` box and reads it.
    ///
    /// - Throws: `.notMine` for another kind of file, `.needsInput` until the box is there.
    static func read(_ source: ByteSource, limits: DecodeLimits) throws(CoderError) -> ItemTable {
        var reader = ByteReader(source)
        guard try isFileType(&reader) else { throw .notMine() }
        reader.offset = 0
        reader.offset = try box(&reader).end ?? source.available
        var hasMovie = false
        while !(source.isComplete && reader.offset >= source.available) {
            let (type, end) = try box(&reader)
            if type == "meta" {
                let count = (end ?? source.available) - reader.offset
                let allowed = limits.maxInputBytes > 0 ? min(limits.maxInputBytes, largest) : largest
                if count > allowed { throw .limit("bytes of the meta box", allowed: allowed, requested: count) }
                return try ItemTable(reader.bytes(count))
            }
            if type == "moov" { hasMovie = true }
            if type == "mini" { throw .unsupported("a file with the short 'mini' header") }
            guard let end else { break }
            reader.offset = end
        }
        if hasMovie { throw .unsupported("an image sequence without a still picture") }
        throw .corrupt("the file has no meta box")
    }

    /// Whether a `ftyp` box comes first; a file too short for one is none of this family.
    private static func isFileType(_ reader: inout ByteReader) throws(CoderError) -> Bool {
        do {
            return try box(&reader).type == "ftyp"
        } catch {
            if error.code == .truncated || error.code == .corrupt { return false }
            throw error
        }
    }

    /// A `meta` box holds no pixels but those of tiny pictures.
    private static let largest = 64 << 20

    /// Reads a box header; the end is nil for a box up to the end of the file.
    private static func box(_ reader: inout ByteReader) throws(CoderError) -> (type: FourCC, end: Int?) {
        let start = reader.offset
        var size = UInt64(try reader.u32BE())
        let type = FourCC(try reader.u32BE())
        if size == 1 { size = UInt64(try reader.u32BE()) << 32 | UInt64(try reader.u32BE()) }
        if size == 0 { return (type, nil) }
        guard let length = Int(exactly: size), length >= reader.offset - start else {
            throw .corrupt("the box '\(type)' has a size that cannot be", at: start)
        }
        let (end, overflow) = start.addingReportingOverflow(length)
        guard !overflow else { throw .corrupt("the box '\(type)' has a size that cannot be", at: start) }
        return (type, end)
    }
}
