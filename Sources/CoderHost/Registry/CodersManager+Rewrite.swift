public import HostSystem
public import ImageModel
public import PluginRuntime

extension CodersManager {
    /// Copies a file with changes that require no decoding: the kept pixels do not change.
    ///
    /// - Returns: the result, and warnings about deviations from the request.
    /// - Throws: `.refused` if the format cannot make one of the changes without loss, `.noCoder` if no coder of the
    ///   format rewrites; otherwise the error of the file. After an error, discard the output of the sink.
    public func rewrite(
        _ source: ImageSource, to sink: any OutputSink, _ options: RewriteOptions
    ) throws(CoderError) -> RewriteReport {
        let facts = try withSession(source) { session throws(CoderError) in
            let known = session.context.warnings.count
            let metadata = try session.metadata()
            // A new packet would replace metadata that was left out.
            if !options.fields.isEmpty, !options.removed.isSuperset(of: [.exif, .xmp]),
                let omitted = session.context.warnings.dropFirst(known).first
            {
                throw CoderError(
                    .refused, "no text can be added, because \(omitted)",
                    hint: "raise the limit, or add --strip exif,xmp")
            }
            return (
                info: session.info, metadata: metadata, format: session.format, coder: session.coder.id,
                // If metadata cannot be read, no part of it can be removed.
                unread: options.removed.contains { $0.kind == nil } ? session.context.warnings : [],
                losesColors: options.removed.contains(.icc) && session.needsProfile,
                thumbnails: try session.thumbnailsOutsideExif(options),
                // This comes last because it selects other images.
                ofItems: try session.warningsOfKeptMetadata(options)
            )
        }
        let able = order(for: facts.format).filter { $0.descriptor.roles.contains(.rewrite) }
        // Prefer the coder that reads the file.
        guard let candidate = able.first(where: { $0.descriptor.id == facts.coder }) ?? able.first else {
            throw CoderError(
                .noCoder, "no usable coder rewrites \(facts.format)",
                hint: "coderhost convert decodes and encodes it instead")
        }
        let context = SessionContext(limits: limits, usualThreads: configuration.threadsPerImage)
        var plan = try RewritePlan(
            options, facts.info, facts.metadata, carried: candidate.descriptor.output.carries)
        plan.request.removesThumbnails = facts.thumbnails > 0
        for warning in plan.warnings + facts.unread { context.warn(warning) }
        if facts.losesColors { context.warn(Self.removedProfile) }
        // A turn can lose blocks at the edge, which only the finished output reveals.
        var spool: SpooledSink?
        if plan.mayStoreTurn(options, in: candidate.descriptor) { spool = try SpooledSink(limits: limits) }
        do throws(CoderError) {
            let inspector = OutputInspector(spool ?? sink, of: candidate.descriptor)
            let outcome = try candidate.coder.rewrite(source, to: inspector, plan.request, context)
            if spool != nil, let loss = plan.loss(outcome) {
                return try storeTurn(source, to: sink, options, plan.request.transform, loss)
            }
            try plan.examine(outcome, context)
            if facts.thumbnails > 0, !outcome.droppedThumbnails, !outcome.droppedItems {
                context.warn(Self.kept(thumbnails: facts.thumbnails))
            }
            for warning in outcome.droppedItems ? [Self.droppedItems] : facts.ofItems { context.warn(warning) }
            try inspector.examine { recognizes($0, as: facts.format) }
            try spool?.copy(to: sink)
            return RewriteReport(
                format: facts.format, coder: candidate.descriptor.id,
                size: plan.request.transform.applied(to: outcome.kept.size), warnings: context.warnings,
                isolation: context.isolation)
        } catch {
            throw error.naming(encoder: candidate.descriptor.id)
        }
    }

    private static func kept(thumbnails count: Int) -> String {
        "the file keeps \(count) thumbnail\(count == 1 ? "" : "s") outside Exif: coderhost convert writes none"
    }

