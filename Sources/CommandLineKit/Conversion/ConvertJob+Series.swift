import CoderHost
import ImageModel
import ImageProcessing

/// All outputs of one item; a still or a frame is decoded once for all of them.
extension ConvertJob {
    /// Writes all outputs of the selected item.
    ///
    /// - Parameter all: for the last item, the numbers of all written items, to warn about the others.
    func writeAll(
        _ source: ImageSource, _ input: Input, _ session: DecodeSession, _ share: MemoryBudget.Share, all: Set<Int>?
    ) throws(CoderError) -> [Outcome] {
        var rendition = Rendition(format: renditions.formats.first)
        if renditions.combinesSizes(in: target) { return [try writeSizes(source, input, session, share, all: all)] }
        guard renditions.isSeries || changes.trim != nil else {
            let shape = try plan(session, input, rendition)
            share.take(session.memoryEstimate(shape))
            return [try write(source, input, session, shape, rendition, all: all)]
        }
        rendition.isUpright = true
        let isAnimation = try hasMoreFrames(session, try selectedFrames(session)).0
        let largest = isAnimation ? nil : try largestShape(session)
        let estimate = largest.map(session.memoryEstimate) ?? session.memoryEstimate(DecodeOptions())
        // The outputs of an animation are written together, and each has its own frame.
        let together = isAnimation ? min(outputsPerPass, renditions.count) - 1 : 0
        share.take(estimate + together * (session.info.size.area ?? 0) * 4)
        // Vector graphics are decoded at each size.
        let still = isAnimation || session.info.isScalable ? nil : try storedStill(session, largest)
        if changes.trim != nil { rendition.part = try trimmedPart(session, still?.pixels) }
        return try writeSeries(source, input, session, rendition, still, all: all)
    }

    /// The pixels of a still as stored, and whether a part of them is missing.
    typealias Still = (pixels: PixelBuffer, isIncomplete: Bool)

    /// How many animations are written together: each has an encoder, which may need a worker process.
    private var outputsPerPass: Int { max(1, min(16, 56 / (schedule.isAlone ? 1 : schedule.threads) - 2)) }

    private func writeSeries(
        _ source: ImageSource, _ input: Input, _ session: DecodeSession, _ base: Rendition, _ still: Still?,
        all: Set<Int>?
    ) throws(CoderError) -> [Outcome] {
        var series = AnimationSeries(known: session.context.warnings)
        defer { for output in series.open { close(output) } }
        var (sizes, clipped): (Set<PixelSize>, [Int]) = ([], [])
        var still = still
        let widths: [Int?] = renditions.widths.isEmpty ? [nil] : renditions.widths
        let formats: [ImageFormat?] = renditions.formats.isEmpty ? [nil] : renditions.formats
        for width in widths {
            var rendition = base
            rendition.width = width
            var (ready, earlier): (DecodedImage?, ImageShape?) = (nil, nil)
            for format in formats {
                rendition.format = format
                let before = session.context.warnings
                let shape = try plan(session, input, rendition)
                if format == formats[0] {
                    if let width, shape.size.width < width { clipped.append(width) }
                    if !sizes.insert(shape.size).inserted { break }
                }
                let output: OpenOutput
                switch try open(input, session, shape, rendition, all: series.isEmpty ? all : nil) {
                case .kept(let outcome):
                    series.append(outcome, before)
                    continue
                case .open(let opened): output = opened
                }
                if let encoder = output.animationEncoder, encode.maxFileSize == nil {
                    try series.append(output, encoder, before) { encoder throws(CoderError) in
                        try animationOptions(session, encoder, output.decoding.format)
                    }
                    if series.open.count == outputsPerPass { try write(&series, source, input) }
                    continue
                }
                do throws(CoderError) {
                    if output.isAnimation, !output.isCopy, output.animationEncoder == nil, still == nil {
                        let index = output.decoding.frames?.first?.index ?? 0
                        still = (try session.decodeFrame(index).pixels, false)
                    }
                    if let still, ready == nil || earlier?.makesSameImage(as: shape) != true {
                        ready = try session.shaped(still.pixels, shape)
                    }
                } catch {
                    close(output)
                    throw error
                }
                if let still {
                    rendition.image = ready.map { ($0, isIncomplete: still.isIncomplete) }
                    earlier = shape
                }
                series.append(try write(output, source, input, session, rendition), before)
            }
        }
        try write(&series, source, input)
        var outcomes = series.outcomes
        if try keepsPosition(session) {
            outcomes[0].warnings.append(
                "the outputs contain the place where the image was taken; --strip gps removes it")
        }
        if !clipped.isEmpty, let width = outcomes.map(\.output.size.width).max() {
            outcomes[0].warnings.append(warning(clipped, width))
        }
        return outcomes
    }

    /// Returns the warning about sizes above that of the image.
    func warning(_ clipped: [Int], _ width: Int) -> String {
        let shown = clipped.count > 4 ? [clipped[0], clipped[1]] : clipped
        let more = clipped.count > 4 ? " … \(clipped[clipped.count - 1]) (\(clipped.count) widths)" : ""
        let list = shown.map(String.init).joined(separator: ",") + more
        return "--sizes \(list): the image is only \(width) pixels wide and is not enlarged; --enlarge enlarges it"
    }

