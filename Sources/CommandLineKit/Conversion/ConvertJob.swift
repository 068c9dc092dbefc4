package import CoderHost
package import ImageModel
import ImageProcessing

/// One `convert`, `thumbnail` or `fetch` call: inputs, changes, encoding options and outputs.
///
/// - Concurrency: any thread; the job converts several inputs concurrently.
package final class ConvertJob: Sendable {
    /// The host that decodes and encodes.
    package let host: CoderHost
    let limits: DecodeLimits
    let style: Style
    let selection: Selection
    let changes: ImageChanges
    let encode: EncodingSwitches
    let target: OutputTarget
    /// The outputs of each input.
    package let renditions: Renditions
    /// Prevents an output from overwriting an input that is still to be read.
    let outputs: Mutex<OutputGuard>
    /// The order of the inputs, and their shares of processors and memory.
    package let schedule: Schedule

    /// Whether the selected item is copied without re-encoding.
    func isCopied(_ session: DecodeSession, _ output: OutputTarget.Name) -> Bool {
        style.copiesUnchanged && selection.isEverything && changes.isIdentity && encode.isEmpty
            && !session.hasChosen && canCopy(session.format, in: output)
    }

    /// Parses the arguments.
    ///
    /// - Parameter host: a host with other coders than the installed ones; nil for those that the arguments name.
    package init(
        _ arguments: ParsedArguments, _ style: Style = Style(), host other: CoderHost? = nil
    ) throws(UsageError) {
        let count = style.names?.count ?? arguments.operands.count
        host = if let other { other } else { CoderHost(configuration: try arguments.configuration(imageCount: count)) }
        limits = try arguments.limits()
        var renditions = try Renditions(arguments, host, style)
        let output = renditions.output(try arguments.output(default: style.output, host, command: style.command))
        // A URL has no local folder.
        let fields = OutputTemplate.names.filter { style.names == nil || !["dir", "tree"].contains($0) }
        target = try OutputTarget(
            output, arguments, fields: fields, isRemote: style.names != nil,
            followsFormat: renditions.isSeries || !renditions.formats.isEmpty)
        encode = try EncodingSwitches(arguments)
        let named = FileName(output).suffix.flatMap { [host] in host.manager.format(ofExtension: $0.lowercased()) }
        renditions.findItemFormat(named, encode.encoder, host)
        try renditions.examine(target, command: style.command)
        self.renditions = renditions
        selection = try Selection(arguments, target, style, combinesItems: renditions.itemFormat != nil)
        try encode.examine(host)
        changes = try ImageChanges(arguments, option: style.sizeOption, box: style.box, host)
        self.style = style
        for known in renditions.formats.isEmpty ? [named].compactMap({ $0 }) : renditions.formats {
            try encode.examine(for: known, host)
        }
        let names = (style.names ?? arguments.operands).enumerated().map { [target] index, file in
            target.path(for: file, number: index, size: PixelSize(1, 1)) { _ in "" }.path
        }
        // Replacing inputs is safe only in order. If two inputs share an output name, the first one gets it.
        let isOrdered = style.names == nil && arguments.has("--overwrite") || Set(names).count < names.count
        schedule = Schedule(
            threads: isOrdered ? 1 : try arguments.integer("--jobs", 1...256) ?? Machine.processorCount,
            isOrdered: isOrdered, isAlone: arguments.operands.count == 1, budget: try MemoryBudget(arguments))
        outputs = Mutex(
            OutputGuard(
                inputs: style.names == nil ? arguments.operands : [], arguments,
                remedy: "use --overwrite to replace it, or choose another name",
                isNameTyped: output != OutputTarget.currentFolder, fields: fields))
    }

    /// Prints a JSON line to standard output, or to standard error if the image goes to standard output.
    package func report(_ line: String) {
        if outputIsTaken { Console.error(line) } else { Console.out(line) }
    }

    /// Whether the image goes to standard output.
    package var outputIsTaken: Bool { target.isStandardOutput }

    // MARK: One file

    /// Converts one file.
    package func convert(_ file: String, number: Int) throws(CoderError) -> Outcome {
        // Refuses a format without encoder before decoding.
        let name = target.path(for: file, number: number, size: PixelSize(1, 1)) { host.manager.fileExtension(of: $0) }
        let wanted = renditions.formats.isEmpty ? [format(of: name)].compactMap { $0 } : renditions.formats
        for format in wanted where !writes(format) {
            throw host.manager.absence(ofEncoderFor: format, forcing: encode.encoder)
        }
        return try convert(try ImageSource(path: file, limits: limits), Input(file, name: file, number: number))
    }

    /// Refuses an input whose output cannot be written, if the output name is known before the input is loaded.
    ///
    /// - Throws: `.cannotCreate`.
    package func examineOutput(of input: Input) throws(CoderError) {
        if target.needsSize { return }
        var name = target.path(for: input.name, number: input.number, size: PixelSize(1, 1)) { _ in "" }
        if name.hasFormatPlaceholder {
            // A known file extension most likely matches the format.
            let own = FileName(input.name).suffix.flatMap { isKnown($0.lowercased()) ? $0 : nil }
            guard let suffix = renditions.formats.first.map({ suffix(of: $0, input.name) }) ?? own else { return }
            name.path = name.named(suffix)
        }
        try outputs.withLock { outputs throws(CoderError) in try outputs.examine(name.path, from: input.label) }
        try Self.refuseTerminal(name.path)
        if let error = target.missingFolder(of: name.path) { throw error }
    }

    static func refuseTerminal(_ path: String) throws(CoderError) {
        if path == "-" && Console.outputIsTerminal {
            throw CoderError(.cannotCreate, "an image is not written to a terminal", hint: "redirect standard output")
        }
    }

    /// Converts an input that is already loaded.
    package func convert(_ source: ImageSource, _ input: Input) throws(CoderError) -> Outcome {
        let decoding = try encode.decoding(source, host)
        // The share returns after the session is closed, because closing frees the coder's memory.
        let share = schedule.budget.share()
        defer { share.giveBack() }
        return try host.manager.withSession(source, options: decoding, forcing: selection.coder) {
            session throws(CoderError) in
            do throws(CoderError) {
                let items = try selection.items?.numbers(in: session) ?? [0]
                if combinesItems { return try writeTogether(items, source, input, session, share) }
                return try convert(items: items, source, input, session, share)
            } catch {
                let canShowParts = session.coder.roles.contains(.incremental) && !selection.allowsIncomplete
                throw canShowParts && !style.copiesUnchanged ? error.hintingAtIncomplete : error
            }
        }
    }

    /// Writes the items in order; a failed item does not stop the others.
    private func convert(
        items: [Int], _ source: ImageSource, _ input: Input, _ session: DecodeSession, _ share: MemoryBudget.Share
    ) throws(CoderError) -> Outcome {
        var first: Outcome?
        var failure: (item: Int, error: CoderError)?
        var failed = 0
        for item in items {
            do throws(CoderError) {
                try session.select(item: item)
                let all = item == items.last ? Set(items) : nil
                for var outcome in try writeAll(source, input, session, share, all: all) {
                    outcome.item = item
                    if first == nil { first = outcome } else { first?.others.append(outcome) }
                }
            } catch {
                let endsAll = [.cancelled, .deadlineExceeded, .inputOutput, .cannotCreate].contains(error.code)
                if items.count == 1 || endsAll { throw error }
                failure = failure ?? (item, error)
                failed += 1
            }
        }
        if let failure { throw failure.error.about(item: failure.item, failed, of: items.count) }
        guard let first else { throw .invalidArgument("the selection has no items") }
        return first
    }

    /// Writes one output of the selected item.
    ///
    /// - Parameter all: for the last item, the numbers of all written items, to warn about the others.
    func write(
        _ source: ImageSource, _ input: Input, _ session: DecodeSession, _ shape: ImageShape, _ rendition: Rendition,
        all: Set<Int>?
    ) throws(CoderError) -> Outcome {
        switch try open(input, session, shape, rendition, all: all) {
        case .kept(let outcome): return outcome
        case .open(let output): return try write(output, source, input, session, rendition)
        }
    }

    /// Writes an output that is open, and closes it.
    func write(
        _ output: OpenOutput, _ source: ImageSource, _ input: Input, _ session: DecodeSession, _ rendition: Rendition
    ) throws(CoderError) -> Outcome {
        defer { close(output) }
        let (decoding, sink, format) = (output.decoding, output.sink, output.decoding.format)
        var report: EncodeReport?
        let size: PixelSize
        var warnings: [String] = []
        var isIncomplete = false
        if output.isCopy {
            size = session.info.size
            try copy(source, session, decoding.shape, sink)
        } else if let encoder = output.animationEncoder {
            let options = try animationOptions(session, encoder, format)
            warnings = options.warnings
            (report, size) = try animate(decoding, source, encoder, options.known, sink)
        } else {
            guard let encoder = encode.stillEncoders(format, host).first else {
                throw host.manager.absence(ofEncoderFor: format, forcing: encode.encoder)
            }
            if output.isAnimation {
                session.context.warn("\(format) has no animation: only the first frame is written")
            }
            let content: Content
            if let ready = rendition.image {
                content = .whole(keeping(ready.0))
                (size, isIncomplete) = (ready.0.pixels.size, ready.isIncomplete)
            } else if let rows = try rows(decoding) {
                content = .rows(rows)
                size = rows.info.size
            } else {
                let image: DecodedImage
                (image, isIncomplete) = try decode(decoding)
                content = .whole(image)
                size = image.pixels.size
                for warning in image.warnings { session.context.warn(warning) }
            }
            if output.isCut && !isIncomplete {
                session.context.warn("truncated in frame 1: frame 0 is written")
            }
            let options = try encode.encoding(format, encoder.descriptor, host)
            warnings = options.warnings
            let encodeOptions = encode.encodeOptions(options.known, changes)
            switch content {
            case .whole(let image):
                report = try keepingSmaller(source, decoding, into: sink) { sink throws(CoderError) in
                    try host.manager.encode(image, to: format, encodeOptions, into: sink)
                }
            case .rows(let rows): report = try host.manager.encode(rows, to: format, encodeOptions, into: sink)
            }
        }
        return try finish(
            output, source, input, Written(size: size, report: report, isIncomplete: isIncomplete, warnings: warnings))
    }

    /// The image to write.
    private enum Content {
        case whole(DecodedImage)
        case rows(RowImage)
    }

    /// Decodes the still image to write.
    func decode(_ decoding: Decoding) throws(CoderError) -> (DecodedImage, isIncomplete: Bool) {
        let (session, shape) = (decoding.session, decoding.shape)
        if let frame = selection.frame ?? decoding.frames?.first?.index {
            return (keeping(try session.decodeFrame(frame, shape)), false)
        }
        guard selection.allowsIncomplete, let part = try session.decodeAvailable() else {
            return (keeping(try session.decodeImage(shape)), false)
        }
        if !part.isComplete { session.context.warn("truncated: a part of the image is missing") }
        return (keeping(try session.shaped(part.pixels, shape)), !part.isComplete)
    }

    /// Images below this number of pixels are decoded completely: they cost no more than their bands.
    private static let rowsFromPixels = 1 << 19

    /// Returns the image as rows, or nil if it must be in memory completely.
    func rows(_ decoding: Decoding) throws(CoderError) -> RowImage? {
        if selection.frame != nil || decoding.frames != nil || selection.allowsIncomplete || encode.needsWholeImage {
            return nil
        }
        let session = decoding.session
        guard (decoding.shape.decodedSize.area ?? 0) >= Self.rowsFromPixels,
            var image = try session.rowImage(decoding.shape)
        else { return nil }
        selection.keep(&image.metadata, &image.info)
        return image
    }

    /// Returns the image with the selected metadata only.
    func keeping(_ image: DecodedImage) -> DecodedImage {
        var image = image
        selection.keep(&image.metadata, &image.info)
        return image
    }
}