    /// Stores a turn as orientation, because the pixels cannot be turned without losing some.
    private func storeTurn(
        _ source: ImageSource, to sink: any OutputSink, _ options: RewriteOptions, _ turn: Orientation, _ loss: String
    ) throws(CoderError) -> RewriteReport {
        var stored = options
        stored.transform = .up
        stored.orientation = turn.followed(by: options.orientation ?? .up)
        var report = try rewrite(source, to: sink, stored)
        report.warnings.insert(
            "incomplete blocks at the edge cannot be turned: the pixels stay, and the orientation "
                + "\(stored.orientation?.rawValue ?? 1) turns the image; --trim-edges turns the pixels and cuts \(loss)",
            at: 0)
        return report
    }

    private static let droppedItems = "the other images of the file are not in the output"
    private static let removedProfile =
        "the color profile is removed and the pixels stay, so the colors look different: "
        + "coderhost convert --strip icc converts them to sRGB"
}

/// The request to a plugin that fulfills the caller's options.
struct RewritePlan {
    var request = RewriteRequest()
    var warnings: [String] = []
    private let info: ImageInfo

    /// - Parameter carried: the kinds of metadata that the format can hold.
    init(
        _ options: RewriteOptions, _ info: ImageInfo, _ metadata: [MetadataBlob], carried: Set<String>
    ) throws(CoderError) {
        self.info = info
        request.removed = Set(options.removed.compactMap(\.kind))
        request.optimizes = options.optimizes
        request.isPerfect = options.isPerfect
        let stored = info.orientationApplied ? Orientation.up : info.orientation ?? .up
        let upright = stored.applied(to: info.size)
        if let crop = options.crop {
            let inside = crop.intersection(PixelRect(upright))
            request.crop = inside.isEmpty ? crop : stored.source(of: inside, in: info.size)
        }
        let isTurned = options.transform != .up
        if isTurned { request.transform = stored.followed(by: options.transform) }
        edit(metadata, options, orientation: isTurned ? options.orientation ?? .up : options.orientation)
        try store(options.fields, metadata, holdsExif: carried.contains("exif"))
        if !isTurned, options.orientation == nil { warnOfOrientation(stored, metadata) }
    }

    /// Warns if the removed metadata contains the orientation.
    private mutating func warnOfOrientation(_ stored: Orientation, _ metadata: [MetadataBlob]) {
        let kept = metadata.filter { !request.removed.contains($0.kind) }
        let states = kept.contains { blob in
            switch blob.kind {
            case .exif: ExifOrientation.read(blob.bytes) == stored
            case .xmp: XMPOrientation.read(blob.bytes) == stored
            default: false
            }
        }
        if stored != .up, !states {
            warnings.append(
                "the orientation \(stored.rawValue) is removed with the metadata, so the image appears turned or mirrored: "
                    + "--set-orientation \(stored.rawValue) keeps it")
        }
    }