    /// Writes the open animations of a series together, frame by frame.
    private func write(
        _ series: inout AnimationSeries, _ source: ImageSource, _ input: Input
    ) throws(CoderError) {
        guard let session = series.open.first?.decoding.session else { return }
        let before = session.context.warnings.count
        var writers: [AnimationWriter] = []
        for (output, options) in zip(series.open, series.options) {
            writers.append(AnimationWriter(try settled(output.decoding), options, output.sink))
        }
        try write(writers)
        for (index, output) in series.open.enumerated() {
            let report = try writers[index].finish()
            let outcome = try finish(output, source, input, Written(size: writers[index].size, report: report))
            let shared = index == 0 ? Array(session.context.warnings.dropFirst(before)) : []
            series.complete(outcome, report.warnings, shared: shared)
            close(output)
        }
        series.clear()
    }

    /// Whether outputs for a web page keep the place where the image was taken.
    private func keepsPosition(_ session: DecodeSession) throws(CoderError) -> Bool {
        if renditions.widths.isEmpty, renditions.markup == nil { return false }
        var (blobs, info) = (try session.metadata(), session.info)
        selection.keep(&blobs, &info)
        return blobs.contains { blob in
            switch blob.kind {
            case .exif: ExifPosition.removing(blob.bytes) != blob.bytes
            case .xmp: XMPPosition.removing(blob.bytes) != blob.bytes
            default: false
            }
        }
    }

    /// Returns the shape of the largest width if all outputs are scaled from the whole image, so that no step needs its
    /// full size; nil otherwise.
    func largestShape(_ session: DecodeSession) throws(CoderError) -> ImageShape? {
        var options = changes.options
        let isBox = renditions.combinesSizes(in: target)
        guard let width = renditions.widths.max(), changes.trim == nil, options.part == nil, selection.frame == nil,
            !selection.allowsIncomplete
        else { return nil }
        options.size = .box(PixelSize(width, isBox ? width : 0), .inside, enlarging: renditions.enlarges)
        options.appliesOrientation = true
        return try session.shape(options)
    }

    /// Decodes the selected still without any change.
    ///
    /// - Parameter largest: the shape of the largest output, if the coder may reduce the image to this size.
    func storedStill(_ session: DecodeSession, _ largest: ImageShape?) throws(CoderError) -> Still {
        if let largest {
            return (try session.decodeImage(forShapesUpTo: largest), false)
        }
        if let frame = selection.frame { return (try session.decodeFrame(frame).pixels, false) }
        guard selection.allowsIncomplete, let part = try session.decodeAvailable() else {
            return (try session.decodeImage(), false)
        }
        if !part.isComplete { session.context.warn("truncated: a part of the image is missing") }
        return (part.pixels, !part.isComplete)
    }

    /// Returns the part of the upright image without the border that all frames have.
    func trimmedPart(_ session: DecodeSession, _ still: PixelBuffer?) throws(CoderError) -> PixelRect {
        let size = session.pendingOrientation.applied(to: session.info.size)
        let gravity = changes.options.cropPosition.gravity ?? .center
        // A rectangle is cropped first, because its numbers refer to the image; a shape is cropped from the rest.
        let region = changes.options.region
        var rest = region?.intersection(PixelRect(size))
        if let found = try content(session, still, region) {
            rest = found
        } else {
            session.context.warn("--trim: the image has only one color, so nothing is removed")
        }
        guard let whole = rest, region == nil, let part = changes.options.part else { return rest ?? PixelRect(size) }
        var rect = part.rect(in: whole.size, gravity)
        rect.x += whole.x
        rect.y += whole.y
        return rect
    }

    /// Returns the rectangle of all frames outside of which each of them has one color; nil if all frames have one.
    private func content(
        _ session: DecodeSession, _ still: PixelBuffer?, _ region: PixelRect?
    ) throws(CoderError) -> PixelRect? {
        let tolerance = changes.trim ?? 0
        if let still { return try session.trimmed(still, region, tolerance: tolerance) }
        var (result, index): (PixelRect?, Int) = (nil, 0)
        while true {
            do throws(CoderError) {
                guard try session.frameInfo(index) != nil else { break }
                if let rect = try session.trimmed(
                    try session.decodeFrame(index).pixels, region, tolerance: tolerance)
                {
                    result = result?.union(rect) ?? rect
                }
            } catch {
                guard selection.allowsIncomplete, error.code == .truncated, index > 0 else { throw error }
                break
            }
            index += 1
        }
        return result
    }
}

extension ImageShape {
    /// Whether another shape makes the same pixels of the same decoded image.
    fileprivate func makesSameImage(as other: ImageShape) -> Bool {
        options == other.options && finish.colors?.profile == other.finish.colors?.profile
            && finish.colors?.embeds == other.finish.colors?.embeds
            && finish.transformer?.key == other.finish.transformer?.key
    }
}

extension PixelRect {
    /// Returns the smallest rectangle that contains both.
    fileprivate func union(_ other: PixelRect) -> PixelRect {
        let (left, top) = (min(x, other.x), min(y, other.y))
        let (right, bottom) = (max(x + width, other.x + other.width), max(y + height, other.y + other.height))
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
    }
}
