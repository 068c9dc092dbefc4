import CoderPluginKit
import ImageModel
import JPEGCodec
import TestSupport
import Testing

private let second = Sampling.gray.image(8, 8, seed: 2).file
private let third = Sampling.gray.image(16, 8, seed: 3).file
private let comment = JPEGSegments.comment("a comment that goes")

/// A file with an index of two further images, and the position of the index.
private func album(
    _ head: [UInt8], _ tail: [UInt8] = [], isBigEndian: Bool = true, padding: Int = 0, end: [UInt8] = [],
    shift: Int = 0, others: [[UInt8]] = [second, third]
) -> [UInt8] {
    var image = Sampling.full.image(48, 32)
    func segments(_ first: Int, _ offsets: [Int]) -> [UInt8] {
        let entries = [(first, 0), (others[0].count, offsets[0]), (others[1].count, offsets[1])]
        return head + JPEGSegments.multiPicture(entries, isBigEndian: isBigEndian) + tail
    }
    image.segments = segments(0, [0, 0])
    let size = image.file.count
    let base = 2 + head.count + 8
    let first = size + padding - base + shift
    image.segments = segments(size + padding, [first, first + others[0].count])
    image.trailer = [UInt8](repeating: 0, count: padding) + others[0] + others[1] + end
    return image.file
}

/// The images that an index names, read by the rules of the index.
private func images(in bytes: [UInt8]) -> [[UInt8]]? {
    let name = Array("MPF\0".utf8)
    guard let found = bytes.indices.first(where: { bytes[$0...].starts(with: name) }) else { return nil }
    let base = found + 4
    let isBigEndian = bytes[base] == 0x4D
    func number(_ at: Int, _ count: Int) -> Int {
        let part = bytes[at..<at + count]
        return (isBigEndian ? Array(part) : part.reversed()).reduce(0) { $0 << 8 | Int($1) }
    }
    let list = base + number(base + 8 + 2 + 2 * 12 + 8, 4)
    return (0..<3).map { entry in
        let start = entry == 0 ? 0 : base + number(list + entry * 16 + 8, 4)
        return Array(bytes[start..<start + number(list + entry * 16 + 4, 4)])
    }
}

@Suite struct `JPEG rewriting of bytes behind the image` {
    private static let motion = Array("bytes of a film".utf8)

    private func withTrailer(_ segments: [UInt8] = comment) -> [UInt8] {
        var image = Sampling.full.image(48, 32)
        image.segments = segments
        image.trailer = Self.motion
        return image.file
    }

    @Test(arguments: [
        RewriteRequest(removed: [.text]), RewriteRequest(transform: .right), RewriteRequest(optimizes: true),
    ])
    func `keeps them`(request: RewriteRequest) throws {
        let result = try rewrite(withTrailer(), request)

        #expect(Array(result.bytes.suffix(Self.motion.count + 2)) == [0xFF, 0xD9] + Self.motion)
        #expect(result.warnings.contains { $0.contains("stay") } == (request.transform != .up))
    }

    @Test func `drops them with raw metadata, with a warning`() throws {
        let result = try rewrite(withTrailer(), RewriteRequest(removed: [.raw, .text]))

        #expect(result.bytes == Array(withTrailer([]).dropLast(Self.motion.count)))
        #expect(result.warnings.contains { $0.contains("\(Self.motion.count) bytes") })
    }

    @Test(arguments: [true, false], [0, 5])
    func `adjusts an index of further images`(isBigEndian: Bool, padding: Int) throws {
        let exif = MetadataBlob(.exif, [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0])
        let requests = [
            RewriteRequest(), RewriteRequest(removed: [.text]), RewriteRequest(replaced: [exif]),
            RewriteRequest(removed: [.text], replaced: [exif], optimizes: true),
            RewriteRequest(replaced: [MetadataBlob(.text, Array("longer than the other comment was".utf8))]),
        ]
        for (head, tail) in [(comment, []), ([], comment), ([], [])] {
            let source = album(head, tail, isBigEndian: isBigEndian, padding: padding, end: [1, 2, 3])
            for request in requests {
                let result = try rewrite(source, request)
                let found = try #require(images(in: result.bytes))

                #expect(found[1] == second && found[2] == third)
                #expect(found[0].count == result.bytes.count - second.count - third.count - 3)
                #expect(Array(found[0].suffix(2 + padding)) == [0xFF, 0xD9] + [UInt8](repeating: 0, count: padding))
                #expect(result.warnings.isEmpty && !result.droppedItems)
            }
        }
    }

