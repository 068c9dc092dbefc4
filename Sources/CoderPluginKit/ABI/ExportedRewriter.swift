internal import CCoderPlugin
internal import ImageModel

/// The functions of `cpi_rewrite_api` and `cpi_transcode_api`; each is one call without a session.
enum ExportedRewriter {
    static let table = unsafe Constant(
        cpi_rewrite_api(
            table: cpi_table(size: UInt32(MemoryLayout<cpi_rewrite_api>.size), rev: 1, tag: cpi_tag(CPI_EXT_REWRITE)),
            rewrite: { coder, services, limits, options, request, source, sink, outcome, error in
                unsafe answer(services, error) { host throws(CoderError) in
                    guard let type = unsafe try ExportedCoder.find(coder).rewriter else {
                        throw .refused("this coder does not rewrite")
                    }
                    let session = unsafe try session(coder, host, limits, options, source, sink)
                    let result = unsafe try type.rewrite(RewriteRequest(request), session)
                    if let failure = session.source.failure { throw failure }
                    var raw = cpi_rewrite_outcome()
                    raw.flags =
                        (result.droppedItems ? CPI_REWRITE_DROPPED_ITEMS : 0)
                        | (result.droppedThumbnails ? CPI_REWRITE_DROPPED_THUMBNAILS : 0)
                    raw.kept = try result.kept.raw()
                    unsafe try copyOut(raw, to: outcome)
                }
            }))

    static let transcodeTable = unsafe Constant(
        cpi_transcode_api(
            table: cpi_table(
                size: UInt32(MemoryLayout<cpi_transcode_api>.size), rev: 1, tag: cpi_tag(CPI_EXT_TRANSCODE)),
            transcode: { coder, services, limits, options, direction, format, source, sink, error in
                unsafe answer(services, error) { host throws(CoderError) in
                    guard let type = unsafe try ExportedCoder.find(coder).transcoder else {
                        throw .refused("this coder does not transcode")
                    }
                    if unsafe isNull(format) { throw .nullArgument }
                    guard let way = TranscodeDirection(rawValue: direction) else {
                        throw CoderError(.misuse, "the host asked for an unknown direction")
                    }
                    let session = unsafe try session(coder, host, limits, options, source, sink)
                    unsafe try type.transcode(way, ImageFormat(String(cString: format)), session)
                    if let failure = session.source.failure { throw failure }
                }
            }))

    @unsafe
    private static func session(
        _ coder: UnsafePointer<cpi_coder>, _ host: HostServices, _ limits: UnsafePointer<cpi_limits>,
        _ options: UnsafePointer<cpi_options>?, _ source: UnsafePointer<cpi_source>, _ sink: UnsafePointer<cpi_sink>
    ) throws(CoderError) -> RewriteSession {
        unsafe try RewriteSession(
            source: ByteSource(source), sink: ByteSink(sink),
            options: CoderOptions(options, known: ExportedCoder.optionKeys(of: coder)), limits: DecodeLimits(limits),
            host: host)
    }

    /// Runs one call and converts an error to a status.
    @unsafe
    private static func answer(
        _ services: UnsafePointer<cpi_services>, _ errorOut: UnsafeMutablePointer<cpi_error>,
        _ body: (HostServices) throws(CoderError) -> Void
    ) -> cpi_status {
        do throws(CoderError) {
            let host = unsafe try HostServices(services)
            defer { host.settle() }
            try body(host)
            return CPI_OK
        } catch {
            // The source is complete, so it cannot deliver more input.
            let failure = error.code == .needsInput ? CoderError.truncated() : error
            unsafe failure.fill(errorOut)
            return failure.status
        }
    }
}

extension RewriteRequest {
    /// Reads the changes that a host requests.
    ///
    /// - Throws: `.misuse`.
    @unsafe
    init(_ pointer: UnsafePointer<cpi_rewrite_request>) throws(CoderError) {
        let raw = unsafe try copyIn(pointer, least: FirstSize.rewriteRequest)
        self.init(
            removed: Set(MetadataBlob.Kind.allCases.filter { unsafe raw.remove.has(1 << $0.rawValue) }),
            transform: unsafe Orientation(rawValue: Int(raw.orientation)) ?? .up,
            crop: unsafe raw.crop.width == 0 && raw.crop.height == 0 ? nil : PixelRect(raw.crop),
            isPerfect: unsafe raw.flags.has(CPI_REWRITE_PERFECT), optimizes: unsafe raw.flags.has(CPI_REWRITE_OPTIMIZE),
            removesThumbnails: unsafe raw.flags.has(CPI_REWRITE_THUMBNAILS))
        guard unsafe raw.blob_count > 0 else { return }
        guard let blobs = unsafe raw.blobs, let step = unsafe Int(exactly: raw.blob_stride), step >= FirstSize.blob,
            step <= 1 << 16
        else { throw CoderError(.misuse, "the host passed a list of blobs that cannot be read") }
        for index in unsafe 0..<Int(raw.blob_count) {
            let blob = unsafe (UnsafeRawPointer(blobs) + index * step).assumingMemoryBound(to: cpi_blob.self)
            replaced.append(unsafe try MetadataBlob(blob))
        }
    }
}
