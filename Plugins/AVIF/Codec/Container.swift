internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The top-level boxes of a file.
enum Container {
    /// Throws unless a `ftyp` box with one of the two brands comes first; returns whether the file shows a sequence.
    ///
    /// - Source: AV1 Image File Format section 6.
    static func brands(_ source: ByteSource) throws(CoderError) -> Bool {
        var reader = ByteReader(source)
        do throws(CoderError) {
            let size = Int(try reader.u32BE())
            guard try reader.consume(Array("ftyp".utf8)), size >= 16, size <= 4096 else { throw CoderError.notMine() }
            let brands = try reader.bytes(size - 8)
            let major = brands.prefix(4)
            let all = [major] + stride(from: 8, through: brands.count - 4, by: 4).map { brands[$0..<$0 + 4] }
            guard all.contains(where: { $0.elementsEqual("avif".utf8) || $0.elementsEqual("avis".utf8) }) else {
                throw CoderError.notMine()
            }
            return major.elementsEqual("avis".utf8)
        } catch {
            throw error.code == .truncated ? .notMine() : error
        }
    }

    /// Returns the payload of the first top-level box of this type; nil if it is missing or incomplete.
    static func payload(_ type: FourCC, of source: ByteSource, atMost limit: Int) -> [UInt8]? {
        guard let payload = range(of: type, in: source), payload.count <= limit,
            payload.upperBound <= source.available
        else { return nil }
        return source.bytes(payload)
    }

    /// Returns the range of the payload of the first top-level box of this type, as its header declares it.
    static func range(of type: FourCC, in source: ByteSource) -> Range<Int>? {
        var reader = ByteReader(source)
        while let (found, payload) = try? header(&reader) {
            if found == type { return payload }
            reader.offset = payload.upperBound
        }
        return nil
    }

    /// Whether a top-level box reaches behind the end of the file.
    static func isCut(_ source: ByteSource) -> Bool {
        var reader = ByteReader(source)
        let count = source.available
        while reader.offset < count {
            guard let (_, payload) = try? header(&reader) else { return reader.offset + 8 > count }
            if payload.upperBound > count { return true }
            reader.offset = payload.upperBound
        }
        return false
    }

    private static func header(_ reader: inout ByteReader) throws(CoderError) -> (type: FourCC, payload: Range<Int>) {
        let start = reader.offset
        var size = UInt64(try reader.u32BE())
        let type = FourCC(try reader.u32BE())
        if size == 1 { size = UInt64(try reader.u32BE()) << 32 | UInt64(try reader.u32BE()) }
        if size == 0 { return (type, reader.offset..<max(reader.offset, reader.source.available)) }
        guard let length = Int(exactly: size), length >= reader.offset - start, length <= Int.max / 2 else {
            throw .corrupt("a box has an invalid size", at: start)
        }
        return (type, reader.offset..<start + length)
    }
}
