import CCoderPlugin
import CoderHost

/// Sessions from open to close, errors, calls out of sequence.
enum LifecycleChecks {
    static let first = [load, encode, decode]
    static let all = [early, many, sticky, misuse, interleaved]
    private static let needs = ["lifecycle.decode"]

    static let load = Check(
        "lifecycle.load", "the file is mapped, its entry and its init answer"
    ) { context throws(Stop) in
        _ = try context.subject()
    }

    /// The other checks use its images as samples.
    static let encode = Check(
        "lifecycle.encode", "an image is encoded, from open to close", needs: ["lifecycle.load"]
    ) { context throws(Stop) in
        try context.eachEncoder { coder throws(Stop) in
            let options = context.quickOptions(coder.id)
            let kinds: [(Sample.Kind, [Image])] =
                [
                    (.small, context.images(coder, width: 33, height: 21, hasAlpha: true)),
                    (.large, context.images(coder, width: 200, height: 256, frames: coder.encodesStills ? 1 : 2)),
                ]
                + (coder.encodesAnimations
                    ? [(.animation, context.images(coder, width: 24, height: 18, hasAlpha: true, frames: 5))] : [])
            for (kind, images) in kinds {
                var setup = EncodeSetup()
                setup.options = options
                let outcome = try context.encode(coder, images, setup)
                if let failure = outcome.failure {
                    throw .fault(
                        "\(coder.id) does not encode an image of \(images[0].width) x \(images[0].height): "
                            + failure.text, .encoder, try: "find the cause of the refusal")
                }
                if outcome.bytes.isEmpty {
                    throw .fault("\(coder.id) finished without writing anything", .finish, try: "write to the sink")
                }
                context.findings.madeSamples.append(Sample(coder: coder.id, kind: kind, bytes: outcome.bytes))
            }
        }
    }

