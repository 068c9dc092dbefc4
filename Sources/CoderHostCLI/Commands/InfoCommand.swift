import CoderHost
import CommandLineKit
import ImageModel
import ImageProcessing

/// Prints size, format and other properties of images. Decodes pixels only for `--hash` and `--summary`.
enum InfoCommand: Command {
    static let specification = CommandSpecification(
        name: "info", summary: "show size, format and color profile", operands: "FILE…", operandCount: 1...1_000_000,
        examples: [
            ("coderhost info photo.heic", "one line of text"),
            ("coderhost info -f width photo.heic", "the width only, for scripts"),
            ("coderhost info --json *.jpg", "one JSON object per line"),
            ("coderhost info --frames --hash --json cat.gif", "all frames, with pixel hashes"),
            ("coderhost info --items burst.heic", "all images of the file"),
            ("coderhost info -r photos --json", "all images in a folder and its subfolders"),
            ("coderhost info --summary photo.jpg", "BlurHash, dominant color and palette"),
            ("coderhost info - < photo.heic", "read standard input"),
        ],
        options: [
            OptionSpecification("--frames", help: "list position, duration, blend and disposal of all frames"),
            OptionSpecification("--items", help: "list number, role, size and name of all images in the file"),
            OptionSpecification("--hash", help: "print the SHA-256 of the pixels (RGBA8, straight alpha)"),
            OptionSpecification(
                "--summary",
                help: "print BlurHash, palette, dominant color (the first of the palette) and average color"),
            OptionSpecification(
                "--palette", value: "N", help: "--summary: maximum number of palette colors, 1 to 64 (default: 5)"),
            OptionSpecification(
                "-f", "--field", value: "FIELD", isList: true, choices: Report.fieldNames,
                help: "print only these fields, one per line (comma-separated or repeated)"),
            .coder,
        ] + OptionSpecification.inputs)

    /// Returns the number of palette colors; nil if no part of a summary is requested.
    private static func paletteSize(_ arguments: ParsedArguments, _ fields: [String]) throws(UsageError) -> Int? {
        let count = try arguments.integer("--palette", 1...64)
        if arguments.has("--summary") || fields.contains(where: SummaryRendering.keys.contains) { return count ?? 5 }
        if count != nil {
            throw UsageError("--palette works only with --summary", hint: "add --summary", command: "info")
        }
        return nil
    }

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let host = try arguments.host()
        let limits = try arguments.limits()
        let fields = arguments.all("--field").flatMap { $0.split(separator: ",").map(String.init) }
        // Computes expensive fields only on request.
        let wanted = Report.Wanted(
            frames: arguments.has("--frames") || fields.contains("frames"),
            items: arguments.has("--items") || fields.contains("items"),
            hash: arguments.has("--hash") || fields.contains("pixel_sha256"),
            paletteSize: try paletteSize(arguments, fields), coder: arguments.value("--coder"),
            warnsOfEnd: fields.isEmpty || fields.contains("warnings"))
        for field in fields where !Report.fieldNames.contains(field) {
            throw UsageError(
                "unknown field \(field)",
                hint: OptionCheck.nearest(field, Report.fieldNames).map { "did you mean \($0)?" }
                    ?? "fields: \(Report.fieldNames.joined(separator: ", "))")
        }
        let asJSON = arguments.has("--json")
        var failures = 0
        var lastCode = CoderError.Code.corrupt
        var unrecognized = 0
        for file in arguments.operands {
            do throws(CoderError) {
                let source = try ImageSource(path: file, limits: limits)
                let report = try Report(source, host, wanted)
                let lines = asJSON ? [report.json(fields).text] : report.text(fields)
                lines.forEach { Console.out($0) }
                for warning in asJSON || !fields.isEmpty ? [] : report.warnings {
                    Console.error(printable("coderhost: \(file): warning: \(warning)"))
                }
            } catch {
                if arguments.inputs.skips(file, after: error, host) {
                    unrecognized += 1
                    continue
                }
                failures += 1
                lastCode = error.code
                error.report(file, arguments)
            }
            if Console.outputError != nil { return .inputOutput }
        }
        if unrecognized > 0 { Console.error("coderhost: \(BatchSummary.unrecognized(unrecognized))") }
        if failures == 0 { return arguments.inputs.unreadFolders == 0 ? .success : .partialFailure }
        return arguments.operands.count == 1 ? ExitCode(lastCode) : .partialFailure
    }
}

