import CCoderPlugin

/// The way to decode an image.
struct DecodeSetup {
    var shape = StructVersion.current
    var source = SourceSetup()
    var wantsPartial = false
    var policy = Services.Policy()
    var limits = DecodeSetup.roomyLimits
    var layout = SurfaceLayout()
    var maxFrames = Int.max
    var options: [OptionValue] = []
    /// Whether to request metadata and offers, too.
    var isThorough = false

    /// The largest number of pixels that the kit allocates.
    static let maxPixels = 1 << 24

    static var roomyLimits: cpi_limits {
        var limits = cpi_limits()
        limits.max_width = 1 << 16
        limits.max_height = 1 << 16
        limits.max_frames = 100_000
        limits.max_pixels = UInt64(maxPixels)
        limits.max_total_pixels = 1 << 32
        limits.max_alloc = 512 << 20
        limits.max_total_alloc = 512 << 20
        limits.max_metadata_bytes = 64 << 20
        limits.max_input_bytes = 1 << 30
        limits.max_output_bytes = 1 << 28
        limits.max_nesting = 64
        limits.max_threads = 16
        limits.max_scans = 1000
        limits.max_ratio = 0
        return limits
    }
}

/// The way in which bytes reach a decoder.
struct SourceSetup {
    var kind = Input.Kind.memory
    /// The number of bytes that arrive at a time, for a growing source.
    var chunk = 1
    /// The number of the read that fails.
    var failingRead: Int?
}

/// The first defects of results.
struct Defects {
    /// The first invalid value of a result.
    var objection: String?
    /// The first struct with a write past its end.
    var overrun: String?
    /// The first result whose status the header does not list for the call.
    var illegal: String?
}

/// A decoded frame.
struct DecodedFrame {
    var info: cpi_frame_info
    var format: cpi_pixel_format
    /// The rows without padding.
    var pixels: [UInt8]
}

/// The result of decoding.
struct DecodeOutcome {
    var info: cpi_image_info?
    var frames: [DecodedFrame] = []
    var blobs: [Blob] = []
    /// The failed call, if any.
    var failure: Answer?
    var defects = Defects()
    /// The first write outside of the surface.
    var stray: String?
    var needInputs = 0
    var partials = 0
    var meter = Services.Meter()

    var pixels: [[UInt8]] { frames.map(\.pixels) }
}

extension CheckContext {
    /// Decodes an image from the first call to the last.
    ///
    /// - Throws: a fault if a call returned an invalid result.
    func decode(
        _ coder: Subject.Coder, _ bytes: [UInt8], _ setup: DecodeSetup = DecodeSetup(),
        then after: ((Decoding) throws(Stop) -> Void)? = nil
    ) throws(Stop) -> DecodeOutcome {
        let services = Services(setup.policy, limits: setup.limits, shape: setup.shape)
        guard let session = Decoding(coder, services, board, setup.shape) else {
            throw .skip("\(coder.id) does not decode")
        }
        let input = Input(bytes, setup.source.kind, shape: setup.shape, failingRead: setup.source.failingRead)
        var run = DecodeRun(session: session, input: input, setup: setup)
        services.startClock()
        var outcome = try run.all()
        services.stopClock()
        if let after { try after(session) }
        session.close()
        outcome.defects.overrun = session.overrun
        outcome.defects.illegal = session.illegal
        outcome.meter = services.meter
        return outcome
    }
}

/// One pass through the calls of a decoder.
struct DecodeRun {
    let session: Decoding
    let input: Input
    let setup: DecodeSetup
    private var outcome = DecodeOutcome()

    init(session: Decoding, input: Input, setup: DecodeSetup) {
        self.session = session
        self.input = input
        self.setup = setup
    }

    mutating func all() throws(Stop) -> DecodeOutcome {
        if take(session.open(setup.options)) { return outcome }
        guard session.isOpen else {
            throw .fault("open answered CPI_OK and no decoder", .session, try: "store the session in *decoder")
        }
        if take(session.setSource(input)) { return outcome }
        guard let info = try header() else { return outcome }
        outcome.info = info
        if let objection = info.native.objection {
            throw .fault(
                "read_header reports an invalid pixel format (\(objection))", .imageFacts,
                try: "fill info->native with a format of cpi/image.h")
        }
        // The checks of a host before it allocates memory.
        guard info.width > 0, info.height > 0 else {
            throw .fault(
                "read_header reports \(info.width) x \(info.height) pixels", .imageFacts,
                try: "answer CPI_CORRUPT for an image without pixels")
        }
        guard Int(info.width) * Int(info.height) <= DecodeSetup.maxPixels else {
            outcome.failure = Answer(call: Answer.kit, status: CPI_LIMIT, code: CPI_LIMIT, message: "too many pixels")
            return outcome
        }
        if setup.isThorough { try details() }
        while outcome.frames.count < setup.maxFrames, try frame() {}
        // Metadata after the pixels may become available only now.
        if setup.isThorough, outcome.failure == nil { try details() }
        return outcome
    }

