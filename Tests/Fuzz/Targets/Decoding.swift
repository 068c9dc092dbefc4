import CoderHost
package import ImageModel

/// Opens an image, reads everything from it, and reports contradictions between its header and its pixels.
package enum Decoding {
    /// The limits: small enough that a wrong size is cheap, with a time that no small image needs.
    package static let limits = {
        var limits = DecodeLimits.strict
        limits.maxSide = 4096
        limits.maxPixels = 300_000
        limits.maxFrames = 64
        limits.maxTotalPixels = 3_000_000
        limits.maxInputBytes = 4 << 20
        limits.maxDecodedBytes = 64 << 20
        limits.maxMilliseconds = 20_000
        return limits
    }()

    /// The codes that a damaged file may end with; any other code is a bug.
    package static let ordinaryCodes: [CoderError.Code] = [
        .corrupt, .truncated, .unsupportedFeature, .limitExceeded, .notMine, .unrecognizedFormat, .noCoder,
    ]

    /// The result.
    package enum Answer: Hashable, Sendable {
        case image(frames: Int, sum: UInt64)
        case refusal(CoderError)
    }

    /// - Parameters:
    ///   - coder: the only coder to ask; nil lets the host choose.
    ///   - mayBeLate: whether an image may exceed the time limit, which is a typed error.
    package static func decode(
        _ bytes: [UInt8], forcing coder: String? = nil, _ limits: DecodeLimits = limits, mayBeLate: Bool = false
    ) throws(Finding) -> Answer {
        let answer = answer(bytes, coder, limits)
        guard case .refusal(let error) = answer else { return answer }
        if mayBeLate, error.code == .deadlineExceeded { return answer }
        guard ordinaryCodes.contains(error.code) else { throw Finding("\(error.code): \(error)") }
        if error.code == .limitExceeded {
            guard let limit = error.limit else { throw Finding("a limit without numbers: \(error)") }
            if limit.requested <= limit.allowed { throw Finding("a limit that was kept: \(error)") }
        }
        if error.message.isEmpty || error.message.utf8.contains(0x0A) {
            throw Finding("a message that is not one line: \(error.message)")
        }
        return answer
    }

    private static func answer(_ bytes: [UInt8], _ coder: String?, _ limits: DecodeLimits) -> Answer {
        do throws(CoderError) {
            return try FuzzHost.manager.withSession(ImageSource(bytes), limits: limits, forcing: coder) {
                session throws(CoderError) in
                try everything(of: session, limits)
            }
        } catch {
            return .refusal(error)
        }
    }

    private static func everything(of session: DecodeSession, _ limits: DecodeLimits) throws(CoderError) -> Answer {
        var sum = ByteSum()
        let size = session.info.size
        // The canvas of tiles may be larger: the decoded part is held against the limits.
        let isWithin = size.width <= limits.maxSide && size.height <= limits.maxSide
        guard session.info.regionCost == .tiles || isWithin && size.area ?? .max <= limits.maxPixels else {
            throw CoderError(.pluginFault, "an image of \(size) pixels in spite of the limits")
        }
        for blob in try session.metadata() {
            sum.add(blob.bytes.count)
            if blob.kind == .exif {
                _ = ExifOrientation.read(blob.bytes)
                if let small = ExifThumbnail(blob.bytes) { sum.add(small.bytes.count) }
            }
        }
        let frames = try session.frames()
        if let declared = session.info.frameCount, declared != frames.count {
            throw CoderError(.pluginFault, "the header declares \(declared) frames, \(frames.count) follow")
        }
        if frames.count > 1, !session.info.isAnimated {
            throw CoderError(.pluginFault, "the header declares a still, \(frames.count) frames follow")
        }
        for frame in frames {
            let pixels = try session.decodeFrame(frame.index).pixels
            guard pixels.size == size else {
                throw CoderError(.pluginFault, "frame \(frame.index) has \(pixels.size) pixels, not \(size)")
            }
            // An encoder relies on this flag: it omits the alpha channel.
            if !session.info.hasAlpha, pixels.hasTransparentPixel {
                throw CoderError(.pluginFault, "frame \(frame.index) of an opaque image has transparent pixels")
            }
            sum.add(pixels)
        }
        // A thumbnail may be damaged in an intact image.
        if let thumbnails = try? session.thumbnails() {
            for index in thumbnails.indices.prefix(2) {
                if let small = try? session.decodeThumbnail(index) { sum.add(small) }
            }
        }
        return .image(frames: frames.count, sum: sum.value)
    }
}
