import CoderHost
import ImageModel
import TestSupport
import Testing

/// What arrives piece by piece is in the end, byte for byte, what it is when it comes at once; what is cut off gives
/// everything that was whole.
@Suite struct `Pictures that arrive` {
    /// AV1 and HEVC cost milliseconds each time, the others microseconds.
    private static func isHeavy(_ fixture: Fixture) -> Bool { ["heic", "avif"].contains(fixture.format.id) }

    static let small = Fixture.valid.filter {
        // Of the many small ones of Netpbm, one of each kind.
        $0.byteCount <= 11_000
            && (!$0.name.hasPrefix("netpbm/") || $0.name.contains("/raw") || $0.name.contains("plain"))
    }

    /// A picture as it is when it comes at once.
    private struct Whole {
        var info: ImageInfo
        var frames: [FrameInfo]
        /// The bytes of each frame.
        var pictures: [[UInt8]]

        init(_ bytes: [UInt8]) throws {
            let image = try Bench.open(bytes)
            info = image.info
            frames = try (0..<image.frameCount).map { try image.frameInfo(at: $0) }
            pictures = try frames.indices.map { try image.frame(at: $0).pixels.bytes }
            #expect(image.isComplete && image.problem == nil)
        }
    }

    // MARK: Growing

    /// Appends pieces and looks at everything after each of them.
    private func feed(_ fixture: Fixture, _ piece: () -> Int) throws {
        let bytes = fixture.bytes
        let whole = try Whole(bytes)
        let picture = try ProgressiveImage(manager: Bench.manager, name: fixture.name)
        var at = 0
        var known = 0
        var parts = 0
        var last: [UInt8]?
        while at < bytes.count {
            let next = min(bytes.count, at + max(1, piece()))
            try picture.append(Array(bytes[at..<next]))
            at = next
            if at == bytes.count { picture.finish() }
            let wasComplete = picture.isPictureComplete
            let part = try picture.update { part in (pixels: part.pixels, part.changed, part.isComplete) }
            if let part {
                #expect(!wasComplete, "something new after the picture was complete")
                #expect(!part.1.isEmpty && PixelRect(whole.info.size).contains(part.1))
                #expect(part.2 == picture.isPictureComplete)
                if part.2 { last = part.pixels.bytes } else { parts += 1 }
            }
            guard let image = picture.image else { continue }
            #expect(image.problem == nil, "after \(at) bytes")
            #expect(image.frameCount >= known, "a frame has gone")
            // What was met can be decoded, at once, and is what it will be; the first may still be arriving.
            for index in known..<image.frameCount {
                if image.info.isAnimated, index > 0 || picture.isPictureComplete {
                    #expect(try image.frame(at: index).pixels.bytes == whole.pictures[index], "frame \(index) at \(at)")
                }
            }
            known = image.frameCount
            if at < bytes.count {
                #expect(!image.isComplete || !image.info.isAnimated || isAllThere(fixture, image, whole))
            }
        }
        let image = try #require(picture.image)
        #expect(image.isComplete && picture.isPictureComplete)
        #expect(try (0..<image.frameCount).map { try image.frameInfo(at: $0) } == whole.frames)
        #expect(last == whole.pictures[0])
        for index in whole.frames.indices {
            #expect(try image.frame(at: index).pixels.bytes == whole.pictures[index], "frame \(index)")
        }
    }

    /// Formats that know their number of frames, or have an end mark, are complete before bytes that mean nothing.
    private func isAllThere(_ fixture: Fixture, _ image: AnimatedImage, _ whole: Whole) -> Bool {
        image.frameCount == whole.frames.count
    }

    @Test(arguments: small.filter { !isHeavy($0) && $0.byteCount <= 1300 })
    func `are the same when they come byte by byte`(fixture: Fixture) throws {
        try feed(fixture) { 1 }
    }

