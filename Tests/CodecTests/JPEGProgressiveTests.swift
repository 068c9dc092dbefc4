import CoderPluginKit
import ImageModel
import TestSupport
import Testing

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("jpeg/\(name)"))) }

/// The samples of a PNM file with the header of libjpeg-turbo's programs: three lines.
private func samples(_ name: String) throws -> [UInt8] {
    let bytes = try file(name)
    return Array(bytes.split(separator: 0x0A, maxSplits: 3, omittingEmptySubsequences: false)[3])
}

private func pixels(_ buffer: PixelBuffer) -> [UInt8] {
    (0..<buffer.size.height).flatMap { y in
        buffer.withRow(y) { row in row.byteOffsets.map { unsafe row.unsafeLoad(fromByteOffset: $0, as: UInt8.self) } }
    }
}

/// The range of the data of each scan, without its header.
private func scans(_ bytes: [UInt8]) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var start: Int?
    var at = 2
    while at + 2 <= bytes.count {
        let marker = bytes[at + 1]
        guard bytes[at] == 0xFF, marker != 0, marker != 0xFF, !(0xD0...0xD7).contains(marker) else {
            at += 1
            continue
        }
        if let begun = start { found.append(begun..<at) }
        start = nil
        if marker == 0xD9 { break }
        at += 2 + Int(bytes[at + 2]) << 8 + Int(bytes[at + 3])
        if marker == 0xDA { start = at }
    }
    return found
}

/// The offset behind the header of each scan; when the next one is reached, a scan is known to be complete.
private func scanStarts(_ bytes: [UInt8]) -> [Int] { scans(bytes).map(\.lowerBound) }

/// The sum of squared differences.
private func difference(_ one: [UInt8], _ other: [UInt8]) -> Int {
    zip(one, other).reduce(0) { $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1)) }
}

@Suite struct `JPEG from a growing source` {
    @Test(arguments: [
        "baseline-420", "baseline-444-restart", "progressive-422", "progressive-420-restart", "arithmetic-420",
        "sequential-3-scans", "cmyk", "ycck",
    ])
    func `has the same result as a complete source`(name: String) throws {
        // The library skips this segment, even if its end has not arrived.
        let whole = try file("\(name).jpg")
        let bytes = Array(whole[..<2]) + [0xFF, 0xE5, 1, 0xF6] + [UInt8](repeating: 0xFF, count: 500) + whole[2...]
        var random = UInt32(name.utf8.count)
        let steps: [() -> Int] = [
            { 1 }, { 7 }, { 300 },
            {
                random = random &* 1_664_525 &+ 1_013_904_223
                return 1 + Int(random >> 26)
            },
        ]
        for (index, step) in steps.enumerated() {
            for wantsPartial in [true, false] {
                let download = try Download(bytes)
                try download.run(wantsPartial: wantsPartial, step: step)
                #expect(try pixels(#require(download.buffer)) == samples("\(name).ppm"), "way \(index)")
            }
        }
    }

    @Test func `delivers baseline rows from top to bottom, each once`() throws {
        let download = try Download(file("baseline-444-restart.jpg"))
        try download.run { 40 }

        var next = 0
        for case .partial(let rect) in download.outcomes {
            #expect(rect.y == next && rect.x == 0 && rect.width == 40 && rect.height > 0)
            next += rect.height
        }
        #expect(next > 0 && next <= 24)
    }

    @Test(arguments: ["baseline-420", "baseline-444-restart", "progressive-422", "progressive-420-restart", "cmyk"])
    func `returns a part, needsInput or an error for any beginning`(name: String) throws {
        let whole = try file("\(name).jpg")
        for length in 0..<whole.count {
            let growing = try Download(whole)
            growing.arrive(upTo: length)
            let outcome = try growing.ask()
            if let outcome {
                guard case .partial(let rect) = outcome else {
                    Issue.record("\(length) bytes are reported as complete")
                    continue
                }
                #expect(!rect.isEmpty && rect.y + rect.height <= growing.buffer?.size.height ?? 0)
            }

            let cut = try Download(Array(whole[..<length]))
            cut.arrive(upTo: length)
            do { try cut.ask() } catch let error as CoderError { #expect(error.code == .truncated, "\(length) bytes") }
        }
    }
}

@Suite struct `Progressive JPEG from a growing source` {
    /// Of the ten scans that cjpeg and our encoder write for three components, those shown before the last one.
    private static let worthy = [1, 2, 4, 5, 6, 9]

    @Test(arguments: ["progressive-422", "progressive-420-restart"])
    func `shows complete scans, but not each separately`(name: String) throws {
        let bytes = try file("\(name).jpg")
        let starts = scanStarts(bytes)
        try #require(starts.count == 10)
        let download = try Download(bytes)
        var shownAt: [Int] = []
        while download.outcomes.last != .complete {
            download.arrive(upTo: download.source.available + 1)
            if case .partial(let rect) = try download.ask() {
                #expect(rect == PixelRect(PixelSize(40, 24)))
                shownAt.append(download.source.available)
            }
        }

        #expect(shownAt == Self.worthy.map { starts[$0] })
    }

