import CCoderPlugin
import CoderHost

/// Sessions from open to close, errors, calls out of sequence.
enum LifecycleChecks {
    static let first = [load, encode, decode]
    static let all = [early, many, sticky, misuse, interleaved]
    private static let needs = ["lifecycle.decode"]

    static let load = Check(
        "lifecycle.load", "the file is mapped, its entry and its init answer"
    ) { workshop throws(Stop) in
        _ = try workshop.subject()
    }

    /// Its pictures are the samples of all other checks.
    static let encode = Check(
        "lifecycle.encode", "a picture is encoded, from open to close", needs: ["lifecycle.load"]
    ) { workshop throws(Stop) in
        try workshop.eachEncoder { coder throws(Stop) in
            let options = workshop.quickOptions(coder.id)
            let kinds: [(Sample.Kind, [Picture])] =
                [
                    (.small, workshop.pictures(coder, width: 33, height: 21, hasAlpha: true)),
                    (.large, workshop.pictures(coder, width: 200, height: 256, frames: coder.encodesStills ? 1 : 2)),
                ]
                + (coder.encodesAnimations
                    ? [(.animation, workshop.pictures(coder, width: 24, height: 18, hasAlpha: true, frames: 5))] : [])
            for (kind, pictures) in kinds {
                var setup = EncodeSetup()
                setup.options = options
                let outcome = try workshop.encode(coder, pictures, setup)
                if let failure = outcome.failure {
                    throw .fault(
                        "\(coder.id) does not encode a picture of \(pictures[0].width) x \(pictures[0].height): "
                            + failure.text, .encoder, try: "look for what it refuses")
                }
                if outcome.bytes.isEmpty {
                    throw .fault("\(coder.id) finished and wrote nothing", .finish, try: "write to the sink")
                }
                workshop.madeSamples.append(Sample(coder: coder.id, kind: kind, bytes: outcome.bytes))
            }
        }
    }

    static let decode = Check(
        "lifecycle.decode", "a picture is decoded, from open to close", needs: ["lifecycle.load"]
    ) { workshop throws(Stop) in
        try workshop.eachPicture { coder, bytes throws(Stop) in
            let outcome = try workshop.decode(coder, bytes)
            if let failure = outcome.failure {
                throw .fault(
                    "\(coder.id) does not decode a picture of \(bytes.count) bytes: \(failure.text)", .session,
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
            what: "a session was closed early", rule: .freesAll, remedy: "give back only what was taken until then")
    ) { workshop throws(Stop) in
        try workshop.eachPicture { coder, bytes throws(Stop) in
            for steps in 0...6 {
                let services = Services(limits: DecodeSetup.roomyLimits)
                guard let session = Decoding(coder, services, workshop.board) else { return }
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
            try workshop.eachEncoder { coder throws(Stop) in
                for steps in 0...2 {
                    let services = Services(limits: DecodeSetup.roomyLimits)
                    guard let session = Encoding(coder, services, workshop.board) else { return }
                    _ = session.open(workshop.quickOptions(coder.id))
                    let picture = Picture(width: 16, height: 16)
                    var info = Workshop.facts([picture])
                    let (answer, format) = session.accept(info, 0)
                    if steps > 0, answer.status == CPI_OK {
                        info.native = format
                        _ = session.begin(info, Output())
                    }
                    if steps > 1 {
                        let surface = Surface(format, width: 16, height: 16)
                        surface.pixels = picture.pixels(format)
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

    /// What must hold of a session's services once it is closed.
    static func settled(_ services: Services, _ coder: Subject.Coder, _ place: String) throws(Stop) {
        try MemoryChecks.settled(services.meter, coder, place)
    }

    static let many = Check(
        "lifecycle.many", "a thousand sessions leave no memory, descriptor or thread behind", needs: needs
    ) { workshop throws(Stop) in
        let plugin = try workshop.subject()
        func sessions(_ count: Int) {
            for _ in 0..<count {
                for coder in plugin.coders {
                    workshop.board.coder = coder.id
                    if let session = Decoding(coder, Services(), workshop.board) {
                        _ = session.open()
                        session.close()
                    }
                    if let session = Encoding(coder, Services(), workshop.board) {
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
            .fault("900 sessions, opened and closed, left \(what)", .close, try: "give back in close what open took")
        }
        if after.0 > before.0 + 4 << 20 { throw left("\((after.0 - before.0) >> 10) KiB of memory") }
        if after.1 > before.1 { throw left("\(after.1 - before.1) descriptors open") }
        if after.2 > before.2 + workshop.manifest.threads { throw left("\(after.2 - before.2) threads running") }
    }

    static let sticky = Check(
        "lifecycle.sticky", "after an error every call repeats it, until close", needs: needs
    ) { workshop throws(Stop) in
        try workshop.eachPicture { coder, bytes throws(Stop) in
            var policy = Services.Policy()
            policy.stopsAtPoll = 0
            for (what, data, policy) in [
                ("foreign bytes", Array("no picture at all, however one looks at it".utf8), Services.Policy()),
                ("half a picture", Array(bytes.prefix(bytes.count / 2)), Services.Policy()),
                ("a cancel", bytes, policy),
            ] {
                let services = Services(policy, limits: DecodeSetup.roomyLimits)
                guard let session = Decoding(coder, services, workshop.board) else { return }
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
                        try: "keep the first error in the session and answer it first of all")
                }
                if let objection = again.lazy.compactMap(\.objection).first {
                    throw .fault("\(coder.id): \(objection)", .error, try: "fill cpi_error each time")
                }
            }
        }
    }

    static let misuse = Check(
        "lifecycle.misuse", "calls out of sequence are answered with an error", needs: needs,
        crash: Fault(
            what: "a call came out of sequence", rule: .misuse, remedy: "look at the state of the session first")
    ) { workshop throws(Stop) in
        try workshop.eachPicture { coder, bytes throws(Stop) in
            func opened() -> Decoding? {
                let session = Decoding(coder, Services(limits: DecodeSetup.roomyLimits), workshop.board)
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
        "lifecycle.interleaved", "two sessions on one thread do not disturb each other",
        needs: needs + ["determinism.decode", "frames.facts"]
    ) { workshop throws(Stop) in
        try workshop.eachPicture { coder, bytes throws(Stop) in
            // Two different files, where there are two.
            let files = [bytes, workshop.samples(coder.id, .large).first?.bytes ?? bytes]
            let wanted = try files.map { file throws(Stop) in try workshop.decode(coder, file) }
            let sessions = files.compactMap { _ in
                Decoding(coder, Services(limits: DecodeSetup.roomyLimits), workshop.board)
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
                        "\(coder.id), of two sessions that are open at a time: \(answer.text), or other pixels",
                        .noSharedState, try: "keep everything of a session in the session")
                }
            }
        }
    }
}
