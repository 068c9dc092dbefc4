import CoderHost
import ImageModel

extension FuzzTarget {
    /// The formats that coders can write.
    private static let outputs: [ImageFormat] = [
        "png", "gif", "webp", "jpeg", "png", "gif", "webp", "jpeg", "farbfeld", "pam", "pnm", "heic", "avif",
    ]

    /// Decodes a file and encodes the result in another format, as `coderhost convert` does.
    ///
    /// A damaged file may end with an ordinary error. It never ends with `misuse` or an internal error, and the host
    /// can decode every file that it writes.
    static let conversions = FuzzTarget(
        "conversions", cost: 8, seeds: allImages, mutator: ImageMutator()
    ) { bytes throws(Finding) in
        var dice = Dice(bytes.reduce(UInt64(bytes.count)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
        let format = dice.pick(outputs)
        var options = EncodeOptions()
        options.firstFrameOnly = dice.once(in: 4)
        options.embedsThumbnail = dice.once(in: 8)
        if dice.once(in: 4) { options.maxPixelSize = PixelSize(1 + dice.below(64), 1 + dice.below(64)) }
        let sink = MemorySink()
        do throws(CoderError) {
            try convert(ImageSource(bytes), to: format, options, into: sink)
        } catch {
            if Decoding.ordinaryCodes.contains(error.code) { return }
            throw Finding("to \(format): \(error.code): \(error)")
        }
        do throws(CoderError) {
            _ = try FuzzHost.manager.decode(ImageSource(sink.bytes))
        } catch {
            throw Finding("to \(format): the host cannot decode the file that it wrote: \(error)")
        }
    }

    private static func convert(
        _ source: ImageSource, to format: ImageFormat, _ options: EncodeOptions, into sink: MemorySink
    ) throws(CoderError) {
        let manager = FuzzHost.manager
        let animation = try AnimatedImage(source, manager: manager, limits: conversionLimits)
        if animation.frameCount == 0, let problem = animation.problem { throw problem }
        let isAnimated = animation.isAnimated && !options.firstFrameOnly
        guard isAnimated, options.maxPixelSize == nil, !manager.animationEncoders(for: format).isEmpty else {
            return _ = try manager.encode(animation, to: format, options, into: sink)
        }
        var facts = animation.info
        facts.frameCount = nil
        let encoder = try manager.makeAnimationEncoder(to: format, of: facts, into: sink)
        for index in 0..<animation.frameCount {
            try encoder.add(animation.frame(at: index).pixels, duration: animation.duration(at: index))
        }
        _ = try encoder.finish()
    }

    /// Encoding HEIC and AVIF takes milliseconds for each thousand pixels.
    private static let conversionLimits = {
        var limits = Decoding.limits
        limits.maxPixels = 20_000
        limits.maxTotalPixels = 100_000
        return limits
    }()

    @Sendable private static func allImages() -> [[UInt8]] {
        coders.flatMap { $0.seeds().filter { $0.count <= 4 << 10 } } + Seeds.found("conversions")
    }
}

/// Chooses the mutator by the first bytes of a file.
private struct ImageMutator: Mutator {
    private static let mutators: [(start: [UInt8], mutator: any Mutator)] = [
        ([0x89, 0x50], PNGMutator()), (Array("GIF8".utf8), GIFMutator()), ([0xFF, 0xD8], JPEGMutator()),
        (Array("RIFF".utf8), RIFFMutator()), ([0, 0, 0], BoxMutator()),
    ]

    func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        let known = Self.mutators.first { bytes.starts(with: $0.start) }?.mutator
        (known ?? BytesMutator()).mutate(&bytes, &dice, other: other)
    }
}
