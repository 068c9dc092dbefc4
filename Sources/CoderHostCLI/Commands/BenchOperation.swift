import CoderHost
import ImageModel

/// An operation to measure: as a closure in this process, and as a command line.
enum BenchOperation: String, CaseIterable {
    case info, decode, thumbnail, convert, encode

    /// The side of the thumbnail's box in pixels.
    static let side = 256

    /// Returns the output format; nil for operations that write nothing.
    func outputFormat(_ input: BenchImage, _ settings: BenchSettings, _ host: CoderHost) -> ImageFormat? {
        switch self {
        case .info, .decode: nil
        case .thumbnail: host.manager.defaultFormat(animated: false, alpha: input.hasAlpha)
        case .convert, .encode: settings.outputFormat(input, host)
        }
    }

    // MARK: In this process

    /// Does the setup that is not measured.
    ///
    /// - Returns: the operation to measure; callers may run it repeatedly.
    func prepare(
        _ input: BenchImage, _ settings: BenchSettings, _ host: CoderHost
    ) throws(CoderError) -> () throws(CoderError) -> Void {
        let manager = host.manager
        func open() throws(CoderError) -> DecodeSession {
            try manager.openSession(try ImageSource(path: input.file, limits: manager.limits))
        }
        func image(_ session: DecodeSession) throws(CoderError) -> DecodedImage {
            DecodedImage(
                info: session.info, pixels: try session.decodeImage(), metadata: try session.metadata(),
                format: session.format, coder: session.coder.id)
        }
        func write(_ image: DecodedImage) throws(CoderError) {
            guard let format = outputFormat(input, settings, host) else { return }
            var options = CoderOptions()
            let encoder = manager.encoders(for: format).first?.descriptor
            if encoder?.options.contains(where: { $0.key == OptionKey.quality }) == true {
                options[OptionKey.quality] = .real(Double(settings.quality))
            }
            try manager.encode(image, to: format, options: options, into: MemorySink(limits: manager.limits))
        }
        switch self {
        case .info:
            return { () throws(CoderError) in _ = try open().metadata() }
        case .decode:
            return { () throws(CoderError) in
                let session = try open()
                for index in 0..<input.frameCount { _ = try session.decodeFrame(index) }
            }
        case .thumbnail:
            let options = DecodeOptions.thumbnail(PixelSize(Self.side, Self.side))
            return { () throws(CoderError) in try write(try open().decodeImage(options)) }
        case .convert:
            return { () throws(CoderError) in try write(try image(try open())) }
        case .encode:
            let decoded = try image(try open())
            return { () throws(CoderError) in try write(decoded) }
        }
    }

    // MARK: As a process

    /// Returns the arguments of `coderhost` for the same operation.
    ///
    /// - Parameter input: the image, or an uncompressed copy of it for `encode`.
    func arguments(_ input: String, output: String, _ settings: BenchSettings) -> [String] {
        // A file name with a leading dash must not look like an option.
        let input = input.hasPrefix("-") ? "./" + input : input
        switch self {
        case .info: return ["info", input] + settings.shared
        case .decode: return ["bench", "--once", "--ops", "decode", input] + threads(settings) + settings.shared
        case .thumbnail: return ["thumbnail", input, "-s", "\(Self.side)"] + writing(output, settings)
        case .convert, .encode: return ["convert", input] + writing(output, settings)
        }
    }

    private func writing(_ output: String, _ settings: BenchSettings) -> [String] {
        ["--first-frame", "-q", "\(settings.quality)", "-o", output] + threads(settings) + settings.shared
    }

    private func threads(_ settings: BenchSettings) -> [String] { ["--threads", "\(settings.threads)"] }
}
