import CoderHost
import ImageModel
import TestSupport
import Testing

/// An image that arrives in pieces ends up identical to the complete image. A truncated image yields everything that is
/// complete.
@Suite struct `Images that arrive` {
    /// AV1 and HEVC take milliseconds per decode, the others microseconds.
    private static func isHeavy(_ fixture: Fixture) -> Bool { ["heic", "avif"].contains(fixture.format.id) }

    static let small = Fixture.valid.filter {
        // One file of each Netpbm kind is enough.
        $0.byteCount <= 11_000
            && (!$0.name.hasPrefix("netpbm/") || $0.name.contains("/raw") || $0.name.contains("plain"))
    }

    /// The decoded content of a complete file.
    private struct Whole {
        var info: ImageInfo
        var frames: [FrameInfo]
        /// The bytes of each frame.
        var images: [[UInt8]]

        init(_ bytes: [UInt8]) throws {
            let image = try Bench.open(bytes)
            info = image.info
            frames = try (0..<image.frameCount).map { try image.frameInfo(at: $0) }
            images = try frames.indices.map { try image.frame(at: $0).pixels.bytes }
            #expect(image.isComplete && image.problem == nil)
        }
    }

    // MARK: Growing

    /// Appends pieces and checks everything after each of them.
    private func feed(_ fixture: Fixture, _ piece: () -> Int) throws {
        let bytes = fixture.bytes
        let whole = try Whole(bytes)
        let progressive = try ProgressiveImage(manager: Bench.manager, name: fixture.name)
        var at = 0
        var known = 0
        var parts = 0
        var last: [UInt8]?
        while at < bytes.count {
            let next = min(bytes.count, at + max(1, piece()))
            try progressive.append(Array(bytes[at..<next]))
            at = next
            if at == bytes.count { progressive.finish() }
            let wasComplete = progressive.isImageComplete
            let part = try progressive.update { part in (pixels: part.pixels, part.changed, part.isComplete) }
            if let part {
                #expect(!wasComplete, "something new after the image was complete")
                #expect(!part.1.isEmpty && PixelRect(whole.info.size).contains(part.1))
                #expect(part.2 == progressive.isImageComplete)
                if part.2 { last = part.pixels.bytes } else { parts += 1 }
            }
            guard let image = progressive.image else { continue }
            #expect(image.problem == nil, "after \(at) bytes")
            #expect(image.frameCount >= known, "a frame is missing")
            // Known frames decode at once to their final pixels; only the first may still be arriving.
            for index in known..<image.frameCount {
                if image.info.isAnimated, index > 0 || progressive.isImageComplete {
                    #expect(try image.frame(at: index).pixels.bytes == whole.images[index], "frame \(index) at \(at)")
                }
            }
            known = image.frameCount
            if at < bytes.count {
                #expect(!image.isComplete || !image.info.isAnimated || isAllThere(fixture, image, whole))
            }
        }
        let image = try #require(progressive.image)
        #expect(image.isComplete && progressive.isImageComplete)
        #expect(try (0..<image.frameCount).map { try image.frameInfo(at: $0) } == whole.frames)
        #expect(last == whole.images[0])
        for index in whole.frames.indices {
            #expect(try image.frame(at: index).pixels.bytes == whole.images[index], "frame \(index)")
        }
    }

    /// Whether a format with a frame count or an end mark is complete before its last, meaningless bytes.
    private func isAllThere(_ fixture: Fixture, _ image: AnimatedImage, _ whole: Whole) -> Bool {
        image.frameCount == whole.frames.count
    }

    @Test(arguments: small.filter { !isHeavy($0) && $0.byteCount <= 1300 })
    func `are the same if they arrive byte by byte`(fixture: Fixture) throws {
        try feed(fixture) { 1 }
    }

    @Test(arguments: small, [1, 2] as [UInt64])
    func `are the same if they arrive in pieces of any length`(fixture: Fixture, seed: UInt64) throws {
        var dice = Dice(seed: seed &+ UInt64(fixture.byteCount))
        let most = max(3, fixture.byteCount / (Self.isHeavy(fixture) ? 6 : 20))
        try feed(fixture) { dice.below(most) }
    }

    // MARK: Options

