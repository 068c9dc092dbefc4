internal import CoderPluginKit
internal import ImageModel

/// One box: its type and where its payload stands.
///
///     | size 4 | type 4 | [size 8, if size = 1] | payload … |          size 0: up to the end
///
/// - Source: ISO/IEC 14496-12 section 4.2.
struct Box {
    let type: UInt32
    let payload: Range<Int>

    /// The number four letters stand for.
    static func type(_ letters: StaticString) -> UInt32 {
        precondition(letters.utf8CodeUnitCount == 4)
        return "\(letters)".utf8.reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// A bounds-checked cursor over bytes that are all there; nothing behind their end.
struct BoxCursor {
    let bytes: [UInt8]
    private(set) var offset: Int
    let end: Int

    init(_ bytes: [UInt8], _ range: Range<Int>? = nil) {
        self.bytes = bytes
        offset = range?.lowerBound ?? 0
        end = range?.upperBound ?? bytes.count
    }

    mutating func uint(_ count: Int) -> UInt64? {
        guard count <= 8, end - offset >= count else { return nil }
        let value = bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
        offset += count
        return value
    }

    mutating func skip(_ count: Int) -> Bool {
        guard count >= 0, end - offset >= count else { return false }
        offset += count
        return true
    }

    /// Steps over the next box and answers it; nil at the end, and where no box can be.
    mutating func box() -> Box? {
        let start = offset
        guard var size = uint(4), let type = uint(4) else { return nil }
        if size == 1 { size = uint(8) ?? 0 } else if size == 0 { size = UInt64(end - start) }
        guard let length = Int(exactly: size), length >= offset - start, length <= end - start else { return nil }
        let payload = offset..<start + length
        offset = payload.upperBound
        return Box(type: UInt32(type), payload: payload)
    }

    func inside(_ box: Box) -> BoxCursor { BoxCursor(bytes, box.payload) }

    /// The first box of that type from here on.
    func first(_ type: StaticString) -> BoxCursor? {
        let wanted = Box.type(type)
        var cursor = self
        while let box = cursor.box() {
            if box.type == wanted { return inside(box) }
        }
        return nil
    }

    /// All boxes of that type from here on, up to the first that cannot be read.
    func all(_ type: StaticString) -> [BoxCursor] {
        let wanted = Box.type(type)
        var cursor = self
        var found: [BoxCursor] = []
        while let box = cursor.box() {
            if box.type == wanted { found.append(inside(box)) }
        }
        return found
    }

    /// The version of a full box that begins here; nil where no byte is left.
    var version: UInt8? { offset < end ? bytes[offset] : nil }

    /// Steps down a path of boxes.
    func first(_ path: StaticString...) -> BoxCursor? {
        var cursor = self
        for type in path {
            guard let next = cursor.first(type) else { return nil }
            cursor = next
        }
        return cursor
    }
}

/// The boxes at the top of a file.
enum Container {
    /// Throws unless a `ftyp` box with one of the two brands comes first; answers whether a sequence is to be shown.
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

    /// The payload of the first such box at the top of the file; nil if it is not there, or not all of it.
    static func payload(_ type: StaticString, of source: ByteSource, atMost limit: Int) -> [UInt8]? {
        guard let payload = range(of: type, in: source), payload.count <= limit,
            payload.upperBound <= source.available
        else { return nil }
        return source.bytes(payload)
    }

    /// Where the payload of the first such box at the top of the file stands, as far as the box says.
    static func range(of type: StaticString, in source: ByteSource) -> Range<Int>? {
        var reader = ByteReader(source)
        while let (found, payload) = try? header(&reader) {
            if found == Box.type(type) { return payload }
            reader.offset = payload.upperBound
        }
        return nil
    }

    /// Whether a box at the top reaches behind the end of the file.
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

    private static func header(_ reader: inout ByteReader) throws(CoderError) -> (type: UInt32, payload: Range<Int>) {
        let start = reader.offset
        var size = UInt64(try reader.u32BE())
        let type = try reader.u32BE()
        if size == 1 { size = UInt64(try reader.u32BE()) << 32 | UInt64(try reader.u32BE()) }
        if size == 0 { return (type, reader.offset..<max(reader.offset, reader.source.available)) }
        guard let length = Int(exactly: size), length >= reader.offset - start, length <= Int.max / 2 else {
            throw .corrupt("a box has a size that cannot be", at: start)
        }
        return (type, reader.offset..<start + length)
    }
}
