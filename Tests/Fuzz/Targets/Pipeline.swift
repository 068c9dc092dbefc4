import CoderHost
import ImageModel

extension FuzzTarget {
    /// The work of the host between coders: it composites frames, encodes images and converts files.
    static let pipeline = [compositor, encoders, conversions]

    /// A list of frames of any kind: sixteen bytes for each, after one byte for the canvas.
    ///
    /// Playing in order and random access must give the same images.
    static let compositor = FuzzTarget("compositor", cost: 2, seeds: frameLists) { bytes throws(Finding) in
        let coder = ListCoder(bytes)
        func images(_ order: [Int]) throws(CoderError) -> [Int: UInt64] {
            let context = CoderHost(
                configuration: HostConfiguration(directories: [], administrationDirectories: [], followsChanges: false))
            context.manager.addCoder(coder)
            return try context.manager.withSession(ImageSource(Array("LIST".utf8)), limits: Decoding.limits) {
                session throws(CoderError) in
                var sums: [Int: UInt64] = [:]
                for index in order {
                    var sum = ByteSum()
                    sum.add(try session.decodeFrame(index).pixels)
                    sums[index] = sum.value
                }
                return sums
            }
        }
        var dice = Dice(UInt64(bytes.count) &+ UInt64(bytes.last ?? 0))
        let sequential = Array(coder.frames.indices)
        do throws(CoderError) {
            let inOrder = try images(sequential)
            let atRandom = try images(sequential.shuffled(using: &dice))
            if inOrder != atRandom {
                throw CoderError(finding: "frames asked for at random differ from those in order")
            }
            if try images(sequential.reversed()) != inOrder {
                throw CoderError(finding: "frames played backwards differ")
            }
        } catch {
            if error.message.hasPrefix(Failure.mark) { throw Finding(error.message) }
            if !Decoding.ordinaryCodes.contains(error.code) { throw Finding("\(error.code): \(error)") }
        }
    }

    /// An image of any kind, written in any format with any options, then read again. The size must be equal, and for a
    /// lossless format the pixels, too.
    static let encoders = FuzzTarget("encoders", cost: 16, seeds: orders) { bytes throws(Finding) in
        var dice = Dice(bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
        let formats: [ImageFormat] = ["png", "jpeg", "gif", "webp", "heic", "avif", "farbfeld", "pam"]
        let format = formats[Int(bytes.first ?? 0) % formats.count]
        let kinds: [PixelFormat] = [.rgba8, .rgb8, .gray8, PixelFormat(.grayAlpha), .rgb16, .rgba16]
        let size = PixelSize(1 + dice.below(40), 1 + dice.below(40))
        guard let pixels = try? PixelBuffer(size: size, format: dice.pick(kinds)) else { return }
        for y in 0..<size.height {
            pixels.withMutableRow(y) { row in
                for index in 0..<size.width * pixels.format.bytesPerPixel {
                    let byte = bytes.isEmpty || dice.once(in: 3) ? dice.byte() : bytes[(y &* 31 &+ index) % bytes.count]
                    row.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
                }
            }
        }
        let image = DecodedImage(
            info: ImageInfo(size: size, nativeFormat: pixels.format, bitDepth: pixels.format.bits), pixels: pixels,
            format: "pnm", coder: "none")
        let options = options(of: FuzzHost.manager.encoders(for: format).first?.descriptor, &dice)
        let written: [UInt8]
        do throws(CoderError) {
            written = try FuzzHost.manager.encode(image, to: format, options: options)
        } catch {
            let known = Decoding.ordinaryCodes + [.invalidArgument]
            if !known.contains(error.code) { throw Finding("\(format) \(options.values): \(error.code): \(error)") }
            return
        }
        do throws(CoderError) {
            let back = try FuzzHost.manager.decode(ImageSource(written))
            if back.pixels.size != size { throw CoderError(finding: "\(format) makes \(back.pixels.size) of \(size)") }
        } catch {
            throw Finding("\(format) \(options.values): the written image cannot be read: \(error)")
        }
    }

    /// Some of an encoder's options, at random.
    static func options(of coder: CoderDescriptor?, _ dice: inout Dice) -> CoderOptions {
        var options = CoderOptions()
        for option in coder?.options ?? [] where option.scope.includesEncoding && dice.once(in: 3) {
            options[option.key] = value(of: option, &dice)
        }
        return options
    }

    /// Usually a valid value, sometimes one just outside.
    private static func value(of option: PluginManifest.Option, _ dice: inout Dice) -> OptionValue {
        let (least, most) = (option.minimum ?? 0, option.maximum ?? 100)
        switch option.kind {
        case .bool: return .bool(dice.once(in: 2))
        case .enum: return .string(dice.once(in: 20) ? "nothing" : dice.pick(option.values))
        case .i64: return .integer(Int64(least) - 1 + Int64(dice.below(Int(min(1000, most - least)) + 3)))
        case .f64: return .real(least + Double(dice.below(1001)) / 1000 * (most - least))
        default: return .string("x")
        }
    }

    // MARK: Seeds

    @Sendable static func frameLists() -> [[UInt8]] {
        (0..<12).map { number in
            var dice = Dice(UInt64(number))
            return dice.bytes(3 + 16 * (1 + dice.below(12)))
        } + Seeds.found("compositor")
    }

    @Sendable static func orders() -> [[UInt8]] {
        (0..<16).map { number in
            var dice = Dice(UInt64(number + 100))
            return [UInt8(number)] + dice.bytes(64)
        } + Seeds.found("encoders")
    }
}

extension CoderError {
    fileprivate init(finding: String) { self.init(.pluginFault, Failure.mark + finding) }
}

/// A finding, passed through calls that throw another error type.
private enum Failure {
    static let mark = "finding: "
}

/// A coder whose frames are defined by the bytes.
private struct ListCoder: ImageCoder {
    let descriptor: CoderDescriptor
    let size: PixelSize
    let frames: [(info: FrameInfo, seed: UInt8)]