    @Test(arguments: ["images/photo.jpg", "images/photo.png", "images/three-frames.gif", "images/orientation-6.jpg"])
    func `have the size, colors and orientation of the options`(name: String) throws {
        let bytes = Fixture.named(name).bytes
        var options = DecodeOptions.thumbnail(PixelSize(24, 24))
        options.appliesOrientation = true
        options.colors = .sRGB
        let whole = try AnimatedImage(ImageSource(bytes), manager: Bench.manager, options)
        let progressive = try ProgressiveImage(manager: Bench.manager, name: name, options: options)
        var parts: [PixelSize] = []
        var last: [UInt8] = []

        for start in stride(from: 0, to: bytes.count, by: 150) {
            try progressive.append(Array(bytes[start..<min(bytes.count, start + 150)]))
            if start + 150 >= bytes.count { progressive.finish() }
            try progressive.update { part in
                #expect(part.changed == PixelRect(part.pixels.size))
                return (part.pixels.size, part.pixels.packed)
            }.map { size, packed in
                parts.append(size)
                last = packed
            }
        }

        #expect(parts.count > 1 && Set(parts) == [whole.size])
        #expect(progressive.isImageComplete)
        #expect(try last == whole.frame(at: 0).pixels.packed)
    }

    @Test func `are decoded only by the coder that the caller selected`() throws {
        let progressive = try ProgressiveImage(manager: Bench.manager, forcing: "org.coderhost.png")
        try progressive.append(Fixture.named("images/photo.jpg").bytes)
        progressive.finish()
        let error = #expect(throws: CoderError.self) { try progressive.update { _ in } }
        #expect(error?.coder == "org.coderhost.png")
    }

    // MARK: Truncated data

    /// The lengths to which a file is truncated: all of them, or as many as time allows.
    private static func cuts(_ fixture: Fixture) -> StrideTo<Int> {
        let most = isHeavy(fixture) ? 60 : fixture.byteCount <= 1300 ? 1300 : 250
        return stride(from: 0, to: fixture.byteCount, by: max(1, fixture.byteCount / most))
    }

    private static let ordinary: Set<CoderError.Code> = [
        .truncated, .corrupt, .unrecognizedFormat, .noCoder, .notMine, .unsupportedFeature,
    ]

    /// Formats with text samples are excluded: a truncated "250" reads as "25".
    @Test(arguments: small.filter { !$0.name.contains("/plain") })
    func `keep every complete frame if truncated, and report the truncation`(fixture: Fixture) throws {
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
            // A PNG truncated before its animation is a still, and so is one truncated after its first frame.
            let isSame = image.info.size == whole.info.size && image.info.isAnimated == whole.info.isAnimated
            for index in 0..<image.frameCount {
                do throws(CoderError) {
                    let pixels = try image.frame(at: index).pixels
                    guard isSame else { continue }
                    #expect(pixels.bytes == whole.images[index], "cut to \(count), frame \(index)")
                } catch {
                    // libjxl reports the header of the last frame before its pixels have arrived.
                    let isLastOfJXL = fixture.format == "jxl" && index == whole.frames.count - 1
                    #expect(index == 0 || isLastOfJXL, "cut to \(count), frame \(index): \(error)")
                    #expect(Self.ordinary.contains(error.code), "cut to \(count): \(error.code) \(error)")
                }
            }
            if whole.info.isAnimated, image.info.isAnimated, image.frameCount < whole.frames.count {
                // A GIF may end after a complete frame without its end mark, with a warning.
                #expect(
                    image.problem != nil || !image.warnings.isEmpty,
                    "cut to \(count): missing frames are not reported")
            }
        }
    }

    @Test(arguments: small.filter { !isHeavy($0) })
    func `ask for more input at any length while the source may grow`(fixture: Fixture) throws {
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

    @Test(arguments: ["images/photo.jpg", "images/photo.png", "images/photo.webp", "images/three-frames.gif"])
    func `are marked as incomplete until they are complete`(name: String) throws {
        let bytes = Fixture.named(name).bytes
        let progressive = try ProgressiveImage(manager: Bench.manager)
        var marks: [Bool] = []
        for start in stride(from: 0, to: bytes.count, by: 200) {
            try progressive.append(Array(bytes[start..<min(bytes.count, start + 200)]))
            if start + 200 >= bytes.count { progressive.finish() }
            if let isComplete = try progressive.update({ $0.isComplete }) { marks.append(isComplete) }
        }

        #expect(marks.last == true)
        #expect(marks.dropLast().allSatisfy { !$0 })
        #expect(marks.count > 1)
    }
}
