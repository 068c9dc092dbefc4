package import CoderHost
package import ImageModel

/// What a person said about how to encode, before it is known which encoder that concerns.
package struct EncodingSwitches {
    private let shared: [(key: String, value: OptionValue)]
    private let raw: [(key: String, text: String)]
    /// Bytes that the file may have at most.
    package let maxFileSize: Int?
    package let embedsThumbnail: Bool
    /// Switches of this program and the last part of the options they stand for.
    private let named: [(name: String, text: String)]

    /// The switches, for the specification of a command.
    package static let specification = [
        OptionSpecification(
            "-q", "--quality", value: "N", help: "what to keep, 0 to 100 (default: the coder's own)"),
        OptionSpecification("--lossless", help: "lose nothing, where the format can"),
        OptionSpecification("--effort", value: "N", help: "0 fast to 9 small (default: the coder's own)"),
        OptionSpecification(
            "--colors", value: "N",
            help: "colours of a palette, 2 to 256, where the format has one (default: the coder's own)"),
        OptionSpecification(
            "--dither", value: "HOW",
            help:
                "how colours are mixed that a palette does not have: none, ordered, diffusion, auto "
                + "(default: the coder's own)"),
        OptionSpecification(
            "--distance", value: "HOW",
            help: "how colours are compared for a palette: rgb, perceptual (default: the coder's own)"),
        OptionSpecification(
            "-O", "--option", value: "KEY=VALUE",
            help: "an option of the coder (may be repeated); list --json shows them"),
    ]

    /// Those of commands that write one picture for each input.
    package static let stillSpecification = [
        OptionSpecification(
            "--target-size", value: "SIZE",
            help:
                "the best quality, up to --quality, whose file has at most so many bytes; a larger animation is an error (default: no limit)"
        ),
        OptionSpecification(
            "--embed-thumbnail", help: "store a small version beside the picture, where the format can"),
    ]

    package init(_ arguments: ParsedArguments) throws(UsageError) {
        var shared: [(key: String, value: OptionValue)] = []
        if let quality = try arguments.real("--quality", 0...100) { shared.append((OptionKey.quality, .real(quality))) }
        if arguments.has("--lossless") { shared.append((OptionKey.lossless, .bool(true))) }
        if let effort = try arguments.integer("--effort", 0...9) {
            shared.append((OptionKey.effort, .integer(Int64(effort))))
        }
        self.shared = shared
        maxFileSize = try arguments.byteCount("--target-size")
        embedsThumbnail = arguments.has("--embed-thumbnail")
        named = ["colors", "dither", "distance"].compactMap { name in
            arguments.value("--" + name).map { (name, $0) }
        }
        var raw: [(key: String, text: String)] = []
        for text in arguments.all("--option") {
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw UsageError("-O \"\(text)\" is not of the form key=value")
            }
            raw.append((String(text[..<equals]), String(text[text.index(after: equals)...])))
        }
        self.raw = raw
    }

    /// Whether the encoder needs more than one pass, or a small version of the image.
    package var needsWholeImage: Bool { maxFileSize != nil || embedsThumbnail }

    /// Whether nothing was said.
    package var isEmpty: Bool {
        shared.isEmpty && raw.isEmpty && named.isEmpty && maxFileSize == nil && !embedsThumbnail
    }

    /// Refuses what the best encoder of a format would refuse, before any file is looked at.
    package func examine(for format: ImageFormat, _ host: CoderHost) throws(UsageError) {
        guard !named.isEmpty, let encoder = host.manager.encoders(for: format).first?.descriptor else { return }
        for (name, text) in named {
            let match = encoder.options.first { $0.key.hasSuffix("." + name) && $0.scope.includesEncoding }
            if let match, let problem = Self.problem(name, text, match) { throw UsageError(problem) }
        }
    }

    /// What is wrong with the value of a switch, in the words of whoever typed it.
    private static func problem(_ name: String, _ text: String, _ option: PluginManifest.Option) -> String? {
        func range() -> String {
            let bounds = [option.minimum, option.maximum].map { $0.map { JSONValue.real($0).text } ?? "…" }
            return bounds.joined(separator: " to ")
        }
        switch option.kind {
        case .enum where !option.values.contains(text):
            return "--\(name) \(text): it is one of \(option.values.joined(separator: ", "))"
        case .i64, .f64:
            guard let number = option.kind == .i64 ? Int64(text).map(Double.init) : Double(text) else {
                return "--\(name) \(text) is no \(option.kind == .i64 ? "whole " : "")number: \(range())"
            }
            if let minimum = option.minimum, number < minimum {
                return "--\(name) \(text) is below \(JSONValue.real(minimum).text): \(range())"
            }
            if let maximum = option.maximum, number > maximum {
                return "--\(name) \(text) is above \(JSONValue.real(maximum).text): \(range())"
            }
            return nil
        default: return nil
        }
    }

    /// What the host does for a still, with the options that its encoder knows.
    package func wishes(_ known: CoderOptions, _ changes: PictureChanges) -> EncodeOptions {
        var options = EncodeOptions(known)
        options.maxFileSize = maxFileSize
        options.embedsThumbnail = embedsThumbnail
        options.background = changes.background ?? .white
        return options
    }

    /// Limits under which an animation is written, for which no quality is searched.
    package func limits(_ limits: DecodeLimits) -> DecodeLimits {
        guard let maxFileSize else { return limits }
        var limits = limits
        limits.maxOutputBytes = limits.maxOutputBytes > 0 ? min(limits.maxOutputBytes, maxFileSize) : maxFileSize
        return limits
    }

    /// Options that some decoder of these bytes knows.
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

    /// Options as the encoder's schema reads them; shared switches that mean nothing to it are only mentioned.
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
                warnings.append("--\(key): \(format) has no such option, it is ignored")
            } else if encoder.options.contains(where: { $0.key == OptionKey.quality }) {
                // An encoder with a quality but without this switch always loses something.
                warnings.append("\(format) cannot be lossless: --lossless is ignored")
            }
        }
        for (name, text) in named {
            let match = encoder.options.first { $0.key.hasSuffix("." + name) && $0.scope.includesEncoding }
            if let match {
                if let problem = Self.problem(name, text, match) { throw .invalidArgument(problem) }
                options[match.key] = try OptionCheck.parse(text, for: match.key, encoder)
            } else {
                warnings.append("--\(name): \(format) has no such option, it is ignored")
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
