import CoderHost
import FuzzTargets
import ImageModel

/// One use of one coder: decoding a file, or encoding an image.
struct AllocationSubject: Sendable {
    enum Result: Equatable {
        /// A sum over all pixels.
        case pixels(UInt64)
        /// The file that the encoder wrote.
        case file([UInt8])
        case error(CoderError)

        /// Whether two results are equivalent. An encoder may write another file with the same pixels when an attempt
        /// to compress better runs out of memory. For a lossy encoder, a mean difference of 2 of 255 is allowed.
        func shows(_ other: Result) -> Bool {
            if self == other { return true }
            guard case .file(let mine) = self, case .file(let theirs) = other,
                let a = try? FuzzHost.manager.decode(ImageSource(mine)).pixels,
                let b = try? FuzzHost.manager.decode(ImageSource(theirs)).pixels
            else { return false }
            return a.meanDifference(from: b).map { $0 <= 2 } ?? false
        }
    }

    let name: String
    /// The C library that ends the process, or reports success for a wrong file, when an allocation fails. Nil if
    /// neither is known.
    var faulty: String?
    /// Whether the coder allocates only Swift memory.
    var mayNotAllocate = false
    /// Reads the input; nil if it is missing.
    let prepare: @Sendable () -> (() -> Result)?

    static let all: [AllocationSubject] = [
        decoding("jpeg", "images/f.jpg"), decoding("jpeg-progressive", "jpeg/progressive-422.jpg"),
        decoding("png", "images/f.png"), decoding("apng", "apng/three-frames.png"),
        decoding("webp-lossy", "webp/lossy-alpha.webp", faulty: "libwebp"),
        decoding("webp-lossless", "webp/lossless-alpha.webp", faulty: "libwebp"),
        decoding("awebp", "images/three-frames.webp", faulty: "libwebp"),
        decoding("gif", "images/three-frames.gif", isSwift: true),
        decoding("farbfeld", "images/rgba.ff", isSwift: true),
        decoding("bmp", "bmp/runs-8-bit.bmp", isSwift: true),
        decoding("tiff", "tiff/planes.tif"),
        decoding("qoi", "classics/alpha.qoi", isSwift: true),
        decoding("tga", "classics/runs-across-rows.tga", isSwift: true),
        decoding("pcx", "classics/palette.pcx", isSwift: true), decoding("sgi", "classics/runs.sgi", isSwift: true),
        decoding("ras", "classics/palette-in-runs.ras", isSwift: true),
        decoding("xbm", "classics/hot-spot.xbm", isSwift: true), decoding("xpm", "classics/names.xpm", isSwift: true),
        decoding("jxl", "jxl/lossy.jxl", faulty: "libjxl"),
        decoding("dds", "classics/bc7-modes.dds", isSwift: true),
        decoding("heif", "images/f.heic", faulty: "libheif"),
        decoding("avif", "images/f.avif", faulty: "libavif"),
        decoding("avif-sequence", "avif/sequence-alpha.avif", faulty: "libavif"),
        encoding("jpeg"), encoding("jpeg", ["jpeg.progressive": .bool(true)], suffix: "-progressive"), encoding("png"),
        encoding("png", ["effort": .integer(9)], suffix: "-effort"), animating("png"), encoding("webp"),
        encoding("webp", [OptionKey.lossless: .bool(true)], suffix: "-lossless", faulty: "libwebp"),
        // Frames of few colors are also coded without loss.
        animating("webp", faulty: "libwebp"),
        encoding("gif", isSwift: true), animating("gif", isSwift: true), encoding("farbfeld", isSwift: true),
        encoding("heic", faulty: "libx265"), encoding("avif", faulty: "libavif, libaom"),
        animating("avif", faulty: "libavif, libaom"),
    ]

    private static func decoding(
        _ name: String, _ fixture: String, isSwift: Bool = false, faulty: String? = nil
    ) -> AllocationSubject {
        AllocationSubject(name: "decode-\(name)", faulty: faulty, mayNotAllocate: isSwift) {
            let bytes = Seeds.bytes("Fixtures/\(fixture)")
            return bytes.isEmpty ? nil : { decode(bytes) }
        }
    }

    private static func decode(_ bytes: [UInt8]) -> Result {
        do throws(CoderError) {
            let sum = try FuzzHost.manager.withSession(ImageSource(bytes), limits: Decoding.limits) {
                session throws(CoderError) in
                var sum: UInt64 = 0
                for blob in try session.metadata() { sum = sum &* 31 &+ UInt64(blob.bytes.count) }
                for frame in try session.frames() {
                    sum = sum &* 31 &+ (try session.decodeFrame(frame.index).pixels.byteSum)
                }
                return sum
            }
            return .pixels(sum)
        } catch {
            return .error(error)
        }
    }

    private static func encoding(
        _ format: ImageFormat, _ options: [String: OptionValue] = [:], suffix: String = "", isSwift: Bool = false,
        faulty: String? = nil
    ) -> AllocationSubject {
        AllocationSubject(name: "encode-\(format)\(suffix)", faulty: faulty, mayNotAllocate: isSwift) {
            guard let image = try? FuzzHost.manager.decode(ImageSource(Seeds.bytes("Fixtures/images/f.png")))
            else { return nil }
            var coding = CoderOptions()
            for (key, value) in options { coding[key] = value }
            let known = coding
            return {
                result { sink throws(CoderError) in
                    try FuzzHost.manager.encode(image, to: format, options: known, into: sink)
                }
            }
        }
    }

    private static func animating(
        _ format: ImageFormat, isSwift: Bool = false, faulty: String? = nil
    ) -> AllocationSubject {
        AllocationSubject(name: "animate-\(format)", faulty: faulty, mayNotAllocate: isSwift) {
            let bytes = Seeds.bytes("Fixtures/images/three-frames.gif")
            guard let source = try? AnimatedImage(ImageSource(bytes), manager: FuzzHost.manager) else { return nil }
            let frames = (0..<source.frameCount).compactMap { try? source.frame(at: $0).pixels }
            let facts = source.info
            return {
                result { sink throws(CoderError) in
                    let encoder = try FuzzHost.manager.makeAnimationEncoder(to: format, of: facts, into: sink)
                    for frame in frames { try encoder.add(frame, duration: .milliseconds(40)) }
                    try encoder.finish()
                }
            }
        }
    }

    private static func result(_ body: (MemorySink) throws(CoderError) -> Void) -> Result {
        let sink = MemorySink()
        do throws(CoderError) {
            try body(sink)
            return .file(sink.bytes)
        } catch {
            return .error(error)
        }
    }
}