    @Test func `makes one image of all scans that a chunk completes`() throws {
        let bytes = try tenScans(PixelSize(600, 400))
        let starts = scanStarts(bytes)
        try #require(starts.count == 10)
        let chunk = 16 << 10
        let chunks = Set(Self.worthy.map { (starts[$0] + chunk - 1) / chunk }).filter { $0 * chunk < bytes.count }
        try #require(chunks.count > 2 && chunks.count < Self.worthy.count)
        let download = try Download(bytes)
        try download.run { chunk }

        #expect(download.images == chunks.count)
        #expect(download.outcomes.last == .complete)
    }

    @Test func `shows color components of separate scans together, after the first`() throws {
        let download = try Download(file("sequential-3-scans.jpg"))
        try download.run { 1 }

        #expect(download.images == 1)
    }

    @Test func `ignores scans of an embedded thumbnail`() throws {
        let whole = try file("progressive-422.jpg")
        let body = Array("Exif\0\0".utf8) + whole
        let bytes =
            Array(whole[..<2]) + [0xFF, 0xE1, UInt8((body.count + 2) >> 8), UInt8((body.count + 2) & 0xFF)] + body
            + whole[2...]
        let download = try Download(bytes)
        try download.run { 1 }

        #expect(download.images == Self.worthy.count)
        #expect(try pixels(#require(download.buffer)) == samples("progressive-422.ppm"))
    }