    /// Records a result; returns true if it is a failure.
    private mutating func take(_ answer: Answer) -> Bool {
        if outcome.defects.objection == nil { outcome.defects.objection = answer.objection }
        if answer.isFailure { outcome.failure = answer }
        return answer.isFailure
    }

    /// Makes bytes arrive because a call requested them.
    private mutating func feed(_ call: String) throws(Stop) {
        outcome.needInputs += 1
        if input.grow(setup.source.chunk) { return }
        throw .fault(
            "\(call) answered CPI_NEED_INPUT although the source is complete", .truncated,
            try: "check source->complete first, and answer CPI_TRUNCATED if it is set")
    }

    private mutating func header() throws(Stop) -> cpi_image_info? {
        while true {
            let (answer, info) = session.readHeader()
            if take(answer) { return nil }
            switch answer.status {
            case CPI_OK: return info
            case CPI_NEED_INPUT: try feed("read_header")
            default:
                throw .fault(answer.text, .header, try: "read_header answers CPI_OK, CPI_NEED_INPUT or an error")
            }
        }
    }

    private mutating func details() throws(Stop) {
        outcome.blobs = []
        for index in 0..<UInt32(300) {
            let (answer, blob) = session.blob(index)
            if take(answer) || answer.status == CPI_END { break }
            if let blob { outcome.blobs.append(blob) }
            if index == 299 { throw .fault("blob never answers CPI_END", .offerEnd, try: "count the blobs") }
        }
    }

    /// Decodes the next frame; returns false after the last.
    private mutating func frame() throws(Stop) -> Bool {
        var facts: cpi_frame_info
        repeat {
            let (answer, info) = session.nextFrame()
            facts = info
            if take(answer) || answer.status == CPI_END { return false }
            if answer.status == CPI_OK { break }
            guard answer.status == CPI_NEED_INPUT else {
                throw .fault(answer.text, .nextFrame, try: "answer CPI_OK, CPI_END, CPI_NEED_INPUT or an error")
            }
            try feed("next_frame")
        } while true
        guard let info = outcome.info else { return false }
        guard Int(facts.rect.width) * Int(facts.rect.height) <= DecodeSetup.maxPixels else {
            throw .fault(
                "frame \(facts.index) has \(facts.rect.width) x \(facts.rect.height) pixels, but the image "
                    + "\(info.width) x \(info.height)", .frameRect, try: "check a frame against the canvas")
        }
        if facts.rect.width == 0 || facts.rect.height == 0 {
            outcome.frames.append(DecodedFrame(info: facts, format: info.native, pixels: []))
            return true
        }
        let surface = Surface(
            info.native, width: Int(facts.rect.width), height: Int(facts.rect.height), layout: setup.layout,
            shape: setup.shape)
        let isWhole = try fill(surface)
        if outcome.stray == nil { outcome.stray = surface.strayWrite }
        guard isWhole else { return false }
        outcome.frames.append(DecodedFrame(info: facts, format: info.native, pixels: surface.pixels))
        return true
    }

    private mutating func fill(_ surface: Surface) throws(Stop) -> Bool {
        while true {
            let answer = session.decode(surface, flags: setup.wantsPartial ? CPI_DECODE_WANT_PARTIAL : 0)
            if take(answer) { return false }
            switch answer.status {
            case CPI_OK: return true
            case CPI_NEED_INPUT: try feed("decode")
            case CPI_PARTIAL where setup.wantsPartial:
                outcome.partials += 1
                if !input.grow(setup.source.chunk) { return true }
            default:
                throw .fault(
                    answer.text, .decode,
                    try: "CPI_PARTIAL is for requests with CPI_DECODE_WANT_PARTIAL, CPI_END for next_frame")
            }
        }
    }
}
