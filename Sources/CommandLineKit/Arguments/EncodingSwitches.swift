package import CoderHost
package import ImageModel

/// The encoding options of the command line, before the encoder is known.
package struct EncodingSwitches {
    private let shared: [(key: String, value: OptionValue)]
    private let raw: [(key: String, text: String)]
    /// The maximum size of the output file in bytes.
    package let maxFileSize: Int?
    package let embedsThumbnail: Bool
    /// The id of the only encoder to use; nil for the best one.
    let encoder: String?
    /// The range of light for images with light above screen white.
    let dynamicRange: DynamicRange
    /// Options such as `--colors`; each sets the coder option whose key ends with the same name.
    private let named: [(name: String, text: String)]

    /// The options, for the specification of a command.
    package static let specification = [
        OptionSpecification(
            "-q", "--quality", value: "N",
            help: "quality, 0 (smallest) to 100 (best) (default: the coder's)"),
        OptionSpecification("--lossless", help: "encode without loss, if the format allows it"),
        OptionSpecification(
            "--effort", value: "N",
            help: "encoder effort, 0 (fastest) to 9 (smallest file) (default: the coder's)"),
        OptionSpecification(
            "--colors", value: "N",
            help: "palette size, 2 to 256, if the format has a palette (default: the coder's)"),
        OptionSpecification(
            "--lossy", value: "N",
            help: "lossy compression of palette images, 0 (none) to 200 (smallest) (default: the coder's)"),
        OptionSpecification(
            "--dither", value: "HOW", choices: ["none", "ordered", "diffusion", "auto"],
            help:
                "dithering method: none, ordered, diffusion, auto (default: the coder's)"),
        OptionSpecification(
            "--quality-range", value: "RANGE",
            help: "MIN-MAX: fewest colors for MAX, true color below MIN (default: none)"),
        OptionSpecification(
            "--distance", value: "HOW", choices: ["rgb", "perceptual"],
            help: "color distance for the palette: rgb, perceptual (default: the coder's)"),
        .coderOption,
    ]

    /// The options of commands that write one image for each input.
    package static let stillSpecification = [
        OptionSpecification("--encoder", value: "ID", help: "encode with this coder only (default: the best)"),
        OptionSpecification(
            "--target-size", value: "SIZE",
            help: "maximum file size, by lower quality; k: 1024 bytes, kB: 1000 (default: none)"),
        OptionSpecification(
            "--embed-thumbnail", help: "embed a thumbnail, if the format allows it"),
        OptionSpecification(
            "--dynamic-range", value: "HOW", choices: DynamicRange.allCases.map(\.rawValue),
            help: "PQ, HLG, wide gamut: auto (keep if possible), keep or sdr, tone mapped (default: auto)"),
    ]

    package init(_ arguments: ParsedArguments) throws(UsageError) {
        var shared: [(key: String, value: OptionValue)] = []
        if let quality = try arguments.real("--quality", 0...100) { shared.append((OptionKey.quality, .real(quality))) }
        if arguments.has("--lossless") { shared.append((OptionKey.lossless, .bool(true))) }
        if let effort = try arguments.integer("--effort", 0...9) {
            shared.append((OptionKey.effort, .integer(Int64(effort))))
        }
        self.shared = shared
        encoder = arguments.value("--encoder")
        maxFileSize = try arguments.byteCount("--target-size")
        embedsThumbnail = arguments.has("--embed-thumbnail")
        dynamicRange = try arguments.choice("--dynamic-range", DynamicRange.self) ?? .automatic
        named = ["colors", "lossy", "dither", "quality-range", "distance"].compactMap { name in
            arguments.value("--" + name).map { (name, $0) }
        }
        if let text = arguments.value("--quality-range"), !Self.isRange(text) {
            throw UsageError(
                "invalid --quality-range value \"\(text)\": expected MIN-MAX, from 0 to 100",
                hint: "for example --quality-range 65-80")
        }
        var raw: [(key: String, text: String)] = []
        for text in arguments.all("--option") {
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw UsageError("invalid -O value \"\(text)\": expected KEY=VALUE")
            }
            raw.append((String(text[..<equals]), String(text[text.index(after: equals)...])))
        }
        try Self.refuseContradictions(shared.map(\.key), raw)
        self.raw = raw
    }

    /// Whether a text is `MIN-MAX` with qualities from 0 to 100.
    private static func isRange(_ text: String) -> Bool {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
        return ends.count == 2 && ends[0] >= 0 && ends[0] <= ends[1] && ends[1] <= 100
    }

    /// Refuses two values for one option: a script would not notice which one has an effect.
    ///
    /// - Parameter shared: the coder options that options such as `--quality` set.
    private static func refuseContradictions(
        _ shared: [String], _ raw: [(key: String, text: String)]
    ) throws(UsageError) {
        var values: [String: String] = [:]
        for (key, text) in raw {
            if let earlier = values.updateValue(text, forKey: key), earlier != text {
                throw UsageError(
                    "-O sets \(key) twice: \"\(printable(earlier))\" and \"\(printable(text))\"",
                    hint: "remove one of them")
            }
            if shared.contains(key) {
                throw UsageError("--\(key) and -O \(key)=\(printable(text)) set the same option", hint: "choose one")
            }
        }
    }

    /// Whether encoding needs more than one pass, or a thumbnail.
    package var needsWholeImage: Bool { maxFileSize != nil || embedsThumbnail }

    /// Whether the command line has no encoding options.
    package var isEmpty: Bool {
        shared.isEmpty && raw.isEmpty && named.isEmpty && maxFileSize == nil && !embedsThumbnail
            && dynamicRange == .automatic && encoder == nil
    }

    /// Refuses values that no encoder of any format accepts, also where the format of the output ignores the option.
    package func examine(_ host: CoderHost) throws(UsageError) {
        for (name, text) in named {
            let options = host.manager.coders.flatMap(\.descriptor.options)
                .filter { $0.key.hasSuffix("." + name) && $0.scope.includesEncoding }
            let problems = options.compactMap { Self.problem(name, text, $0) }
            if let first = problems.first, problems.count == options.count { throw UsageError(first) }
        }
    }

    /// Refuses values that the preferred encoder of a format would refuse, before reading any file.
    package func examine(for format: ImageFormat, _ host: CoderHost) throws(UsageError) {
        let encoders = stillEncoders(format, host) + animationEncoders(format, host)
        guard !named.isEmpty, let encoder = encoders.first?.descriptor else { return }
        for (name, text) in named {
            let match = encoder.options.first { $0.key.hasSuffix("." + name) && $0.scope.includesEncoding }
            if let match, let problem = Self.problem(name, text, match) { throw UsageError(problem) }
        }
    }

    /// Returns the error message for an invalid value, with the option as typed; nil if the value is valid.
    private static func problem(_ name: String, _ text: String, _ option: PluginManifest.Option) -> String? {
        func range() -> String {
            let bounds = [option.minimum, option.maximum].map { $0.map { JSONValue.real($0).text } ?? "…" }
            return bounds.joined(separator: " to ")
        }
        switch option.kind {
        case .enum where !option.values.contains(text):
            return "invalid --\(name) value \"\(text)\": expected \(option.values.joined(separator: ", "))"
        case .i64, .f64:
            guard let number = option.kind == .i64 ? Int64(text).map(Double.init) : Double(text) else {
                return "invalid --\(name) value \"\(text)\": expected a \(option.kind == .i64 ? "whole " : "")number, "
                    + range()
            }
            if let minimum = option.minimum, number < minimum {
                return "invalid --\(name) value \"\(text)\": below \(JSONValue.real(minimum).text), range \(range())"
            }
            if let maximum = option.maximum, number > maximum {
                return "invalid --\(name) value \"\(text)\": above \(JSONValue.real(maximum).text), range \(range())"
            }
            return nil
        default: return nil
        }
    }

    /// Returns the coders that write stills of a format, best first; only the one of `--encoder`, if it is given.
    func stillEncoders(_ format: ImageFormat, _ host: CoderHost) -> [RankedCoder] {
        host.manager.encoders(for: format, forcing: encoder)
    }

    /// Returns the coders that write animations in a format, best first; only the one of `--encoder`, if it is given.
    func animationEncoders(_ format: ImageFormat, _ host: CoderHost) -> [RankedCoder] {
        host.manager.animationEncoders(for: format, forcing: encoder)
    }

    /// Returns the host's options for encoding a still, including the encoder's own options.
    package func encodeOptions(_ known: CoderOptions, _ changes: ImageChanges) -> EncodeOptions {
        var options = EncodeOptions(known)
        options.maxFileSize = maxFileSize
        options.encoder = encoder
        options.embedsThumbnail = embedsThumbnail
        options.background = changes.finish.background?.overWhite ?? .white
        options.dynamicRange = dynamicRange
        return options
    }

    /// Returns the `-O` options that a decoder of these bytes accepts.
    package func decoding(_ source: ImageSource, _ host: CoderHost) throws(CoderError) -> CoderOptions {
        var options = CoderOptions()
        for option in raw {
            for coder in host.manager.candidates(for: source) {
                guard coder.descriptor.options.contains(where: { $0.key == option.key && $0.scope.includesDecoding })
                else { continue }
                options[option.key] = try OptionCheck.parse(option.text, for: option.key, coder.descriptor)
            }
        }
        return options
    }

    /// Returns the warning about an option that an encoder lacks; it names the encoder if another one of the format has it.
    private static func ignored(
        _ name: String, _ format: ImageFormat, _ encoder: CoderDescriptor, _ host: CoderHost,
        _ matches: (String) -> Bool
    ) -> String {
        let isKnown = host.manager.coders.map(\.descriptor).contains { other in
            other.formats.contains { $0.id == format }
                && other.options.contains { $0.scope.includesEncoding && matches($0.key) }
        }
        return "--\(name) is ignored: \(isKnown ? "the encoder \(encoder.id)" : "\(format)") has no such option"
    }

    /// Returns the options that the encoder accepts, and a warning for each shared option that it lacks.
    package func encoding(
        _ format: ImageFormat, _ encoder: CoderDescriptor?, _ host: CoderHost
    ) throws(CoderError) -> (known: CoderOptions, warnings: [String]) {
        var options = CoderOptions()
        var warnings: [String] = []
        guard let encoder else { return (options, []) }
        for (key, value) in shared {
            if encoder.options.contains(where: { $0.key == key && $0.scope.includesEncoding }) {
                options[key] = value
            } else if key != OptionKey.lossless {
                warnings.append(Self.ignored(key, format, encoder, host) { $0 == key })
            } else if encoder.options.contains(where: { $0.key == OptionKey.quality }) {
                // An encoder with a quality option but no lossless option is always lossy.
                warnings.append("--lossless is ignored: \(format) is always lossy")
            }
        }
        for (name, text) in named {
            let match = encoder.options.first { $0.key.hasSuffix("." + name) && $0.scope.includesEncoding }
            if let match {
                if let problem = Self.problem(name, text, match) { throw .invalidArgument(problem) }
                options[match.key] = try OptionCheck.parse(text, for: match.key, encoder)
            } else {
                warnings.append(Self.ignored(name, format, encoder, host) { $0.hasSuffix("." + name) })
            }
        }
        for (key, text) in raw {
            let decodes = host.manager.coders.contains { coder in
                coder.descriptor.options.contains { $0.key == key && $0.scope.includesDecoding }
            }
            if decodes && !encoder.options.contains(where: { $0.key == key && $0.scope.includesEncoding }) { continue }
            options[key] = try OptionCheck.parse(text, for: key, encoder)
        }
        return (options, warnings)
    }
}
