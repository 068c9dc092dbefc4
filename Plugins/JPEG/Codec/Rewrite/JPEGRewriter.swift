public import CoderPluginKit
public import ImageModel

/// Rewrites JPEG files: copies metadata, transforms and crops DCT coefficients, recompresses with better entropy codes.
///
/// - Source: ITU-T T.81; JFIF 1.02; CIPA DC-007 for the images behind the first.
public enum JPEGRewriter: ImageRewriter {
    /// The number of coefficients that are always recompressed, without comparing with the file size.
    private static let ratioFrom = 64 << 20

    public static func rewrite(
        _ request: RewriteRequest, _ session: RewriteSession
    ) throws(CoderError) -> RewriteOutcome {
        guard session.source.isComplete else { throw .needsInput }
        let source = JPEGSource(session.source)
        let survey = try JPEGSurvey(source, session.host)
        let whole = PixelRect(survey.size)
        let turns = request.transform != .up || request.crop.map { $0 != whole } ?? false
        if !turns, !request.optimizes {
            let edit = try JPEGEdit(request, survey, cut: nil, source, session)
            let assembly = JPEGAssembly(survey: survey, edit: edit, turns: false, source: source, session: session)
            return RewriteOutcome(kept: whole, droppedItems: try assembly.write(.source))
        }

        let transcoder = try begin(survey, session)
        let cut = try JPEGCut(request, of: survey.size, unit: transcoder.header.unit)
        let edit = try JPEGEdit(request, survey, cut: turns ? cut : nil, source, session)
        let reserved = try read(transcoder, cut, session)
        let assembly = JPEGAssembly(survey: survey, edit: edit, turns: turns, source: source, session: session)
        let droppedItems: Bool
        if request.optimizes {
            // A transformed image has to be recompressed, whatever its new size.
            let limit = turns ? Int.max : survey.end - JPEGBody.head - survey.metadataBytes
            let body = try smallest(transcoder, below: limit, session)
            droppedItems = try assembly.write(body.map { .new($0) } ?? .source)
            body?.release()
        } else {
            droppedItems = try assembly.write(.compressing(transcoder))
        }
        try session.host.reserve(bytes: -reserved)
        return RewriteOutcome(kept: cut.kept, droppedItems: droppedItems)
    }

    /// Returns a transcoder that has read a header within the limits.
    private static func begin(_ survey: JPEGSurvey, _ session: RewriteSession) throws(CoderError) -> JPEGTranscoder {
        let transcoder = try JPEGTranscoder(session.source, session.host)
        let (header, limits) = (transcoder.header, session.limits)
        guard header.components <= 4 else { throw .refused("the image has \(header.components) components") }
        guard header.size == survey.size else {
            throw .corrupt("two frame headers declare \(survey.size) and \(header.size) pixels")
        }
        let side = max(header.size.width, header.size.height)
        if limits.maxSide > 0, side > limits.maxSide { throw .limit("side", allowed: limits.maxSide, requested: side) }
        let area = header.size.area ?? .max
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
        let ratio = header.coefficientBytes / max(1, session.source.available)
        if limits.maxRatio > 0, header.coefficientBytes > ratioFrom, ratio > limits.maxRatio {
            throw .limit("ratio", allowed: limits.maxRatio, requested: ratio)
        }
        return transcoder
    }

    /// Reads and transforms the coefficients; returns the memory reserved for them.
    private static func read(
        _ transcoder: JPEGTranscoder, _ cut: JPEGCut, _ session: RewriteSession
    ) throws(CoderError) -> Int {
        let bytes = transcoder.header.coefficientBytes
        // A transposition needs a second buffer.
        let (double, overflow) = bytes.multipliedReportingOverflow(by: 2)
        let needed = cut.isTransposed ? overflow ? .max : double : bytes
        let allowed = session.limits.maxDecodedBytes
        if allowed > 0, needed > allowed { throw .limit("memory", allowed: allowed, requested: needed) }
        try session.host.reserve(bytes: needed)
        try transcoder.read(maxScans: session.limits.maxScans)
        try transcoder.turn(cut)
        if needed > bytes { try session.host.reserve(bytes: bytes - needed) }
        return bytes
    }

    /// Returns the smallest body that the library makes of the coefficients; nil if none is below the limit.
    private static func smallest(
        _ transcoder: JPEGTranscoder, below limit: Int, _ session: RewriteSession
    ) throws(CoderError) -> JPEGBody? {
        let progressive = try body(transcoder, .progressive, below: limit, session)
        let next = progressive?.count ?? limit
        if !transcoder.header.needsAllInput, try transcoder.sequentialBytes() >= next { return progressive }
        guard let sequential = try body(transcoder, .sequential, below: next, session) else { return progressive }
        progressive?.release()
        return sequential
    }

    private static func body(
        _ transcoder: JPEGTranscoder, _ process: JPEGTranscoder.Process, below limit: Int, _ session: RewriteSession
    ) throws(CoderError) -> JPEGBody? {
        let body = JPEGBody(below: limit, session.host)
        do throws(CoderError) {
            try transcoder.write(process) { (bytes) throws(CoderError) in try body.append(bytes) }
        } catch {
            body.release()
            if body.isFull { return nil }
            throw error
        }
        return body
    }
}