    @Test func `changes no pixel before the end without partial images`() throws {
        let download = try Download(file("progressive-422.jpg"))
        while download.outcomes.isEmpty {
            if let buffer = download.buffer { #expect(pixels(buffer).allSatisfy { $0 == 0x5A }) }
            download.arrive(upTo: download.source.available + 50)
            try download.ask(wantsPartial: false)
        }

        #expect(download.outcomes == [.complete])
    }

    @Test func `never looks worse than before`() throws {
        let bytes = try tenScans(PixelSize(203, 149))
        let whole = try Download(bytes)
        try whole.run { bytes.count }
        let final = try pixels(#require(whole.buffer))

        let download = try Download(bytes)
        var errors: [Int] = []
        while download.outcomes.last != .complete {
            download.arrive(upTo: download.source.available + 100)
            if try download.ask() != nil { errors.append(difference(pixels(try #require(download.buffer)), final)) }
        }
        #expect(errors.count == 7 && errors == errors.sorted(by: >) && errors.last == 0)
    }

    @Test(arguments: [PixelSize(203, 149), PixelSize(1, 1), PixelSize(9, 17), PixelSize(4, 5), PixelSize(12, 3)])
    func `interpolates the means of blocks at first`(size: PixelSize) throws {
        let bytes = try tenScans(size)
        let starts = scanStarts(bytes)
        let means = try Download(bytes)
        means.arrive(upTo: starts[1])
        let small = PixelSize((size.width + 7) / 8, (size.height + 7) / 8)
        #expect(try means.ask(reducedTo: small) == .partial(PixelRect(small)))
        let samples = try pixels(#require(means.buffer))

        let download = try Download(bytes)
        download.arrive(upTo: starts[1])
        #expect(try download.ask() == .partial(PixelRect(size)))
        let shown = try pixels(#require(download.buffer))

        // A mean is at the center of its block, 3.5 pixels from its first one.
        func place(_ at: Int, _ count: Int) -> (low: Int, high: Int, part: Double) {
            let exact = min(max(0, (Double(at) - 3.5) / 8), Double(count - 1))
            return (Int(exact), min(Int(exact) + 1, count - 1), exact - exact.rounded(.down))
        }
        var worst = 0.0
        for y in 0..<size.height {
            let down = place(y, small.height)
            for x in 0..<size.width {
                let across = place(x, small.width)
                for channel in 0..<3 {
                    func mean(_ y: Int) -> Double {
                        let row = (0..<small.width).map { Double(samples[(y * small.width + $0) * 3 + channel]) }
                        return row[across.low] * (1 - across.part) + row[across.high] * across.part
                    }
                    let expected = mean(down.low) * (1 - down.part) + mean(down.high) * down.part
                    worst = max(worst, abs(expected - Double(shown[(y * size.width + x) * 3 + channel])))
                }
            }
        }
        #expect(worst <= 1)
    }

    @Test func `shows the current scans in another size or format at once`() throws {
        let bytes = try file("progressive-422.jpg")
        let download = try Download(bytes)
        download.arrive(upTo: scanStarts(bytes)[6])
        let full = PixelSize(40, 24)
        let small = PixelSize(15, 9)

        #expect(try download.ask() == .partial(PixelRect(full)))
        #expect(try download.ask() == nil)
        #expect(try download.ask(reducedTo: small) == .partial(PixelRect(small)))
        #expect(try download.ask(reducedTo: small) == nil)
        download.format = PixelFormat(.bgra, alpha: .opaque)
        #expect(try download.ask() == .partial(PixelRect(full)))
        download.format = .rgb8
        download.arrive(upTo: bytes.count)
        #expect(try download.ask(reducedTo: small) == .complete)
        #expect(try pixels(#require(download.buffer)) == samples("progressive-422-3of8.ppm"))
        #expect(try download.ask() == .complete)
        #expect(try pixels(#require(download.buffer)) == samples("progressive-422.ppm"))
    }

    @Test func `converts ink to colors in every kind of image`() throws {
        let bytes = try file("cmyk-progressive.jpg")
        let expected = try samples("cmyk-progressive.ppm")
        let download = try Download(bytes)
        download.arrive(upTo: scanStarts(bytes)[1])
        #expect(try download.ask() == .partial(PixelRect(PixelSize(16, 8))))
        let first = try pixels(#require(download.buffer))
        // Two blocks of one color each: pixels outside their centers have only one color.
        for y in 0..<8 {
            for at in Array(0..<12) + Array(36..<48) {
                #expect(abs(Int(first[y * 48 + at]) - Int(expected[y * 48 + at])) <= 3)
            }
        }
        download.arrive(upTo: bytes.count)
        download.format = .cmyk8
        #expect(try download.ask() == .complete)
        let ink = try pixels(#require(download.buffer))
        #expect(zip(ink, [0, 128, 255, 64]).allSatisfy { abs(Int($0) - $1) <= 2 })
        download.format = .rgb8
        #expect(try download.ask() == .complete)
        #expect(try pixels(#require(download.buffer)) == expected)
    }

    @Test func `makes no image for scans with very little data`() throws {
        // A scan may be repeated; the library only warns about it. The second one is the first of Y 1…5.
        let bytes = try tenScans(PixelSize(600, 400))
        let data = scans(bytes)
        let second = bytes[data[0].upperBound..<data[1].upperBound]
        let again = (0..<8).flatMap { _ in second }
        let download = try Download(bytes[..<data[1].upperBound] + again + bytes[data[1].upperBound...])
        try download.run { 64 }
        #expect(download.images == Self.worthy.count + 8)

        let flat = try tenScans(PixelSize(600, 400), isFlat: true)
        let cheap = try Download(flat)
        try cheap.run { 64 }
        #expect(cheap.images == 1 && flat.count / 10 < 600 * 400 / 192)
    }

    @Test func `shows the scans before an incomplete second frame header`() throws {
        // FF C2 length 17, 8 bits, 256 x 256: refused, but only once the number of components has arrived.
        let bytes = try file("progressive-422.jpg")
        let head = bytes[..<scans(bytes)[1].upperBound] + [0xFF, 0xC2, 0, 17, 8, 1, 0, 1, 0]
        let download = try Download(head + [UInt8](repeating: 0, count: 40))
        download.arrive(upTo: head.count)
        #expect(try download.ask() == .partial(PixelRect(PixelSize(40, 24))))

        download.arrive(upTo: download.bytes.count)
        #expect(throws: CoderError.self) { try download.ask() }
    }

    @Test func `counts scans while they arrive`() throws {
        var limits = DecodeLimits.default
        limits.maxScans = 3
        let download = try Download(file("progressive-422.jpg"), limits: limits)
        var code: CoderError.Code?
        do { try download.run { 1 } } catch let error as CoderError { code = error.code }

        #expect(code == .limitExceeded)
        #expect(download.source.available == scanStarts(download.bytes)[3])
    }

    @Test func `leaves the scans of a cut file in the surface`() throws {
        let whole = try file("progressive-422.jpg")
        let cut = Array(whole[..<(scanStarts(whole)[6] + 3)])
        for wantsPartial in [true, false] {
            let download = try Download(cut)
            var code: CoderError.Code?
            do {
                download.arrive(upTo: cut.count - 1)
                try download.ask(wantsPartial: wantsPartial)
                download.arrive(upTo: cut.count)
                try download.ask(wantsPartial: wantsPartial)
            } catch let error as CoderError { code = error.code }

            #expect(code == (wantsPartial ? nil : .truncated))
            #expect(download.outcomes.last == (wantsPartial ? .partial(PixelRect(PixelSize(40, 24))) : nil))
            let error = difference(try pixels(#require(download.buffer)), try samples("progressive-422.ppm"))
            #expect(error > 0 && error < 40 * 24 * 3 * 100)
        }
    }
}