/// The report of `info` on one file.
struct Report {
    struct Wanted {
        var frames: Bool
        var items: Bool
        var hash: Bool
        /// The number of palette colors of a summary; nil without a summary.
        var paletteSize: Int?
        var coder: String?
        /// Whether to search for the end of the animation, to warn about missing frames.
        var warnsOfEnd: Bool
    }

    private let members: [(key: String, value: JSONValue)]

    static let fieldNames =
        [
            "file", "format", "coder", "width", "height", "frame_count", "loop_count", "has_alpha", "bit_depth",
            "orientation", "color_profile", "pixel_format", "is_animated", "density", "thumbnails", "items", "metadata",
            "isolation", "pixel_sha256",
        ] + SummaryRendering.keys + ["frames", "warnings"]

    init(_ source: ImageSource, _ host: CoderHost, _ wanted: Wanted) throws(CoderError) {
        members = try host.manager.withSession(source, forcing: wanted.coder) { session throws(CoderError) in
            if let stated = host.manager.misleadingFormat(ofName: source.name, for: session.format, reading: true) {
                session.context.warn("the file has the file extension of \(stated), but holds \(session.format)")
            }
            return try Self.members(source, session, wanted)
        }
    }

    private static func members(
        _ source: ImageSource, _ session: DecodeSession, _ wanted: Wanted
    ) throws(CoderError) -> [(key: String, value: JSONValue)] {
        let info = session.info
        let metadata = try session.metadata()
        // If the header has no frame count, all frames must be found. Frames in front of damage are reported.
        if wanted.frames || info.frameCount == nil, case .failure(let error) = session.findFrames(),
            session.knownFrameCount == 0
        {
            throw error
        }
        let frames = wanted.frames || info.frameCount == nil ? session.knownFrames : []
        var result: [(key: String, value: JSONValue)] = [
            ("file", .string(source.name)), ("format", .string(session.format.id)),
            ("coder", .string(session.coder.id)),
            ("width", .integer(info.size.width)), ("height", .integer(info.size.height)),
            ("frame_count", .integer(info.frameCount ?? frames.count)), ("loop_count", info.loopCount.json),
            ("has_alpha", .bool(info.hasAlpha)), ("bit_depth", .integer(info.bitDepth)),
            ("orientation", .integer((info.orientation ?? .up).rawValue)),
            ("color_profile", colorProfile(info, metadata)),
            ("pixel_format", .string("\(info.nativeFormat)")), ("is_animated", .bool(info.isAnimated)),
            ("density", density(info.density)),
        ]
        let thumbnails = try session.thumbnails()
        if !thumbnails.isEmpty {
            result.append(
                (
                    "thumbnails",
                    .array(
                        thumbnails.map {
                            .object([("width", .integer($0.size.width)), ("height", .integer($0.size.height))])
                        })
                ))
        }
        if wanted.items { result.append(("items", .array(try session.items().map(ItemRendering.json)))) }
        result.append(
            (
                "metadata",
                .array(
                    metadata.map {
                        .object([
                            ("kind", .string("\($0.kind)")), ("key", $0.key.map(JSONValue.string) ?? .null),
                            ("bytes", .integer($0.bytes.count)),
                        ])
                    })
            ))
        result.append(("isolation", IsolationRendering.json(session.isolation)))
        let hashes = wanted.hash ? try hash(session, frames, all: wanted.frames) : []
        if let first = hashes.first { result.append(("pixel_sha256", .string(first))) }
        if let count = wanted.paletteSize { result += SummaryRendering.json(try session.summary(colors: count)) }
        if wanted.frames {
            result.append(
                (
                    "frames",
                    .array(
                        frames.enumerated().map { index, frame in
                            FrameRendering.json(
                                frame, isKey: session.isKeyFrame(frame.index),
                                hash: index < hashes.count ? hashes[index] : nil)
                        })
                ))
        }
        if wanted.warnsOfEnd, !wanted.items { try session.warnOfOtherItems("described") }
        if wanted.warnsOfEnd, info.isAnimated || session.coder.roles.contains(.animation) { warnOfEnd(session) }
        if !session.context.warnings.isEmpty {
            result.append(("warnings", .array(session.context.warnings.map(JSONValue.string))))
        }
        return result
    }

