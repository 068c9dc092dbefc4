import CCoderPlugin

/// Facts, order and skipping of frames.
enum FramesChecks {
    static let first = [facts]
    static let all = [skipping, again, order, scaled]
    private static let needs = ["lifecycle.decode", "determinism.decode", "frames.facts"]

    static let facts = Check(
        "frames.facts", "header, offers, metadata and frames fit together", needs: ["lifecycle.decode"]
    ) { context throws(Stop) in
        for kinds in [[Sample.Kind.small, .given], [.animation]] {
            do throws(Stop) {
                try context.eachImage(kinds) { coder, bytes throws(Stop) in
                    try judge(context, coder, bytes)
                }
            } catch {
                // There may be no animated sample.
                if case .skip = error, kinds == [.animation] { return }
                throw error
            }
        }
    }

    private static func judge(_ context: CheckContext, _ coder: Subject.Coder, _ bytes: [UInt8]) throws(Stop) {
        var setup = DecodeSetup()
        setup.isThorough = true
        let outcome = try context.decode(coder, bytes, setup) { session throws(Stop) in
            try offers(session, coder)
            for _ in 0..<2 where session.nextFrame().0.status != CPI_END {
                throw .fault(
                    "\(coder.id): next_frame does not answer CPI_END after the last frame", .nextFrame,
                    try: "keep answering CPI_END after the last frame")
            }
        }
        if let failure = outcome.failure {
            throw .fault("\(coder.id): \(failure.text)", .session, try: "decode the whole frame")
        }
        if let objection = outcome.defects.objection {
            throw .fault("\(coder.id): \(objection)", .error, try: "fill cpi_error")
        }
        if let overrun = outcome.defects.overrun {
            throw .fault(
                "\(coder.id) wrote past the end of \(overrun), or changed its size", .size,
                try: "copy min(size, sizeof own) bytes")
        }
        guard let info = outcome.info else { return }
        func wrong(_ what: String, _ rule: Rule = .imageFacts) -> Stop {
            .fault("\(coder.id): \(what)", rule, try: "correct what read_header and next_frame report")
        }
        if info.flags & CPI_IMAGE_HAS_ALPHA != 0, !info.native.hasAlpha {
            throw wrong("the image has alpha and the native format \(info.native.text) has none")
        }
        if info.frame_count != 0, Int(info.frame_count) != outcome.frames.count {
            throw wrong(
                "read_header reports \(info.frame_count) frames, but there are \(outcome.frames.count)",
                .frameCount)
        }
        if outcome.frames.count > 1, !coder.decodesAnimations {
            throw wrong("there are \(outcome.frames.count) frames, but the role animation is missing", .roles)
        }
        for (index, frame) in outcome.frames.enumerated() {
            let rect = frame.info.rect
            if Int(frame.info.index) != index {
                throw wrong("frame \(index) reports the index \(frame.info.index)", .frame)
            }
            if frame.info.duration.denominator == 0, frame.info.duration.numerator != 0 {
                throw wrong("frame \(index) lasts \(frame.info.duration.numerator)/0 seconds", .duration)
            }
            // Formats with crops may place the frame elsewhere, even left of or above the canvas.
            let isWhole = rect.x != 0 || rect.y != 0 || rect.width == info.width && rect.height == info.height
            if outcome.frames.count == 1, info.flags & CPI_IMAGE_ANIMATED == 0, !isWhole {
                throw wrong(
                    "read_header: \(info.width) x \(info.height), its one frame: \(rect.width) x \(rect.height) "
                        + "at \(rect.x), \(rect.y)", .frameRect)
            }
        }
    }

    private static func offers(_ session: Decoding, _ coder: Subject.Coder) throws(Stop) {
        guard session.hasOffers else { return }
        for index in 0..<UInt32(40) {
            let (answer, offer) = session.offer(index)
            if answer.status == CPI_END {
                if index == 0 { throw .fault("\(coder.id) offers no format", .offer, try: "offer the native one") }
                return
            }
            if answer.isFailure {
                throw .fault("\(coder.id): \(answer.text)", .offer, try: "answer CPI_END at the end")
            }
            if let objection = Values.objection(offer.format) {
                throw .fault(
                    "\(coder.id) offers an invalid format (\(objection))", .offer,
                    try: "offer formats of cpi/image.h")
            }
        }
        throw .fault("\(coder.id): offer never answers CPI_END", .offerEnd, try: "count the formats")
    }

    static let skipping = Check(
        "frames.skipping", "frames that are skipped have the same facts", needs: needs
    ) { context throws(Stop) in
        try context.eachImage([.animation, .small, .given]) { coder, bytes throws(Stop) in
            let decoded = try context.decode(coder, bytes).frames
            let services = Services(limits: DecodeSetup.roomyLimits)
            guard let session = Decoding(coder, services, context.board) else { return }
            let input = Input(bytes)
            _ = session.open()
            _ = session.setSource(input)
            _ = session.readHeader()
            for frame in decoded {
                let (answer, info) = session.nextFrame()
                let (a, b) = (frame.info, info)
                let isSame =
                    a.index == b.index && a.blend == b.blend && a.disposal == b.disposal && a.rect.x == b.rect.x
                    && a.rect.y == b.rect.y && a.rect.width == b.rect.width && a.rect.height == b.rect.height
                    && a.duration.numerator == b.duration.numerator
                    && a.duration.denominator == b.duration.denominator
                if answer.status != CPI_OK || !isSame {
                    throw .fault(
                        "\(coder.id): frame \(frame.info.index) differs if earlier frames are not decoded "
                            + "(\(statusName(answer.status)))", .nextFrame,
                        try: "skip the bytes that decode would have read")
                }
            }
            if session.nextFrame().0.status != CPI_END {
                throw .fault(
                    "\(coder.id): there are more frames if none is decoded", .nextFrame,
                    try: "skip the bytes that decode would have read")
            }
        }
    }

