import CoderHost
import ImageModel

/// One output from its name to its commit.
extension ConvertJob {
    /// One input between decoder and encoder.
    struct Decoding {
        let session: DecodeSession
        var shape: ImageShape
        let format: ImageFormat
        /// The selected frames; nil for all frames as stored.
        let frames: [FrameSelection.Frame]?
    }

    /// An output with a claimed name and an open sink.
    struct OpenOutput {
        let path: String
        let decoding: Decoding
        let sink: FileSink
        /// Whether the output is a copy of the input.
        let isCopy: Bool
        /// Whether more than one frame is selected.
        let isAnimation: Bool
        /// Whether the data ends in frame 1.
        let isCut: Bool
        /// The encoder that writes all frames; nil for a copy and for a still image.
        let animationEncoder: CoderDescriptor?
    }

    /// An output to write, or one that `--skip-existing` keeps.
    enum Opening {
        case open(OpenOutput)
        case kept(Outcome)
    }

    /// The result of an encoding.
    struct Written {
        var size: PixelSize
        var report: EncodeReport?
        var isIncomplete = false
        var warnings: [String] = []
    }

    /// Claims the name of an output and opens its sink; ``close(_:)`` must follow.
    ///
    /// - Parameter all: for the last item, the numbers of all written items, to warn about the others.
    func open(
        _ input: Input, _ session: DecodeSession, _ shape: ImageShape, _ rendition: Rendition, all: Set<Int>?
    ) throws(CoderError) -> Opening {
        let file = input.label
        let output = target.path(
            for: input.name, number: input.number, item: session.selectedItem, size: shape.size
        ) { host.manager.fileExtension(of: $0) }
        let isCopy = isCopied(session, output)
        // A copy keeps all images of the file.
        if let all, !isCopy { try session.warnOfOtherItems("written", chosen: selection.items == nil ? nil : all) }
        let frames = try selectedFrames(session)
        let (isAnimation, isCut) = try hasMoreFrames(session, frames)
        let named = isCopy ? session.format : rendition.format ?? format(of: output)
        let format = if let named { named } else { try usualFormat(session, isAnimation: isAnimation) }
        let path = output.hasFormatPlaceholder ? output.named(suffix(of: format, input.name)) : output.path
        if target.keepsExisting(path, from: input.name) {
            try outputs.withLock { outputs throws(CoderError) in try outputs.keep(path, from: file) }
            return .kept(Outcome(keeping: path, format, of: file, session))
        }
        try outputs.withLock { outputs throws(CoderError) in try outputs.claim(path, from: file) }
        var isOpen = false
        defer { if !isOpen { outputs.withLock { $0.release(path) } } }
        try Self.refuseTerminal(path)
        if let stated = host.manager.misleadingFormat(ofName: path, for: format) {
            session.context.warn("\(path) has the file extension of \(stated), but holds \(format)")
        }
        try target.makeFolders(of: path)
        let sink = try FileSink(path: path, over: target.replacement, limits: limits)
        isOpen = true
        return .open(
            OpenOutput(
                path: path, decoding: Decoding(session: session, shape: shape, format: format, frames: frames),
                sink: sink, isCopy: isCopy, isAnimation: isAnimation, isCut: isCut,
                animationEncoder: isAnimation && !isCopy
                    ? encode.animationEncoders(format, host).first?.descriptor : nil))
    }

    /// Commits an output and reports it.
    func finish(
        _ output: OpenOutput, _ source: ImageSource, _ input: Input, _ written: Written
    ) throws(CoderError) -> Outcome {
        let (session, report) = (output.decoding.session, written.report)
        let isLarger = output.sink.written > source.count && source.isComplete
        if style.box != nil, isLarger, written.size != session.info.size {
            session.context.warn(
                "the thumbnail needs more bytes than the image, \(output.sink.written) instead of \(source.count): "
                    + "-f webp or a smaller -s makes it smaller")
        }
        let tally = BatchTally(written: 1, inputBytes: source.count, outputBytes: output.sink.written)
        try output.sink.commit()
        outputs.withLock { $0.note(output.path, from: input.label) }
        return Outcome(
            input: Outcome.File(name: input.label, format: session.format, size: session.info.size),
            output: Outcome.File(name: output.path, format: output.decoding.format, size: written.size),
            decoder: Outcome.Coder(id: session.coder.id, isolation: session.isolation),
            encoder: report.map { Outcome.Coder(id: $0.coder, isolation: $0.isolation) },
            isIncomplete: written.isIncomplete,
            warnings: session.context.warnings + written.warnings + (report?.warnings ?? []), tally: tally)
    }

    /// Releases the name of an output; a written one has released it before.
    func close(_ output: OpenOutput) { outputs.withLock { $0.release(output.path) } }
}