    @Test(arguments: small, [1, 2] as [UInt64])
    func `are the same when they come in pieces of any length`(fixture: Fixture, seed: UInt64) throws {
        var dice = Dice(seed: seed &+ UInt64(fixture.byteCount))
        let most = max(3, fixture.byteCount / (Self.isHeavy(fixture) ? 6 : 20))
        try feed(fixture) { dice.below(most) }
    }

    // MARK: Cut off

    /// The lengths at which a file is cut: every one of them, or as many as time allows.
    private static func cuts(_ fixture: Fixture) -> StrideTo<Int> {
        let most = isHeavy(fixture) ? 60 : fixture.byteCount <= 1300 ? 1300 : 250
        return stride(from: 0, to: fixture.byteCount, by: max(1, fixture.byteCount / most))
    }

    private static let ordinary: Set<CoderError.Code> = [
        .truncated, .corrupt, .unrecognizedFormat, .noCoder, .notMine, .unsupportedFeature,
    ]

    /// Numbers in digits are left out: of 25 nobody can tell that it was 250.
    @Test(arguments: small.filter { !$0.name.contains("/plain") })
    func `keep every whole frame wherever they are cut, and then say that they are`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        let whole = try Whole(bytes)
        for count in Self.cuts(fixture) {
            let image: AnimatedImage
            do throws(CoderError) {
                image = try Bench.open(Array(bytes[..<count]))
            } catch {
                #expect(Self.ordinary.contains(error.code), "cut to \(count): \(error.code) \(error)")
                continue
            }
            if let problem = image.problem {
                #expect(Self.ordinary.contains(problem.code), "cut to \(count): \(problem.code) \(problem)")
            }
            // A PNG that is cut in front of its animation is a still, and one behind its first frame too.
            let isSame = image.info.size == whole.info.size && image.info.isAnimated == whole.info.isAnimated
            for index in 0..<image.frameCount {
                do throws(CoderError) {
                    let pixels = try image.frame(at: index).pixels
                    guard isSame else { continue }
                    #expect(pixels.bytes == whole.pictures[index], "cut to \(count), frame \(index)")
                } catch {
                    #expect(index == 0, "cut to \(count), frame \(index): \(error)")
                    #expect(Self.ordinary.contains(error.code), "cut to \(count): \(error.code) \(error)")
                }
            }
            if whole.info.isAnimated, image.info.isAnimated, image.frameCount < whole.frames.count {
                // Behind a whole frame a GIF may end without its end mark: a warning says so.
                #expect(
                    image.problem != nil || !image.warnings.isEmpty,
                    "cut to \(count): nothing is said of the frames that are missing")
            }
        }
    }

    @Test(arguments: small.filter { !isHeavy($0) })
    func `are waited for while they may go on, wherever that is`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        for count in Self.cuts(fixture) {
            let source = try ImageSource(growingTo: bytes.count)
            try source.append(Array(bytes[..<count]))
            let code = Bench.code {
                try Bench.manager.withSession(source) { session throws(CoderError) in
                    let end = session.findFrames()
                    if case .failure(let error) = end { throw error }
                    for index in 1..<max(1, session.knownFrameCount) { _ = try session.decodeFrame(index) }
                    if end == .needsInput { throw .needsInput }
                }
            }
            #expect(code == .needsInput || code == nil, "\(count) of \(bytes.count) bytes")
        }
    }

    // MARK: Marks

    @Test(arguments: ["pictures/photo.jpg", "pictures/photo.png", "pictures/photo.webp", "pictures/three-frames.gif"])
    func `are marked as incomplete until they are not`(name: String) throws {
        let bytes = Fixture.named(name).bytes
        let picture = try ProgressiveImage(manager: Bench.manager)
        var marks: [Bool] = []
        for start in stride(from: 0, to: bytes.count, by: 200) {
            try picture.append(Array(bytes[start..<min(bytes.count, start + 200)]))
            if start + 200 >= bytes.count { picture.finish() }
            if let isComplete = try picture.update({ $0.isComplete }) { marks.append(isComplete) }
        }

        #expect(marks.last == true)
        #expect(marks.dropLast().allSatisfy { !$0 })
        #expect(marks.count > 1)
    }
}