    /// Edits Exif and XMP, because the plugin can only replace them.
    private mutating func edit(_ metadata: [MetadataBlob], _ options: RewriteOptions, orientation: Orientation?) {
        let changesPixels = options.transform != .up || options.crop != nil
        var hasExif = false
        for blob in metadata where !request.removed.contains(blob.kind) {
            var bytes = blob.bytes
            switch blob.kind {
            case .exif where !hasExif:
                hasExif = true
                if options.removed.contains(.gps) {
                    bytes = ExifPosition.removing(bytes)
                    if ExifPosition.isStored(in: bytes) {
                        warnings.append("the Exif data still contains a location: --strip exif removes it")
                    }
                }
                if options.removed.contains(.thumbnail) || changesPixels {
                    let without = ExifThumbnail.removing(bytes)
                    if without != bytes, !options.removed.contains(.thumbnail) {
                        warnings.append("the embedded thumbnail shows the old image: it is left out")
                    }
                    bytes = without
                }
                if let orientation { bytes = ExifOrientation.storing(orientation, in: bytes) }
                if changesPixels { bytes = ExifPixelSize.replacing(bytes, with: size) }
            case .xmp:
                if options.removed.contains(.gps) {
                    bytes = XMPPosition.removing(bytes)
                    if XMPPosition.isStored(in: bytes) {
                        warnings.append("the XMP packet still contains GPS properties: --strip xmp removes them")
                    }
                }
                if let orientation { bytes = XMPOrientation.replacing(bytes, with: orientation) }
                // Changed pixels no longer fit a gain map, and `.raw` includes the images behind the first.
                let rest = XMPFurtherImages.removing(bytes)
                if rest != bytes, changesPixels || request.removed.contains(.raw) {
                    warnings.append("the XMP describes a gain map or other images: these properties are left out")
                    bytes = rest
                }
            default: continue
            }
            if bytes != blob.bytes { request.replaced.append(MetadataBlob(blob.kind, bytes, key: blob.key)) }
        }
        if let orientation, orientation != .up, !hasExif {
            request.removed.remove(.exif)
            request.replaced.append(MetadataBlob(.exif, ExifOrientation.blob(orientation)))
        }
        if options.removed.contains(.gps) { warnOfTexts(metadata) }
    }

    /// Warns about remaining texts that may contain a location.
    private mutating func warnOfTexts(_ metadata: [MetadataBlob]) {
        if request.removed.contains(.text) { return }
        let edited = request.removed.union(request.replaced.map(\.kind))
        for blob in metadata {
            guard let kind = blob.kindInText, kind == .exif || kind == .xmp, !edited.contains(kind) else { continue }
            warnings.append(
                "the text \"\(blob.key ?? "")\" is kept and may contain a location: --strip text removes it")
        }
    }

    /// The requested size of the stored image.
    private var size: PixelSize { request.transform.applied(to: request.crop?.size ?? info.size) }

    /// Warns if the output contains other pixels than requested.
    func examine(_ outcome: RewriteOutcome, _ context: SessionContext) throws(CoderError) {
        let wanted = request.crop ?? PixelRect(info.size)
        let kept = outcome.kept
        guard !kept.isEmpty, PixelRect(info.size).contains(kept) else {
            throw CoderError(.pluginFault, "the plugin kept \(kept) of an image of \(info.size) pixels")
        }
        if kept == wanted { return }
        // Only a crop or turn along block edges may keep other pixels, and --perfect forbids that.
        guard request.crop != nil || request.transform != .up, !request.isPerfect else {
            throw CoderError(.pluginFault, "the plugin kept \(kept) instead of \(wanted)")
        }
        if kept.contains(wanted) {
            context.warn("the crop starts at a block edge: \(kept) is kept instead of \(wanted)")
        } else {
            context.warn(
                "incomplete blocks at the edge cannot be turned: \(kept) of \(wanted) is kept; "
                    + "--perfect refuses this, coderhost convert keeps every pixel")
        }
    }

    /// Whether a turn that would lose pixels becomes an orientation, which the format stores.
    func mayStoreTurn(_ options: RewriteOptions, in coder: CoderDescriptor) -> Bool {
        request.transform != .up && !options.isPerfect && !options.trimsEdges
            && coder.output.carries.isSuperset(of: ["orientation", "exif"])
    }

    /// Returns the requested columns and rows that the output lacks; nil if it has all.
    func loss(_ outcome: RewriteOutcome) -> String? {
        let wanted = request.crop ?? PixelRect(info.size)
        let inside = outcome.kept.intersection(wanted)
        if inside == wanted || inside.isEmpty { return nil }
        let (columns, rows) = (wanted.width - inside.width, wanted.height - inside.height)
        let parts = [(columns, "column"), (rows, "row")].filter { $0.0 > 0 }
        return parts.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }.joined(separator: " and ")
    }
}