    /// Warns about a truncated or damaged animation, without decoding.
    private static func warnOfEnd(_ session: DecodeSession) {
        guard case .failure(let error) = session.findFrames() else { return }
        let frame = "frame \(session.knownFrameCount)"
        session.context.warn(
            error.code == .truncated ? "truncated in \(frame)" : "damaged from \(frame) on: \(error.message)")
    }

    /// Returns the hashes of the composited frames: of all, or of the first only.
    private static func hash(
        _ session: DecodeSession, _ frames: [FrameInfo], all: Bool
    ) throws(CoderError) -> [String] {
        guard all, frames.count > 1 else { return [try PixelHash.hex(try session.decodeImage())] }
        var result: [String] = []
        for frame in frames { result.append(try PixelHash.hex(try session.decodeFrame(frame.index).pixels)) }
        return result
    }

    private static func density(_ density: PixelDensity?) -> JSONValue {
        switch density {
        case .perMeter(let x, let y):
            .object([("x", .integer(Int(x))), ("y", .integer(Int(y))), ("unit", .string("meter"))])
        case .aspect(let x, let y):
            .object([("x", .integer(Int(x))), ("y", .integer(Int(y))), ("unit", .string("aspect"))])
        case nil: .null
        }
    }

    /// Returns `icc: <description>`, `cicp: primaries/transfer/matrix`, `gamma: exponent`, or null.
    ///
    /// Null also stands for a gamma and primaries that are those of sRGB.
    private static func colorProfile(_ info: ImageInfo, _ metadata: [MetadataBlob]) -> JSONValue {
        if let points = info.color.codePoints, !points.isUnspecified,
            info.color.prefersCodePoints || !info.color.hasProfile
        {
            return .string("cicp: \(points.primaries)/\(points.transfer)/\(points.matrix)")
        }
        if case .calibrated(let color) = ColorProfile(of: info, metadata: metadata) {
            let primaries = color.chromaticities == nil ? "" : " with primaries"
            return .string("gamma: \(Double(color.gamma) / 100_000)\(primaries)")
        }
        guard let profile = metadata.first(where: { $0.kind == .icc })?.bytes else { return .null }
        return .string("icc: \(ICCDescription.read(profile) ?? "\(profile.count) bytes")")
    }

    // MARK: Output

    var warnings: [String] {
        (members.first { $0.key == "warnings" }?.value.array ?? []).compactMap(\.string)
    }

    func json(_ fields: [String]) -> JSONValue {
        guard !fields.isEmpty else { return .object(members) }
        return .object(members.filter { $0.key == "file" || fields.contains($0.key) })
    }

    func text(_ fields: [String]) -> [String] {
        func value(_ key: String) -> JSONValue { members.first { $0.key == key }?.value ?? .null }
        func plain(_ value: JSONValue) -> String { value.string ?? (value == .null ? "" : value.text) }
        guard fields.isEmpty else { return fields.map { plain(value($0)) } }
        var line = "\(printable(plain(value("file")))): \(plain(value("format"))) "
        line += "\(plain(value("width")))x\(plain(value("height")))"
        line += ", \(plain(value("pixel_format"))), \(plain(value("bit_depth"))) bit"
        if let count = value("frame_count").integer, count != 1 { line += ", \(count) frames" }
        if value("is_animated").bool == true {
            let loops = value("loop_count").integer.map { $0 == 0 ? LoopCount.infinite : .plays($0) }
            line += ", \((loops ?? .unknown).words)"
        }
        if let orientation = value("orientation").integer, orientation != 1 { line += ", orientation \(orientation)" }
        if value("color_profile") != .null { line += ", \(plain(value("color_profile")))" }
        line += "  [\(plain(value("coder")))]"
        var lines = [line]
        if value("pixel_sha256") != .null { lines.append("  pixels \(plain(value("pixel_sha256")))") }
        lines += SummaryRendering.text(members)
        for item in value("items").array ?? [] { lines.append(ItemRendering.text(item)) }
        for frame in value("frames").array ?? [] {
            func part(_ key: String) -> String { plain(frame[key] ?? .null) }
            var row = "  frame \(part("index")): \(part("width"))x\(part("height"))+\(part("x"))+\(part("y"))"
            if frame["duration"] != .null { row += ", \(FrameRendering.rounded(frame["duration_ms"]?.real ?? 0)) ms" }
            row += ", \(part("blend")), \(part("disposal"))"
            if let hash = frame["pixel_sha256"]?.string { row += ", \(hash)" }
            lines.append(row)
        }
        return lines
    }
}
