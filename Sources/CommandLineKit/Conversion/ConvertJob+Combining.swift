import CoderHost
import ImageModel
import ImageProcessing

/// Outputs with several images: all sizes of one image, or all images of a file.
extension ConvertJob {
    /// Whether all images of an input go to one output.
    var combinesItems: Bool {
        guard case .all = selection.items else { return false }
        return renditions.itemFormat != nil && !target.namesItems
    }

    /// Writes every size into one file, the largest first; the image is decoded once.
    ///
    /// - Parameter all: for the last item, the numbers of all written items, to warn about the others.
    func writeSizes(
        _ source: ImageSource, _ input: Input, _ session: DecodeSession, _ share: MemoryBudget.Share, all: Set<Int>?
    ) throws(CoderError) -> Outcome {
        if encode.maxFileSize != nil {
            throw .invalidArgument(
                "--target-size applies to one image, not to several sizes in one file",
                hint: "write one file per size: -o '{stem}-{w}.{ext}'")
        }
        let largest = try largestShape(session)
        share.take(largest.map(session.memoryEstimate) ?? session.memoryEstimate(DecodeOptions()))
        // Vector graphics are decoded at each size.
        let still = session.info.isScalable ? nil : try storedStill(session, largest)
        var rendition = Rendition(format: renditions.itemFormat, isUpright: true, isBox: true)
        if changes.trim != nil { rendition.part = try trimmedPart(session, still?.pixels) }
        var (sizes, clipped): (Set<PixelSize>, [Int]) = ([], [])
        var output: CombinedOutput?
        defer { if let output { close(output.output) } }
        for width in renditions.widths.sorted(by: >) {
            rendition.width = width
            let shape = try plan(session, input, rendition)
            if max(shape.size.width, shape.size.height) < width { clipped.append(width) }
            guard sizes.insert(shape.size).inserted else { continue }
            if output == nil {
                switch try combined(input, session, shape, rendition, all: all) {
                case .kept(let outcome): return outcome
                case .open(let opened): output = opened
                }
            }
            let image: DecodedImage
            if let still {
                image = keeping(try session.shaped(still.pixels, shape))
            } else {
                image = keeping(try session.decodeImage(shape))
            }
            try output?.encoder.add(image, role: .alternative)
        }
        guard let output else { throw .invalidArgument("--sizes needs a size") }
        var outcome = try finish(output, source, input, isIncomplete: still?.isIncomplete ?? false)
        if !clipped.isEmpty { outcome.warnings.append(warning(clipped.reversed(), outcome.output.size.width)) }
        return outcome
    }

    /// Writes all items into one file; a damaged item does not stop the others.
    func writeTogether(
        _ items: [Int], _ source: ImageSource, _ input: Input, _ session: DecodeSession, _ share: MemoryBudget.Share
    ) throws(CoderError) -> Outcome {
        let listed = try session.items()
        let rendition = Rendition(format: renditions.itemFormat)
        var output: CombinedOutput?
        defer { if let output { close(output.output) } }
        var failure: (item: Int, error: CoderError)?
        var (failed, isIncomplete) = (0, false)
        for item in items {
            let content: (rows: RowImage?, image: DecodedImage?)
            do throws(CoderError) {
                try session.select(item: item)
                let shape = try plan(session, input, rendition)
                if output == nil {
                    switch try combined(input, session, shape, rendition, all: Set(items)) {
                    case .kept(let outcome): return outcome
                    case .open(let opened): output = opened
                    }
                }
                share.take(session.memoryEstimate(shape))
                var decoding = Decoding(
                    session: session, shape: shape, format: rendition.format ?? session.format, frames: nil)
                decoding.shape = shape
                if let rows = try rows(decoding) {
                    content = (rows, nil)
                } else {
                    let (image, isCut) = try decode(decoding)
                    for warning in image.warnings { session.context.warn(warning) }
                    content = (nil, image)
                    isIncomplete = isIncomplete || isCut
                }
            } catch {
                let endsAll = [.cancelled, .deadlineExceeded, .inputOutput, .cannotCreate].contains(error.code)
                if items.count == 1 || endsAll { throw error }
                failure = failure ?? (item, error)
                failed += 1
                continue
            }
            // After an error of the encoder, the output cannot be continued.
            let facts = listed.first { $0.index == item }?.facts
            let role = facts?.role ?? .page
            if let rows = content.rows {
                try output?.encoder.add(rows, role: role, name: facts?.name)
            } else if let image = content.image {
                try output?.encoder.add(image, role: role, name: facts?.name)
            }
        }
        let error = failure.map { $0.error.about(item: $0.item, failed, of: items.count) }
        guard let output, output.encoder.count > 0 else {
            throw error ?? .invalidArgument("the selection has no items")
        }
        let outcome = try finish(output, source, input, isIncomplete: isIncomplete)
        if let error { throw error }
        return outcome
    }

    // MARK: Output

    /// An open output with the encoder of its images.
    private struct CombinedOutput {
        let output: OpenOutput
        let encoder: ItemsEncoder
        /// Warnings about options without effect.
        let warnings: [String]
        /// The size of the first image.
        let size: PixelSize
    }

    /// An output to write, or one that `--skip-existing` keeps.
    private enum CombinedOpening {
        case open(CombinedOutput)
        case kept(Outcome)
    }

    /// Opens an output and its encoder.
    private func combined(
        _ input: Input, _ session: DecodeSession, _ shape: ImageShape, _ rendition: Rendition, all: Set<Int>?
    ) throws(CoderError) -> CombinedOpening {
        let output: OpenOutput
        switch try open(input, session, shape, rendition, all: all) {
        case .kept(let outcome): return .kept(outcome)
        case .open(let opened): output = opened
        }
        do throws(CoderError) {
            let format = output.decoding.format
            if output.isAnimation {
                session.context.warn("\(format) with several images has no animation: only first frames are written")
            }
            let coder = host.manager.itemsEncoders(for: format, forcing: encode.encoder).first?.descriptor
            let options = try encode.encoding(format, coder, host)
            let encoder = try host.manager.makeItemsEncoder(
                to: format, options: encode.encodeOptions(options.known, changes), into: output.sink)
            return .open(
                CombinedOutput(output: output, encoder: encoder, warnings: options.warnings, size: shape.size))
        } catch {
            close(output)
            throw error
        }
    }

    private func finish(
        _ combined: CombinedOutput, _ source: ImageSource, _ input: Input, isIncomplete: Bool
    ) throws(CoderError) -> Outcome {
        let report = try combined.encoder.finish()
        return try finish(
            combined.output, source, input,
            Written(size: combined.size, report: report, isIncomplete: isIncomplete, warnings: combined.warnings))
    }
}

extension CoderError {
    /// Adds the item that failed first, and the number of failed items.
    func about(item: Int, _ failed: Int, of count: Int) -> CoderError {
        var error = self
        let others = failed < count ? ", the others were written" : ""
        let name = "item \(item)"
        let label = message.hasPrefix(name + " ") ? "" : name + ": "
        error.message = "\(label)\(message) (\(failed) of \(count) images failed\(others))"
        return error
    }
}
