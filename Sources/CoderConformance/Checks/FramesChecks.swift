import CCoderPlugin

/// Facts, order and skipping of frames.
enum FramesChecks {
    static let first = [facts]
    static let all = [skipping, again, order, scaled]
    private static let needs = ["lifecycle.decode", "determinism.decode", "frames.facts"]

    static let facts = Check(
        "frames.facts", "header, offers, metadata and frames fit together", needs: ["lifecycle.decode"]
    ) { workshop throws(Stop) in
        for kinds in [[Sample.Kind.small, .given], [.animation]] {
            do throws(Stop) {
                try workshop.eachPicture(kinds) { coder, bytes throws(Stop) in
                    try judge(workshop, coder, bytes)
                }
            } catch {
                // There may be no animation.
                if case .skip = error, kinds == [.animation] { return }
                throw error
            }
        }
    }

    private static func judge(_ workshop: Workshop, _ coder: Subject.Coder, _ bytes: [UInt8]) throws(Stop) {
        var setup = DecodeSetup()
        setup.isThorough = true
        let outcome = try workshop.decode(coder, bytes, setup) { session throws(Stop) in
            try offers(session, coder)
            for _ in 0..<2 where session.nextFrame().0.status != CPI_END {
                throw .fault(
                    "\(coder.id): next_frame answers no CPI_END behind the last frame", .nextFrame,
                    try: "it stays behind the last frame")
            }
        }
        if let failure = outcome.failure {
            throw .fault("\(coder.id): \(failure.text)", .session, try: "decode it all")
        }
        if let objection = outcome.objection {
            throw .fault("\(coder.id): \(objection)", .error, try: "fill cpi_error")
        }
        if let overrun = outcome.overrun {
            throw .fault(
                "\(coder.id) wrote behind the end of \(overrun), or changed its size", .size,
                try: "copy min(size, sizeof own) bytes")
        }
        guard let info = outcome.info else { return }
        func wrong(_ what: String, _ rule: Rule = .imageFacts) -> Stop {
            .fault("\(coder.id): \(what)", rule, try: "correct what read_header and next_frame report")
        }
        if info.flags & CPI_IMAGE_HAS_ALPHA != 0, !info.native.hasAlpha {
            throw wrong("the picture has alpha and the native format \(info.native.text) has none")
        }
        if info.frame_count != 0, Int(info.frame_count) != outcome.frames.count {
            throw wrong(
                "read_header says that there are \(info.frame_count) frames, and there are \(outcome.frames.count)",
                .frameCount)
        }
        if outcome.frames.count > 1, !coder.decodesAnimations {
            throw wrong("there are \(outcome.frames.count) frames, but the role animation is missing", .roles)
        }
        for (index, frame) in outcome.frames.enumerated() {
            let rect = frame.info.rect
            if Int(frame.info.index) != index {
                throw wrong("frame \(index) says that it is \(frame.info.index)", .frame)
            }
            if frame.info.duration.denominator == 0, frame.info.duration.numerator != 0 {
                throw wrong("frame \(index) lasts \(frame.info.duration.numerator)/0 seconds", .duration)
            }
            // Formats with crops may place it elsewhere, also left of or above the canvas.
            let isWhole = rect.x != 0 || rect.y != 0 || rect.width == info.width && rect.height == info.height
            if outcome.frames.count == 1, info.flags & CPI_IMAGE_ANIMATED == 0, !isWhole {
                throw wrong(
                    "read_header says \(info.width) x \(info.height), its one frame is \(rect.width) x \(rect.height) "
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
                    "\(coder.id) offers a format that does not exist (\(objection))", .offer,
                    try: "offer formats of cpi/image.h")
            }
        }
        throw .fault("\(coder.id): offer never answers CPI_END", .offerEnd, try: "count the formats")
    }