    init(_ bytes: [UInt8]) {
        size = PixelSize(1 + Int(bytes.first ?? 0) % 24, 1 + Int(bytes.dropFirst().first ?? 0) % 24)
        let whole = PixelRect(size)
        var frames: [(info: FrameInfo, seed: UInt8)] = []
        for at in stride(from: 2, to: bytes.count - 15, by: 16).prefix(24) {
            func number(_ index: Int, _ most: Int) -> Int { Int(bytes[at + index]) % most }
            var rect = PixelRect(
                x: number(0, size.width + 3), y: number(1, size.height + 3), width: number(2, size.width + 4),
                height: number(3, size.height + 4))
            if number(4, 3) == 0 { rect = whole }
            frames.append(
                (
                    FrameInfo(
                        index: frames.count, rect: rect, duration: .milliseconds(10),
                        blend: number(5, 2) == 0 ? .source : .over,
                        disposal: [.keep, .background, .previous][number(6, 3)], hasAlpha: true,
                        isIndependent: number(7, 4) > 0 || frames.isEmpty), bytes[at + 8]
                ))
        }
        if frames.isEmpty { frames = [(FrameInfo(index: 0, rect: whole), 0)] }
        self.frames = frames
        let mask = [UInt8](repeating: 0xFF, count: 4)
        descriptor = CoderDescriptor(
            id: "list", version: "1", tier: .user, roles: [.decode, .animation],
            formats: [
                PluginManifest.Format(
                    id: "list", name: "LIST", mimeTypes: [], extensions: ["list"], typeIdentifiers: [],
                    signatures: [Signature(rules: [.bytes(at: 0, Array("LIST".utf8), mask: mask)], rank: 0)])
            ], priority: 100)
    }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        Decoder(size: size, frames: frames)
    }
    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
        throw .unsupported("writing")
    }

    private final class Decoder: FrameDecoder {
        let size: PixelSize
        let frames: [(info: FrameInfo, seed: UInt8)]
        var next = 0

        init(size: PixelSize, frames: [(info: FrameInfo, seed: UInt8)]) {
            self.size = size
            self.frames = frames
        }

        func readHeader() throws(CoderError) -> ImageInfo {
            ImageInfo(
                size: size, nativeFormat: .rgba8, frameCount: frames.count, loopCount: .infinite,
                isAnimated: frames.count > 1)
        }
        func pixelFormats() throws(CoderError) -> [PixelFormat] { [.rgba8] }
        func nextFrame() throws(CoderError) -> FrameInfo? {
            guard next < frames.count else { return nil }
            next += 1
            return frames[next - 1].info
        }
        func seek(toFrame index: Int) throws(CoderError) -> Int {
            next = index
            return index
        }
        func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome {
            var dice = Dice(UInt64(frames[next - 1].seed) &+ UInt64(next))
            for y in 0..<place.rect.height {
                let line = (0..<4 * place.rect.width).map { $0 % 4 == 3 ? dice.pick([0, 1, 127, 255]) : dice.byte() }
                place.withMutableRow(y) { row in
                    for (index, byte) in line.enumerated() {
                        row.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
                    }
                }
            }
            return .complete
        }
    }
}
