package import CoderHost
package import ImageModel
import ImageProcessing
import Synchronization

/// One `convert` or `thumbnail` call: what to read, what becomes of it, how to write, where to.
///
/// - Concurrency: any thread; several inputs are converted at a time.
package final class ConvertJob: Sendable {
    package let host: CoderHost
    private let limits: DecodeLimits
    private let target: OutputTarget
    let format: ImageFormat?
    private let frame: Int?
    private let items: ItemChoice?
    private let coder: String?
    private let kept: Set<MetadataBlob.Kind>
    private let firstFrameOnly: Bool
    private let allowsIncomplete: Bool
    private let encode: EncodingSwitches
    private let changes: PictureChanges
    /// Of many inputs none may be replaced before its turn has come.
    private let outputs: Mutex<OutputGuard>
    private let budget: MemoryBudget
    /// How many inputs are converted at a time.
    package let threads: Int
    /// Whether one has to come after the other.
    package let isOrdered: Bool
    package let isAlone: Bool

    /// What one command does differently from another.
    package struct Style {
        package var command = "convert"
        /// The box that pictures are resized to where no switch says so.
        package var box: PixelSize?
        package var output: String?
        package var kept = Set(MetadataBlob.Kind.allCases)
        /// Whether a format that was not named is the input's own.
        package var keepsFormat = false
        /// Whether an input that stays as it is becomes the output byte for byte.
        package var copiesUnchanged = false
        /// What the inputs are called where that is not what stands in the command line.
        package var names: [String]?

        package init() {}
    }

    let style: Style
    /// Whether the input's pixels and metadata are asked for as they are.
    private var isUnchanged: Bool {
        style.copiesUnchanged && frame == nil && !firstFrameOnly && changes.isIdentity && encode.isEmpty
            && kept == Set(MetadataBlob.Kind.allCases)
    }

    /// A picture to be converted.
    package struct Input: Sendable {
        /// What messages call it.
        package var label: String
        /// What its output is named after.
        package var name: String
        package var number: Int

        package init(_ label: String, name: String, number: Int) {
            self.label = label
            self.name = name
            self.number = number
        }
    }

    package init(_ arguments: ParsedArguments, _ style: Style = Style()) throws(UsageError) {
        host = CoderHost(configuration: try arguments.configuration(imageCount: style.names?.count ?? arguments.operands.count))
        limits = try arguments.limits()
        guard let output = arguments.value("--output") ?? style.output else {
            throw UsageError("-o OUT is missing", command: style.command)
        }
        // A URL has no folder here.
        let fields = OutputTemplate.names.filter { style.names == nil || $0 != "dir" }
        target = try OutputTarget(output, arguments, fields: fields, isRemote: style.names != nil)
        format = try Self.format(arguments, host)
        if arguments.has("--frame") && arguments.has("--first-frame") {
            throw UsageError(
                "--frame and --first-frame both choose a frame", hint: "choose one", command: style.command)
        }
        frame = try arguments.integer("--frame", 0...1_000_000)
        items = try ItemChoice(arguments, target, command: style.command)
        coder = arguments.value("--coder")
        kept = try Self.kept(arguments, style.kept)
        firstFrameOnly = arguments.has("--first-frame")
        allowsIncomplete = arguments.has("--incomplete")
        encode = try EncodingSwitches(arguments)
        changes = try PictureChanges(arguments, box: try arguments.box("--resize") ?? style.box)
        self.style = style
        let known =
            format ?? FileName(output).suffix.flatMap { [host] in host.manager.format(ofExtension: $0.lowercased()) }
        if let known { try encode.examine(for: known, host) }
        isAlone = arguments.operands.count == 1
        let names = (style.names ?? arguments.operands).enumerated().map { [target] index, file in
            target.path(for: file, number: index, size: PixelSize(1, 1)) { _ in "" }.path
        }
        // What replaces an input that is still to be read is only safe one after the other; of two inputs for one output
        // it is the first that gets it.
        isOrdered = style.names == nil && arguments.has("--overwrite") || Set(names).count < names.count
        threads = isOrdered ? 1 : try arguments.integer("--jobs", 1...256) ?? processorCount
        budget = MemoryBudget(bytes: try arguments.byteCount("--budget") ?? 512 << 20)
        outputs = Mutex(
            OutputGuard(
                inputs: style.names == nil ? arguments.operands : [], arguments,
                remedy: "use --overwrite to replace it, or write elsewhere",
                isNameTyped: output != OutputTarget.currentFolder, fields: fields))
    }

    /// Where JSON lines go: standard output, unless the picture itself goes there.
    package func report(_ line: String) {
        if outputIsTaken { Console.error(line) } else { Console.out(line) }
    }

    package var outputIsTaken: Bool { target.isStandardOutput }

    // MARK: One file

    package func convert(_ file: String, number: Int) throws(CoderError) -> Outcome {
        // A format that nobody writes is refused before anything is decoded.
        let name = target.path(for: file, number: number, size: PixelSize(1, 1)) { host.manager.fileExtension(of: $0) }
        if let wanted = format(of: name), !host.manager.canEncode(to: wanted) {
            throw host.manager.absence(ofEncoderFor: wanted)
        }
        return try convert(try ImageSource(path: file, limits: limits), Input(file, name: file, number: number))
    }

    /// Refuses an input whose output cannot be written, as far as its name is known before the input is there.
    ///
    /// - Throws: `.cannotCreate`.
    package func examineOutput(of input: Input) throws(CoderError) {
        if target.needsSize { return }
        var name = target.path(for: input.name, number: input.number, size: PixelSize(1, 1)) { _ in "" }
        if name.hasFormatPlaceholder {
            // An ending that some format has is hardly one of another.
            let own = FileName(input.name).suffix.flatMap { isKnown($0.lowercased()) ? $0 : nil }
            guard let suffix = format.map({ suffix(of: $0, input.name) }) ?? own else { return }
            name.path = name.named(suffix)
        }
        try outputs.withLock { outputs throws(CoderError) in try outputs.examine(name.path, from: input.label) }
        try Self.refuseTerminal(name.path)
        if let error = FileSink.missingFolder(of: name.path) { throw error }
    }

    private func isKnown(_ suffix: String) -> Bool {
        host.manager.coders.contains { $0.descriptor.formats.contains { $0.extensions.contains(suffix) } }
    }

    private static func refuseTerminal(_ path: String) throws(CoderError) {
        if path == "-" && Console.outputIsTerminal {
            throw CoderError(.cannotCreate, "a picture is not written to a terminal", hint: "redirect standard output")
        }
    }

    /// The same as ``convert(_:number:)`` for bytes that are there already.
    package func convert(_ source: ImageSource, _ input: Input) throws(CoderError) -> Outcome {
        let decoding = try encode.decoding(source, host)
        // Given back once the session is closed, and the coder's own memory with it.
        let share = budget.share()
        defer { share.giveBack() }
        return try host.manager.withSession(source, options: decoding, forcing: coder) { session throws(CoderError) in
            do throws(CoderError) {
                return try convert(items: items?.numbers(in: session) ?? [0], source, input, session, share)
            } catch {
                let canShowParts = session.coder.roles.contains(.incremental) && !allowsIncomplete
                throw canShowParts && !style.copiesUnchanged ? error.hintingAtIncomplete : error
            }
        }
    }

    /// Writes one item after the other; one that fails does not end the others.
    private func convert(
        items: [Int], _ source: ImageSource, _ input: Input, _ session: DecodeSession, _ share: MemoryBudget.Share
    ) throws(CoderError) -> Outcome {
        var first: Outcome?
        var failure: (item: Int, error: CoderError)?
        var failed = 0
        for item in items {
            do throws(CoderError) {
                try session.select(item: item)
                let shaper = try PictureShaper(changes, session)
                share.take(shaper.memoryEstimate)
                var outcome = try write(source, input, session, shaper, all: item == items.last ? Set(items) : nil)
                outcome.item = item
                if first == nil { first = outcome } else { first?.others.append(outcome) }
            } catch {
                let endsAll = [.cancelled, .deadlineExceeded, .inputOutput, .cannotCreate].contains(error.code)
                if items.count == 1 || endsAll { throw error }
                failure = failure ?? (item, error)
                failed += 1
            }
        }
        if let failure {
            var error = failure.error
            let others = failed < items.count ? ", the others are written" : ""
            let name = "item \(failure.item)"
            let label = error.message.hasPrefix(name + " ") ? "" : name + ": "
            error.message = "\(label)\(error.message) (\(failed) of \(items.count) images failed\(others))"
            throw error
        }
        guard let first else { throw .invalidArgument("no item is to be written") }
        return first
    }

    /// Writes the selected item.
    ///
    /// - Parameter all: with the last item, the numbers of all that are written: it warns of the others.
    private func write(
        _ source: ImageSource, _ input: Input, _ session: DecodeSession, _ shaper: PictureShaper, all: Set<Int>?
    ) throws(CoderError) -> Outcome {
        let file = input.label
        let output = target.path(
            for: input.name, number: input.number, item: session.selectedItem, size: shaper.size
        ) { host.manager.fileExtension(of: $0) }
        let isCopy = isUnchanged && session.selectedItem == 0 && isAtHome(session.format, in: output)
        // A copy holds every image of the file.
        if let all, !isCopy { try session.warnOfOtherItems("written", chosen: items == nil ? nil : all) }
        let (isAnimation, isCut) = try hasMoreFrames(session)
        let format =
            isCopy ? session.format : format(of: output) ?? usualFormat(session, isAnimation: isAnimation)
        let path = output.hasFormatPlaceholder ? output.named(suffix(of: format, input.name)) : output.path
        try outputs.withLock { outputs throws(CoderError) in try outputs.claim(path, from: file) }
        var isWritten = false
        defer { if !isWritten { outputs.withLock { $0.release(path) } } }
        try Self.refuseTerminal(path)
        let picture = Picture(session: session, shaper: shaper, format: format)
        let sink = try FileSink(
            path: path, over: target.replacement, limits: isAnimation ? encode.limits(limits) : limits)
        var report: EncodeReport?
        let size: PixelSize
        var warnings: [String] = []
        var isIncomplete = false
        if isCopy {
            size = session.info.size
            try copy(source, session, shaper, sink)
        } else if isAnimation, let encoder = host.manager.animationEncoders(for: format).first {
            let options = try encode.encoding(format, encoder.descriptor, host)
            warnings = options.warnings
            if encode.embedsThumbnail { session.context.warn("an animation holds no thumbnail: it is left out") }
            let written = try animate(picture, options.known, sink)
            (report, size) = (written.0, written.1)
        } else {
            if isAnimation { session.context.warn("\(format) holds one picture: only the first frame is written") }
            let content: Content
            if let rows = try rows(picture) {
                content = .rows(rows)
                size = rows.info.size
            } else {
                let image: DecodedImage
                (image, isIncomplete) = try decode(picture)
                content = .whole(image)
                size = image.pixels.size
                for warning in image.warnings { session.context.warn(warning) }
            }
            if isCut && !isIncomplete {
                session.context.warn("the data ends in frame 1: the frame before it is written")
            }
            let options = try encode.encoding(format, host.manager.encoders(for: format).first?.descriptor, host)
            warnings = options.warnings
            let wishes = encode.wishes(options.known, changes)
            switch content {
            case .whole(let image): report = try host.manager.encode(image, to: format, wishes, into: sink)
            case .rows(let rows): report = try host.manager.encode(rows, to: format, wishes, into: sink)
            }
        }
        try sink.commit()
        isWritten = true
        outputs.withLock { $0.note(path, from: file) }
        return Outcome(
            input: file, output: path, inputFormat: session.format, outputFormat: format, inputSize: session.info.size,
            size: size, decoder: session.coder.id, encoder: report?.coder, isIncomplete: isIncomplete,
            isolation: session.isolation, encoderIsolation: report?.isolation,
            warnings: session.context.warnings + warnings + (report?.warnings ?? []))
    }

    /// What is written.
    private enum Content {
        case whole(DecodedImage)
        case rows(RowImage)
    }

    /// One input on its way.
    private struct Picture {
        let session: DecodeSession
        var shaper: PictureShaper
        let format: ImageFormat
    }

    /// The format of an output that nobody named.
    private func usualFormat(_ session: DecodeSession, isAnimation: Bool) -> ImageFormat {
        let manager = host.manager
        let keeps =
            isAnimation
            ? !manager.animationEncoders(for: session.format).isEmpty
            : style.keepsFormat && manager.canEncode(to: session.format)
        return keeps ? session.format : manager.defaultFormat(hasAlpha: session.info.hasAlpha)
    }

    /// Whether there is a second frame to be written, and whether the data ends in front of where it would be whole.
    private func hasMoreFrames(_ session: DecodeSession) throws(CoderError) -> (Bool, isCut: Bool) {
        if frame != nil || firstFrameOnly { return (false, false) }
        do throws(CoderError) {
            return (try session.frameInfo(1) != nil, false)
        } catch {
            guard allowsIncomplete, error.code == .truncated else { throw error }
            return (false, true)
        }
    }

    /// Writes frame after frame; one of them is in memory at a time.
    private func animate(
        _ picture: Picture, _ options: CoderOptions, _ sink: FileSink
    ) throws(CoderError) -> (EncodeReport, PixelSize) {
        let session = picture.session
        var shaper = picture.shaper
        let count = changes.limitBytes == nil ? 1 : frameCount(session)
        var encoder: AnimationEncoder?
        var size = PixelSize.zero
        var progress = ProgressLine(total: isAlone ? session.info.frameCount ?? 0 : 0)
        defer { progress.clear() }
        var index = 0
        while true {
            do throws(CoderError) {
                guard let frame = try session.frameInfo(index) else { break }
                let image = keeping(try shaper.frame(index, of: count))
                if encoder == nil {
                    var facts = image.info
                    facts.hasAlpha = facts.hasAlpha || session.info.hasAlpha
                    size = facts.size
                    encoder = try host.manager.makeAnimationEncoder(
                        to: picture.format, of: facts, metadata: image.metadata, options: options, limits: limits,
                        background: changes.background ?? .white, into: sink)
                }
                try encoder?.add(image.pixels, duration: frame.duration)
            } catch {
                guard allowsIncomplete, error.code == .truncated, index > 0 else { throw error }
                session.context.warn("the data ends in frame \(index): the frames before it are written")
                break
            }
            index += 1
            progress.show(index, "frame \(index)")
        }
        guard let encoder else { throw CoderError(.corrupt, "there is no frame in it") }
        return (try encoder.finish(), size)
    }

    /// Frames that share a number of bytes.
    private func frameCount(_ session: DecodeSession) -> Int {
        if let count = session.info.frameCount { return count }
        _ = session.findFrames()
        return max(1, session.knownFrameCount)
    }

    /// The one picture that is written.
    private func decode(_ picture: Picture) throws(CoderError) -> (DecodedImage, isIncomplete: Bool) {
        let session = picture.session
        var shaper = picture.shaper
        if let frame { return (keeping(try shaper.frame(frame, of: 1)), false) }
        guard allowsIncomplete, let part = try session.decodeAvailable() else {
            return (keeping(try shaper.image()), false)
        }
        if !part.isComplete { session.context.warn("the data ends too early: a part of the picture is missing") }
        return (keeping(try shaper.image(of: part.pixels)), !part.isComplete)
    }

    /// The image in rows, where it need not be in memory as a whole.
    private func rows(_ picture: Picture) throws(CoderError) -> RowImage? {
        if frame != nil || allowsIncomplete || encode.needsWholeImage { return nil }
        guard var image = try picture.shaper.rows() else { return nil }
        keep(&image.metadata, &image.info)
        return image
    }

    /// The image with the metadata that is wanted.
    private func keeping(_ image: DecodedImage) -> DecodedImage {
        var image = image
        keep(&image.metadata, &image.info)
        return image
    }

    private func keep(_ metadata: inout [MetadataBlob], _ info: inout ImageInfo) {
        metadata.removeAll { !kept.contains($0.kind) || $0.kindInText.map { !kept.contains($0) } ?? false }
        if !kept.contains(.icc) { info.color.hasProfile = false }
    }

    /// The format that was asked for, by name or by the output's ending; nil where nothing was said.
    private func format(of output: OutputTarget.Name) -> ImageFormat? {
        if let format { return format }
        // A device such as /dev/null has no ending to go by.
        guard !output.hasFormatPlaceholder, output.path != "-", let suffix = output.suffix else { return nil }
        // An ending that nobody knows is a mistake, not a reason to choose.
        return host.manager.format(ofExtension: suffix) ?? ImageFormat(suffix)
    }
}