    @Test(arguments: [
        RewriteRequest(transform: .down), RewriteRequest(crop: PixelRect(x: 8, y: 8, width: 8, height: 8)),
        RewriteRequest(transform: .right, optimizes: true),
    ])
    func `drops further images that show the first before a change`(request: RewriteRequest) throws {
        let result = try rewrite(album(comment, end: Self.motion), request)

        #expect(images(in: result.bytes) == nil)
        #expect(Array(result.bytes.suffix(Self.motion.count + 2)) == [0xFF, 0xD9] + Self.motion)
        #expect(result.droppedItems)
        let reason = "the index of further images is dropped: it shows the image before the change"
        #expect(result.warnings == [reason, "\(Self.motion.count) bytes behind the image stay as they are"])
    }

    @Test func `drops a damaged index if its offsets would change`() throws {
        for others in [[Array(second.dropFirst(2)), third], [second, Array(third.dropFirst(2))]] {
            let source = album([], comment, others: others)

            let same = try rewrite(source, RewriteRequest(removed: [.exif]))
            #expect(same.bytes == source)
            #expect(same.warnings.contains { $0.contains("bytes behind the image stay") })
            let result = try rewrite(source, RewriteRequest(removed: [.text]))
            #expect(!result.bytes.indices.contains { result.bytes[$0...].starts(with: Array("MPF\0".utf8)) })
            #expect(Array(result.bytes.suffix(second.count + third.count - 2)) == others[0] + others[1])
            #expect(result.warnings.contains { $0.contains("index of further images is dropped") })
            #expect(!result.droppedItems)
        }
    }

    @Test(
        arguments: [1, -20, 1 << 20],
        [RewriteRequest(removed: [.text]), RewriteRequest(removed: [.text], optimizes: true)])
    func `corrects an index whose images all moved by the same distance`(shift: Int, request: RewriteRequest) throws {
        let source = album([], comment, shift: shift)
        let result = try rewrite(source, request)

        #expect(result.bytes.count < source.count)
        let found = try #require(images(in: result.bytes))
        #expect(found[1] == second && found[2] == third)
        #expect(result.warnings.isEmpty && !result.droppedItems)
    }

    @Test(arguments: [1, -20]) func `drops moved images that show the first before a change`(shift: Int) throws {
        let result = try rewrite(album(comment, end: Self.motion, shift: shift), RewriteRequest(transform: .down))

        #expect(images(in: result.bytes) == nil && result.droppedItems)
        #expect(Array(result.bytes.suffix(Self.motion.count + 2)) == [0xFF, 0xD9] + Self.motion)
    }

    @Test(arguments: [1, -20]) func `keeps a stale index if the file stays as it is`(shift: Int) throws {
        let source = album([], comment, shift: shift)
        #expect(try rewrite(source, RewriteRequest(removed: [.exif])).bytes == source)
    }

    @Test func `removes the index together with the images`() throws {
        let result = try rewrite(album(comment), RewriteRequest(removed: [.raw]))

        var alone = Sampling.full.image(48, 32)
        alone.segments = comment
        #expect(result.bytes == alone.file)
        #expect(!result.warnings.isEmpty)
        #expect(result.droppedItems)
    }

    @Test(arguments: [
        (MetadataBlob.Kind.exif, [2]), (.text, [1]), (.xmp, [1, 2]), (.icc, []), (.iptc, []),
    ])
    func `warns which further images keep removed metadata`(kind: MetadataBlob.Kind, keepers: [Int]) throws {
        func with(_ segments: [UInt8], _ image: [UInt8]) -> [UInt8] {
            Array(image[..<2]) + segments + Array(image[2...])
        }
        let others = [
            with(JPEGSegments.comment("a name") + JPEGSegments.xmp("<x/>"), second),
            with(JPEGSegments.exif([0x4D, 0x4D, 0, 42]) + JPEGSegments.xmp("<x/>"), third),
        ]
        let source = album(comment, others: others)
        let result = try rewrite(source, RewriteRequest(removed: [kind]))

        #expect(Array(result.bytes.suffix(others[0].count + others[1].count)) == others[0] + others[1])
        let expected =
            switch keepers.count {
            case 0: [] as [String]
            case 1: ["image \(keepers[0]) behind the first keeps its metadata: only the first image is changed"]
            default: ["2 images behind the first keep their metadata: only the first image is changed"]
            }
        #expect(result.warnings == expected)
        #expect(try rewrite(source).warnings.isEmpty)
    }
}