    static let again = Check(
        "frames.again", "a frame decoded again has the same pixels", needs: needs
    ) { context throws(Stop) in
        try context.eachImage([.animation, .small, .given]) { coder, bytes throws(Stop) in
            let services = Services(limits: DecodeSetup.roomyLimits)
            guard let session = Decoding(coder, services, context.board) else { return }
            let input = Input(bytes)
            _ = session.open()
            _ = session.setSource(input)
            let (_, info) = session.readHeader()
            let (_, frame) = session.nextFrame()
            var images: [[UInt8]] = []
            for _ in 0..<2 {
                let surface = Surface(info.native, width: Int(frame.rect.width), height: Int(frame.rect.height))
                let answer = session.decode(surface)
                if answer.status != CPI_OK {
                    throw .fault(
                        "\(coder.id), decoding a frame again: \(answer.text)", .bands,
                        try: "restart at the first row")
                }
                images.append(surface.pixels)
            }
            if let place = Difference.first([images[0]], [images[1]]) {
                throw .fault(
                    "\(coder.id), decoding a frame again: other pixels, \(place)", .bands,
                    try: "restart at the first row")
            }
        }
    }

    static let order = Check(
        "frames.order", "frames have the same pixels in any decoding order", needs: needs
    ) { context throws(Stop) in
        try context.eachImage(
            [.animation, .given, .small], where: \.decodesAnimations,
            otherwise: "no coder has "
                + "the role animation"
        ) { coder, bytes throws(Stop) in
            let wanted = try context.decode(coder, bytes).frames
            let services = Services(limits: DecodeSetup.roomyLimits)
            guard let session = Decoding(coder, services, context.board), wanted.count > 1 else { return }
            let input = Input(bytes)
            _ = session.open()
            _ = session.setSource(input)
            let (_, info) = session.readHeader()
            var dice = RandomGenerator(7)
            let indices = [wanted.count - 1, 0, wanted.count / 2] + (0..<8).map { _ in dice.below(wanted.count) }
            for index in indices {
                guard let (answer, from) = session.seek(UInt32(index)) else {
                    throw .skip("\(coder.id) has no seek_frame; the host restarts by itself")
                }
                if answer.isFailure || from > UInt32(index) {
                    throw .fault(
                        "\(coder.id), asked for frame \(index): \(answer.text), from \(from)", .seek,
                        try: "answer this frame or an earlier one")
                }
                for step in Int(from)...index {
                    let (next, frame) = session.nextFrame()
                    if next.status != CPI_OK || Int(frame.index) != step {
                        throw .fault(
                            "\(coder.id) announced frame \(step) in seek_frame, but answers frame \(frame.index), "
                                + statusName(next.status), .seek, try: "store the index of the next frame")
                    }
                    let surface = Surface(info.native, width: Int(frame.rect.width), height: Int(frame.rect.height))
                    let done = session.decode(surface)
                    if done.status != CPI_OK || step == index && surface.pixels != wanted[index].pixels {
                        throw .fault(
                            "\(coder.id): frame \(index) has other pixels after a seek (\(done.text))", .seek,
                            try: "answer an earlier frame if the frame depends on it")
                    }
                }
            }
            if let (answer, from) = session.seek(1_000_000), !answer.isFailure, from >= UInt32(wanted.count) {
                throw .fault(
                    "\(coder.id): seek_frame announces frame \(from) of \(wanted.count)", .seek,
                    try: "answer an error for a missing frame")
            }
        }
    }

    static let scaled = Check(
        "frames.scaled", "scaled frames have the announced size", needs: needs
    ) { context throws(Stop) in
        try context.eachImage([.large, .given, .small], where: \.scales, otherwise: "no coder has the role scale") {
            coder, bytes throws(Stop) in
            for divisor in [1, 2, 3, 7, 1000] as [UInt32] {
                let services = Services(limits: DecodeSetup.roomyLimits)
                guard let session = Decoding(coder, services, context.board) else { return }
                let input = Input(bytes)
                _ = session.open()
                _ = session.setSource(input)
                let (_, info) = session.readHeader()
                let wanted = (max(1, info.width / divisor), max(1, info.height / divisor))
                guard let (answer, width, height) = session.scaledSize(wanted.0, wanted.1) else {
                    throw .fault("\(coder.id) has the role scale but no scaled_size", .roles, try: "fill the table")
                }
                if answer.isFailure || width < wanted.0 || height < wanted.1 || width > info.width
                    || height > info.height
                {
                    throw .fault(
                        "\(coder.id) scales \(info.width) x \(info.height) to \(width) x \(height), "
                            + "but at least \(wanted.0) x \(wanted.1) was requested", .decode,
                        try: "answer a size between the requested and the full size")
                }
                _ = session.nextFrame()
                let surface = Surface(info.native, width: Int(width), height: Int(height))
                let isFull = width == info.width && height == info.height
                let done = session.decode(surface, scaled: isFull ? (0, 0) : (width, height))
                if done.status != CPI_OK || surface.strayWrite != nil {
                    throw .fault(
                        "\(coder.id), scaled to \(width) x \(height): \(done.text)", .decode,
                        try: "fill a surface of the size that scaled_size answered")
                }
            }
        }
    }
}
