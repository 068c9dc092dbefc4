internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The top-level boxes of the file that a still image needs.
///
///     ftyp | meta | mdat …        in any order behind ftyp, with others in between
///     ftyp | mini                 the short header
///
/// - Source: ISO/IEC 14496-12 sections 4.3 and 8.11.1; ISO/IEC 23008-12 annex O.
struct Container {
    let table: ItemTable
    /// Whether a `mini` box replaces the `meta` box.
    var isMini = false

    /// Finds and reads the `meta` box, or the `mini` box that replaces it.
    ///
    /// - Throws: `.notMine` for another kind of file, `.needsInput` until the box is complete.
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
        if hasMovie {
            let frames = FrameTrack.frameCount(in: source).map { " of \($0) frames" } ?? ""
            throw .unsupported("an image sequence\(frames) without a still image")
        }
        throw .corrupt("the file has no meta box")
    }

    /// Whether a `ftyp` box comes first; false for a file that is too short for one.
    private static func isFileType(_ reader: inout ByteReader) throws(CoderError) -> Bool {
        do {
            return try box(&reader).type == "ftyp"
        } catch {
            if error.code == .truncated || error.code == .corrupt { return false }
            throw error
        }
    }

    /// Throws `.corrupt` if libheif would use another list of items than this reader.
    ///
    /// - Parameter source: must be complete.
    static func checkPlaces(in source: ByteSource) throws(CoderError) {
        var reader = ByteReader(source)
        var seen: Set<FourCC> = []
        // libheif ignores a header that is cut at the end of the file.
        while let (type, end) = try? box(&reader) {
            try BoxPositions.check(type, in: "file", &seen)
            guard let end else { return }
            reader.offset = end
        }
    }

    /// Returns the payload of the first top-level box of a type; nil if it is missing, incomplete or too large.
    static func payload(_ type: FourCC, of source: ByteSource) -> [UInt8]? {
        var reader = ByteReader(source)
        while let (found, end) = try? box(&reader) {
            let end = end ?? source.available
            if found == type {
                guard end >= reader.offset, end <= source.available, end - reader.offset <= largest else { return nil }
                return source.bytes(reader.offset..<end)
            }
            reader.offset = end
        }
        return nil
    }

    /// The maximum size of a `meta` box; it holds pixels only of tiny images.
    private static let largest = 16 << 20

    /// Reads a box header; the end is nil for a box up to the end of the file.
    private static func box(_ reader: inout ByteReader) throws(CoderError) -> (type: FourCC, end: Int?) {
        let start = reader.offset
        var size = UInt64(try reader.u32BE())
        let type = FourCC(try reader.u32BE())
        if size == 1 { size = UInt64(try reader.u32BE()) << 32 | UInt64(try reader.u32BE()) }
        if size == 0 { return (type, nil) }
        guard let length = Int(exactly: size), length >= reader.offset - start else {
            throw .corrupt("the box '\(type)' has an invalid size", at: start)
        }
        let (end, overflow) = start.addingReportingOverflow(length)
        guard !overflow else { throw .corrupt("the box '\(type)' has an invalid size", at: start) }
        return (type, end)
    }
}
