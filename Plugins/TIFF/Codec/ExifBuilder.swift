internal import CoderPluginKit
internal import ImageModel

/// Builds an Exif stream of its own from the directories of a TIFF.
///
/// The fields of the camera and the author move into IFD0; the Exif, GPS and interoperability directories follow. Values
/// keep the byte order of the file; only the positions change.
///
/// - Source: CIPA DC-008-2023 section 4.6.
struct ExifBuilder {
    private let reader: DirectoryReader
    private let warn: (String) -> Void

    /// The fields of IFD0 that describe the image and not its storage.
    private static let described: Set<Int> = [
        270, 271, 272, 274, 282, 283, 296, 301, 305, 306, 315, 316, 318, 319, 529, 531, 532, 18_246, 18_249, 33_432,
        40_091, 40_092, 40_093, 40_094, 40_095,
    ]
    /// Fields that every TIFF has: they alone are no Exif.
    private static let common: Set<Int> = [274, 282, 283, 296]
    static let (exif, gps, interoperability) = (34_665, 34_853, 40_965)

    init(_ reader: DirectoryReader, warn: @escaping (String) -> Void) {
        self.reader = reader
        self.warn = warn
    }

    /// Returns the stream; empty if the directory has nothing to report.
    func exif(of directory: Directory) -> [UInt8] {
        var fields = directory.entries.filter { Self.described.contains($0.tag) }.compactMap(field)
        let exif = below(directory, Self.exif)
        let gps = below(directory, Self.gps)
        guard exif != nil || gps != nil || fields.contains(where: { !Self.common.contains($0.tag) }) else { return [] }
        var exifFields = (exif?.entries ?? []).compactMap(field)
        let interoperability = exif.flatMap { below($0, Self.interoperability) }
        if let interoperability {
            exifFields.append(
                DirectoryWriter.Field(Self.interoperability, interoperability.entries.compactMap(field)))
        }
        if exif != nil { fields.append(DirectoryWriter.Field(Self.exif, exifFields)) }
        if let gps { fields.append(DirectoryWriter.Field(Self.gps, gps.entries.compactMap(field))) }
        let writer = DirectoryWriter(isBigEndian: reader.isBigEndian, isBig: false)
        let head: [UInt8] = reader.isBigEndian ? [0x4D, 0x4D, 0, 42, 0, 0, 0, 8] : [0x49, 0x49, 42, 0, 8, 0, 0, 0]
        return head + writer.bytes(of: fields, at: 8)
    }

    private func below(_ directory: Directory, _ tag: Int) -> Directory? {
        reader.numbers(directory[tag]).first.flatMap(reader.directory)
    }

    private func field(_ entry: Directory.Entry) -> DirectoryWriter.Field? {
        // The builder writes new pointers; it keeps a maker note as it is.
        if [Self.exif, Self.gps, Self.interoperability].contains(entry.tag) { return nil }
        // 64-bit numbers exist in a BigTIFF alone.
        guard entry.type < 16 else {
            warn("field \(entry.tag) of Exif has 64-bit numbers and is dropped")
            return nil
        }
        return DirectoryWriter.Field(entry.tag, type: entry.type, reader.source.bytes(entry.value))
    }
}

/// Writes directories with their values behind them.
struct DirectoryWriter {
    struct Field {
        enum Value {
            case bytes([UInt8])
            case directory([Field])
        }
        let tag: Int
        let type: Int
        let value: Value

        init(_ tag: Int, type: Int, _ bytes: [UInt8]) {
            (self.tag, self.type, value) = (tag, type, .bytes(bytes))
        }
        init(_ tag: Int, _ fields: [Field]) { (self.tag, type, value) = (tag, 4, .directory(fields)) }
    }

    let isBigEndian: Bool
    let isBig: Bool

    /// Returns a directory that will be at `place`, with a link to the next one; 0 for none.
    func bytes(of fields: [Field], at place: Int, next: Int = 0) -> [UInt8] {
        let wide = isBig ? 8 : 4
        // Each tag once, in ascending order.
        var seen: Set<Int> = []
        let fields = fields.filter { seen.insert($0.tag).inserted }.sorted { $0.tag < $1.tag }
        var head = number(fields.count, isBig ? 8 : 2)
        var tail: [UInt8] = []
        let end = place + head.count + fields.count * (isBig ? 20 : 12) + wide
        for field in fields {
            head += number(field.tag, 2)
            switch field.value {
            case .bytes(let bytes):
                let width = max(1, Directory.width(of: field.type))
                head += number(field.type, 2) + number(bytes.count / width, wide)
                if bytes.count <= wide {
                    head += bytes + [UInt8](repeating: 0, count: wide - bytes.count)
                } else {
                    head += number(end + tail.count, wide)
                    tail += bytes.count % 2 == 0 ? bytes : bytes + [0]
                }
            case .directory(let inner):
                head += number(field.type, 2) + number(1, wide) + number(end + tail.count, isBig ? 4 : wide)
                if isBig { head += [0, 0, 0, 0] }
                let written = bytes(of: inner, at: end + tail.count)
                tail += written.count % 2 == 0 ? written : written + [0]
            }
        }
        return head + number(next, wide) + tail
    }

    /// Returns a number in the byte order of the file.
    func number(_ value: Int, _ width: Int) -> [UInt8] {
        (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * (isBigEndian ? width - 1 - $0 : $0))) }
    }
}
