import CoderHost
import ImageModel

/// Something to be measured: a closure in this process, and a command line of the same work.
enum BenchOperation: String, CaseIterable {
    case info, decode, thumbnail, convert, encode

    /// The box of a thumbnail.
    static let side = 256

    /// What is written; nil where nothing is.
    func outputFormat(_ picture: BenchPicture, _ settings: BenchSettings, _ host: CoderHost) -> ImageFormat? {
        switch self {
        case .info, .decode: nil
        case .thumbnail: host.manager.defaultFormat(hasAlpha: picture.hasAlpha)
        case .convert, .encode: settings.outputFormat(picture, host)
        }
    }

    // MARK: In this process

    /// The work, with what does not belong to it done.
    ///
    /// - Returns: what is measured; it may be called again.
    func prepare(
        _ picture: BenchPicture, _ settings: BenchSettings, _ host: CoderHost
    ) throws(CoderError) -> () throws(CoderError) -> Void {
        let manager = host.manager
        func open() throws(CoderError) -> DecodeSession {
            try manager.openSession(try ImageSource(path: picture.file, limits: manager.limits))
        }
        func image(_ session: DecodeSession) throws(CoderError) -> DecodedImage {
            DecodedImage(
                info: session.info, pixels: try session.decodeImage(), metadata: try session.metadata(),
                format: session.format, coder: session.coder.id)
        }
        func write(_ image: DecodedImage) throws(CoderError) {
            guard let format = outputFormat(picture, settings, host) else { return }
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
                for index in 0..<picture.frameCount { _ = try session.decodeFrame(index) }
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

    /// The arguments of `coderhost` for the same work.
    ///
    /// - Parameter input: the picture, or an uncompressed copy of it where only writing is measured.
    func arguments(_ input: String, output: String, _ settings: BenchSettings) -> [String] {
        // A file whose name begins with a dash is no option.
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
