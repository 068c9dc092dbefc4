internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The boxes at the top of the file, as far as a still picture needs them.
///
///     ftyp | meta | mdat …        in any order behind ftyp, with others in between
///     ftyp | mini                 the short form
///
/// - Source: ISO/IEC 14496-12 sections 4.3 and 8.11.1; ISO/IEC 23008-12 annex O.
struct Container {
    let table: ItemTable
    /// Whether a `mini` box stands for the `meta` box.
    var isMini = false

    /// Finds the `meta` box, or the `mini` box that stands for one, and reads it.
    ///
    /// - Throws: `.notMine` for another kind of file, `.needsInput` until the box is there.
    init(_ session: DecoderSession) throws(CoderError) {
        let source = session.source
        let limits = session.limits
        var reader = ByteReader(source)
        guard try Self.isFileType(&reader) else { throw .notMine() }
        reader.offset = 0
        let start = try Self.box(&reader)
        let brands = reader.offset
        reader.offset = start.end ?? source.available
        var hasMovie = false
        while !(source.isComplete && reader.offset >= source.available) {
            let (type, end) = try Self.box(&reader)
            if type == "meta" {
                let count = (end ?? source.available) - reader.offset
                let allowed = limits.maxInputBytes > 0 ? min(limits.maxInputBytes, Self.largest) : Self.largest
                if count > allowed { throw .limit("bytes of the meta box", allowed: allowed, requested: count) }
                table = try ItemTable(reader.bytes(count))
                return
            }
            if type == "mini" {
                let image = try MiniImage(session, reader.offset, end: end, brandsAt: brands)
                table = try ItemTable(MiniBoxes(image).meta)
                isMini = true
                return
            }
            if type == "moov" { hasMovie = true }
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

    /// Throws `.corrupt` where libheif would take another list of items than this reader.
    ///
    /// - Parameter source: complete.
    static func checkPlaces(in source: ByteSource) throws(CoderError) {
        var reader = ByteReader(source)
        var seen: Set<FourCC> = []
        // libheif ignores a header that the end of the file cuts.
        while let (type, end) = try? box(&reader) {
            try BoxPlaces.check(type, in: "file", &seen)
            guard let end else { return }
            reader.offset = end
        }
    }

    /// A `meta` box holds no pixels but those of tiny images.
    private static let largest = 16 << 20

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