    static let skipping = Check(
        "frames.skipping", "frames that nobody decodes have the same facts", needs: needs
    ) { workshop throws(Stop) in
        try workshop.eachPicture([.animation, .small, .given]) { coder, bytes throws(Stop) in
            let decoded = try workshop.decode(coder, bytes).frames
            let services = Services(limits: DecodeSetup.roomyLimits)
            guard let session = Decoding(coder, services, workshop.board) else { return }
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
                        "\(coder.id): frame \(frame.info.index) is another when the ones before are not decoded "
                            + "(\(statusName(answer.status)))", .nextFrame, try: "skip what decode would have read")
                }
            }
            if session.nextFrame().0.status != CPI_END {
                throw .fault(
                    "\(coder.id): there are more frames when none is decoded", .nextFrame,
                    try: "skip what decode would have read")
            }
        }
    }

    static let again = Check(
        "frames.again", "a frame that is decoded again has the same pixels", needs: needs
    ) { workshop throws(Stop) in
        try workshop.eachPicture([.animation, .small, .given]) { coder, bytes throws(Stop) in
            let services = Services(limits: DecodeSetup.roomyLimits)
            guard let session = Decoding(coder, services, workshop.board) else { return }
            let input = Input(bytes)
            _ = session.open()
            _ = session.setSource(input)
            let (_, info) = session.readHeader()
            let (_, frame) = session.nextFrame()
            var pictures: [[UInt8]] = []
            for _ in 0..<2 {
                let surface = Surface(info.native, width: Int(frame.rect.width), height: Int(frame.rect.height))
                let answer = session.decode(surface)
                if answer.status != CPI_OK {
                    throw .fault(
                        "\(coder.id), decoding a frame again: \(answer.text)", .bands,
                        try: "begin with the first row again")
                }
                pictures.append(surface.pixels)
            }
            if let place = Difference.first([pictures[0]], [pictures[1]]) {
                throw .fault(
                    "\(coder.id), decoding a frame again: other pixels, \(place)", .bands,
                    try: "begin with the first row again")
            }
        }
    }

    static let order = Check(
        "frames.order", "frames in any order have the pixels they have in theirs", needs: needs
    ) { workshop throws(Stop) in
        try workshop.eachPicture(
            [.animation, .given, .small], where: \.decodesAnimations,
            otherwise: "no coder has "
                + "the role animation"
        ) { coder, bytes throws(Stop) in
            let wanted = try workshop.decode(coder, bytes).frames
            let services = Services(limits: DecodeSetup.roomyLimits)
            guard let session = Decoding(coder, services, workshop.board), wanted.count > 1 else { return }
            let input = Input(bytes)
            _ = session.open()
            _ = session.setSource(input)
            let (_, info) = session.readHeader()
            var dice = Dice(7)
            let indices = [wanted.count - 1, 0, wanted.count / 2] + (0..<8).map { _ in dice.below(wanted.count) }
            for index in indices {
                guard let (answer, from) = session.seek(UInt32(index)) else {
                    throw .skip("\(coder.id) has no seek_frame; the host begins again by itself")
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
                            "\(coder.id) promised frame \(step) after seek_frame and answers frame \(frame.index), "
                                + statusName(next.status), .seek, try: "write back what next_frame will answer")
                    }
                    let surface = Surface(info.native, width: Int(frame.rect.width), height: Int(frame.rect.height))
                    let done = session.decode(surface)
                    if done.status != CPI_OK || step == index && surface.pixels != wanted[index].pixels {
                        throw .fault(
                            "\(coder.id): frame \(index) has other pixels when it is gone to (\(done.text))", .seek,
                            try: "answer an earlier frame where samples of others are needed")
                    }
                }
            }
            if let (answer, from) = session.seek(1_000_000), !answer.isFailure, from >= UInt32(wanted.count) {
                throw .fault(
                    "\(coder.id): seek_frame promises frame \(from) of \(wanted.count)", .seek,
                    try: "answer an error for a frame that is not there")
            }
        }
    }

    static let scaled = Check(
        "frames.scaled", "sizes that the decoder scales to are as promised", needs: needs
    ) { workshop throws(Stop) in
        try workshop.eachPicture([.large, .given, .small], where: \.scales, otherwise: "no coder has the role scale")
        {
            coder, bytes throws(Stop) in
            for divisor in [1, 2, 3, 7, 1000] as [UInt32] {
                let services = Services(limits: DecodeSetup.roomyLimits)
                guard let session = Decoding(coder, services, workshop.board) else { return }
                let input = Input(bytes)
                _ = session.open()
                _ = session.setSource(input)
                let (_, info) = session.readHeader()
                let wanted = (max(1, info.width / divisor), max(1, info.height / divisor))
                guard let (answer, width, height) = session.scaledSize(wanted.0, wanted.1) else {
                    throw .fault("\(coder.id) has the role scale and no scaled_size", .roles, try: "fill the table")
                }
                if answer.isFailure || width < wanted.0 || height < wanted.1 || width > info.width
                    || height > info.height
                {
                    throw .fault(
                        "\(coder.id) scales \(info.width) x \(info.height) to \(width) x \(height), "
                            + "where at least \(wanted.0) x \(wanted.1) was wanted", .decode,
                        try: "answer a size between the wanted one and the full one")
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
