import CoderPluginKit
import ImageModel
import TestSupport
import Testing

/// A file with further images and an index of them.
struct HandmadeAlbum {
    var first: [UInt8]
    /// Attribute words and files.
    var others: [(kind: Int, bytes: [UInt8])]
    var firstKind = 0x2003_0000
    var isBigEndian = true
    /// Changes the entries before they are written: size and offset.
    var edit: (inout [(size: Int, offset: Int)]) -> Void = { _ in }
    /// The number of images that the index declares.
    var count: Int?

    init(_ others: [(kind: Int, bytes: [UInt8])], behind first: String = "baseline-420.jpg") throws {
        self.first = try #require(readFile(Repository.fixture("jpeg/\(first)")))
        self.others = others
    }

    private func index(_ entries: [(size: Int, offset: Int)]) -> [UInt8] {
        JPEGSegments.multiPicture(
            entries, kinds: [firstKind] + others.map(\.kind), count: count, isBigEndian: isBigEndian)
    }

    var bytes: [UInt8] {
        let size = first.count + index([(0, 0)] + others.map { _ in (0, 0) }).count
        var entries = [(size: size, offset: 0)]
        // Behind the start marker, the marker, its length and name.
        var offset = size - 10
        for other in others {
            entries.append((other.bytes.count, offset))
            offset += other.bytes.count
        }
        edit(&entries)
        return Array(first[..<2]) + index(entries) + Array(first[2...]) + others.flatMap(\.bytes)
    }
}

/// A file that is read piece by piece, with a count of the bytes read.
final class Pieces {
    private let bytes: [UInt8]
    private let log = Log()

    private final class Log { var total = 0 }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var total: Int { log.total }

    var source: ByteSource {
        ByteSource(count: bytes.count) { [bytes, log] range throws(CoderError) in
            log.total += range.count
            return Array(bytes[range])
        }
    }
}