    static let decode = Check(
        "lifecycle.decode", "an image is decoded, from open to close", needs: ["lifecycle.load"]
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            let outcome = try context.decode(coder, bytes)
            if let failure = outcome.failure {
                throw .fault(
                    "\(coder.id) does not decode an image of \(bytes.count) bytes: \(failure.text)", .session,
                    try: "try it with the file alone: coderhost info FILE")
            }
            if outcome.frames.isEmpty {
                throw .fault(
                    "\(coder.id) answers CPI_END before the first frame", .nextFrame, try: "a still has frame 0")
            }
        }
    }

    static let early = Check(
        "lifecycle.close", "a session can be closed in every state", needs: needs + ["memory.released"],
        crash: Fault(
            what: "a session was closed early", rule: .freesAll, remedy: "free only memory allocated before")
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            for steps in 0...6 {
                let services = Services(limits: DecodeSetup.roomyLimits)
                guard let session = Decoding(coder, services, context.board) else { return }
                let input = Input(steps == 6 ? Array(bytes.prefix(bytes.count / 2)) : bytes)
                _ = session.open()
                if steps > 0 { _ = session.setSource(input) }
                if steps > 1 {
                    let (answer, info) = session.readHeader()
                    if steps > 2, !answer.isFailure {
                        let (next, frame) = session.nextFrame()
                        if steps > 3, !next.isFailure, frame.rect.width > 0 {
                            let surface = Surface(
                                info.native, width: Int(frame.rect.width), height: Int(frame.rect.height))
                            _ = session.decode(surface)
                        }
                    }
                }
                session.close()
                try settled(services, coder, "closed after \(steps) calls")
            }
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try context.eachEncoder { coder throws(Stop) in
                for steps in 0...2 {
                    let services = Services(limits: DecodeSetup.roomyLimits)
                    guard let session = Encoding(coder, services, context.board) else { return }
                    _ = session.open(context.quickOptions(coder.id))
                    let image = Image(width: 16, height: 16)
                    var info = CheckContext.facts([image])
                    let (answer, format) = session.accept(info, 0)
                    if steps > 0, answer.status == CPI_OK {
                        info.native = format
                        _ = session.begin(info, Output())
                    }
                    if steps > 1 {
                        let surface = Surface(format, width: 16, height: 16)
                        surface.pixels = image.pixels(format)
                        var frame = cpi_frame_info()
                        frame.rect = cpi_rect(x: 0, y: 0, width: 16, height: 16)
                        _ = session.add(frame, surface)
                    }
                    session.close()
                    try settled(services, coder, "an encoder closed after \(steps) calls")
                }
            }
        }
    }

    /// Checks a session's services after it is closed.
    static func settled(_ services: Services, _ coder: Subject.Coder, _ place: String) throws(Stop) {
        try MemoryChecks.settled(services.meter, coder, place)
    }

    static let many = Check(
        "lifecycle.many", "a thousand sessions leak no memory, descriptor or thread", needs: needs
    ) { context throws(Stop) in
        let plugin = try context.subject()
        func sessions(_ count: Int) {
            for _ in 0..<count {
                for coder in plugin.coders {
                    context.board.coder = coder.id
                    if let session = Decoding(coder, Services(), context.board) {
                        _ = session.open()
                        session.close()
                    }
                    if let session = Encoding(coder, Services(), context.board) {
                        _ = session.open()
                        session.close()
                    }
                }
            }
        }
        sessions(100)
        let before = (ProcessState.residentBytes, ProcessState.descriptors().count, ProcessState.threadCount)
        sessions(900)
        let after = (ProcessState.residentBytes, ProcessState.descriptors().count, ProcessState.threadCount)
        func left(_ what: String) -> Stop {
            .fault("900 sessions, opened and closed, leaked \(what)", .close, try: "free in close what open allocated")
        }
        if after.0 > before.0 + 4 << 20 { throw left("\((after.0 - before.0) >> 10) KiB of memory") }
        if after.1 > before.1 { throw left("\(after.1 - before.1) descriptors open") }
        if after.2 > before.2 + context.manifest.isolation.threads {
            throw left("\(after.2 - before.2) threads running")
        }
    }

    static let sticky = Check(
        "lifecycle.sticky", "after an error every call returns it again, until close", needs: needs
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            var policy = Services.Policy()
            policy.stopsAtPoll = 0
            for (what, data, policy) in [
                ("foreign bytes", Array("no image at all, however one looks at it".utf8), Services.Policy()),
                ("half an image", Array(bytes.prefix(bytes.count / 2)), Services.Policy()),
                ("a cancel", bytes, policy),
            ] {
                let services = Services(policy, limits: DecodeSetup.roomyLimits)
                guard let session = Decoding(coder, services, context.board) else { return }
                var run = DecodeRun(session: session, input: Input(data), setup: DecodeSetup())
                guard let failure = try run.all().failure, session.isOpen, !failure.isOfKit else { continue }
                let surface = Surface(
                    cpi_pixel_format(
                        channels: CPI_CHANNELS_RGBA, numeric: CPI_NUMERIC_UNORM, bits: 8, alpha: CPI_ALPHA_STRAIGHT,
                        count: 0, layout: 0, reserved: 0), width: 64, height: 64)
                let again =
                    [session.nextFrame().0, session.readHeader().0, session.decode(surface)]
                    + (session.hasBlobs ? [session.blob(0).0] : []) + (session.hasOffers ? [session.offer(0).0] : [])
                    + [session.seek(0)?.0, session.scaledSize(1, 1)?.0, session.dirty()?.0, session.item(0)?.0]
                    .compactMap(\.self) + [session.nextFrame().0]
                for answer in again where answer.status != failure.status {
                    throw .fault(
                        "\(coder.id): \(failure.call) answered \(statusName(failure.status)) to \(what), then "
                            + "\(answer.call) answered \(statusName(answer.status))", .sticky,
                        try: "store the first error in the session and check it first in every call")
                }
                if let objection = again.lazy.compactMap(\.objection).first {
                    throw .fault("\(coder.id): \(objection)", .error, try: "fill cpi_error on every failure")
                }
            }
        }
    }

    static let misuse = Check(
        "lifecycle.misuse", "calls out of sequence are answered with an error", needs: needs,
        crash: Fault(
            what: "a call was out of sequence", rule: .misuse, remedy: "check the state of the session first")
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            func opened() -> Decoding? {
                let session = Decoding(coder, Services(limits: DecodeSetup.roomyLimits), context.board)
                return session?.open().isFailure == false ? session : nil
            }
            func refuse(_ answer: Answer, _ when: String) throws(Stop) {
                if answer.status >= 0 {
                    throw .fault(
                        "\(coder.id): \(answer.call) answered \(statusName(answer.status)) \(when)", .misuse,
                        try: "answer CPI_MISUSE")
                }
            }
            let small = Surface(
                cpi_pixel_format(
                    channels: CPI_CHANNELS_RGBA, numeric: CPI_NUMERIC_UNORM, bits: 8, alpha: CPI_ALPHA_STRAIGHT,
                    count: 0, layout: 0, reserved: 0), width: 1, height: 1)
            if let session = opened() { try refuse(session.readHeader().0, "before set_source") }
            if let session = opened() { try refuse(session.nextFrame().0, "before set_source") }
            if let session = opened() { try refuse(session.decode(small), "before set_source") }
            if let session = opened() {
                _ = session.setSource(Input(bytes))
                try refuse(session.nextFrame().0, "before read_header")
            }
            if let session = opened() {
                _ = session.setSource(Input(bytes))
                try refuse(session.decode(small), "before read_header")
            }
            if let session = opened() {
                _ = session.setSource(Input(bytes))
                _ = session.readHeader()
                try refuse(session.decode(small), "before next_frame")
            }
            if let session = opened() {
                _ = session.setSource(Input(bytes))
                _ = session.readHeader()
                _ = session.nextFrame()
                try refuse(session.decode(small), "into a surface of 1 x 1 pixels")
            }
        }
    }

    static let interleaved = Check(
        "lifecycle.interleaved", "two sessions on one thread do not affect each other",
        needs: needs + ["determinism.decode", "frames.facts"]
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            // Use two different files if there are two.
            let files = [bytes, context.samples(coder.id, .large).first?.bytes ?? bytes]
            let wanted = try files.map { file throws(Stop) in try context.decode(coder, file) }
            let sessions = files.compactMap { _ in
                Decoding(coder, Services(limits: DecodeSetup.roomyLimits), context.board)
            }
            let inputs = files.map { Input($0) }
            for session in sessions { _ = session.open() }
            for (session, input) in zip(sessions, inputs) { _ = session.setSource(input) }
            for session in sessions { _ = session.readHeader() }
            for session in sessions { _ = session.nextFrame() }
            for (session, wanted) in zip(sessions, wanted) {
                guard let info = wanted.info, let frame = wanted.frames.first else { return }
                let surface = Surface(
                    info.native, width: Int(frame.info.rect.width), height: Int(frame.info.rect.height))
                let answer = session.decode(surface)
                if answer.status != CPI_OK || surface.pixels != frame.pixels {
                    throw .fault(
                        "\(coder.id), with two open sessions: \(answer.text), or other pixels",
                        .noSharedState, try: "keep all state of a session in the session")
                }
            }
        }
    }
}
