import CCoderPlugin

/// The way to encode images.
struct EncodeSetup {
    var shape = StructVersion.current
    var policy = Services.Policy()
    var limits = DecodeSetup.roomyLimits
    var layout = SurfaceLayout()
    var options: [OptionValue] = []
    var metadata = Metadata()
    var output = OutputSetup()
    var animation = Animation()
    /// The band size, in multiples of the rows that the encoder requests; nil to pass whole images.
    var bands: Int?
    /// The role of all items but the first, to pass the images as items of one output; nil to pass them as frames.
    var itemRole: UInt32?

    /// The properties of an image besides its pixels.
    struct Metadata {
        var blobs: [Blob] = []
        /// The Exif orientation; 0 means not stated.
        var orientation: UInt32 = 0
        var color: cpi_color?
    }

    /// The limits of the output.
    struct OutputSetup {
        /// The number of bytes that the output accepts.
        var room: Int?
        /// The status of a write beyond that number.
        var refusal = CPI_LIMIT
    }

    /// The timing of several images.
    struct Animation {
        /// The duration of each frame, in 1/10 s.
        var durations: [UInt32] = []
        var loops: UInt64 = 0
    }
}

/// The result of encoding.
struct EncodeOutcome {
    var bytes: [UInt8] = []
    var format = cpi_pixel_format()
    var failure: Answer?
    var defects = Defects()
    /// A description of the first offer with a value that the header does not define.
    var oddOffer: String?
    /// The results of add_blob.
    var blobAnswers: [cpi_status] = []
    var hasWrongPlace = false
    /// Whether the image was passed in bands.
    var usedBands = false
    var meter = Services.Meter()
}

extension CheckContext {
    /// Encodes one image, or the frames of an animation, from the first call to the last.
    func encode(
        _ coder: Subject.Coder, _ images: [Image], _ setup: EncodeSetup = EncodeSetup()
    ) throws(Stop) -> EncodeOutcome {
        let services = Services(setup.policy, limits: setup.limits, shape: setup.shape)
        guard let session = Encoding(coder, services, board, setup.shape) else {
            throw .skip("\(coder.id) does not encode")
        }
        var outcome = EncodeOutcome()
        services.startClock()
        try Self.run(session, images, setup, &outcome)
        services.stopClock()
        if let output = session.output {
            outcome.bytes = output.bytes
            outcome.hasWrongPlace = output.hasWrongPlace
        }
        session.close()
        outcome.defects.overrun = session.overrun
        outcome.defects.illegal = session.illegal
        outcome.oddOffer = session.oddOffer
        outcome.meter = services.meter
        return outcome
    }

    /// Returns the facts of images, as a host passes them.
    static func facts(_ images: [Image], _ setup: EncodeSetup = EncodeSetup()) -> cpi_image_info {
        let first = images[0]
        var info = cpi_image_info()
        info.width = UInt32(first.width)
        info.height = UInt32(first.height)
        info.bit_depth = 8
        info.frame_count = UInt32(images.count)
        info.flags = first.hasAlpha ? CPI_IMAGE_HAS_ALPHA : 0
        if images.count > 1 {
            info.flags |= CPI_IMAGE_ANIMATED
            info.loop_kind = setup.animation.loops == 0 ? CPI_LOOPS_INFINITE : CPI_LOOPS_COUNT
            info.loop_count = setup.animation.loops
        }
        info.orientation = setup.metadata.orientation
        info.color = setup.metadata.color ?? cpi_color()
        info.native = cpi_pixel_format(
            channels: first.hasAlpha ? CPI_CHANNELS_RGBA : CPI_CHANNELS_RGB, numeric: CPI_NUMERIC_UNORM, bits: 8,
            alpha: first.hasAlpha ? CPI_ALPHA_STRAIGHT : CPI_ALPHA_NONE, count: 0, layout: 0, reserved: 0)
        return info
    }

    /// Records an answer; returns whether it is a failure.
    private static func take(_ answer: Answer, _ outcome: inout EncodeOutcome) -> Bool {
        if outcome.defects.objection == nil { outcome.defects.objection = answer.objection }
        if answer.isFailure { outcome.failure = answer }
        return answer.isFailure
    }

    /// Returns the format that the encoder takes for an image; nil after a failure.
    private static func format(
        _ session: Encoding, _ info: cpi_image_info, _ outcome: inout EncodeOutcome
    ) throws(Stop) -> cpi_pixel_format? {
        var offers: [cpi_pixel_format] = []
        for index in 0..<UInt32(40) {
            let (answer, format) = session.accept(info, index)
            if take(answer, &outcome) { return nil }
            if answer.status == CPI_END { break }
            if answer.status != CPI_OK { throw .fault(answer.text, .accept, try: "answer CPI_OK or CPI_END") }
            if let objection = format.objection {
                throw .fault(
                    "accept offers an invalid pixel format (\(objection))", .accept,
                    try: "offer formats of cpi/image.h")
            }
            offers.append(format)
            if index == 39 { throw .fault("accept never answers CPI_END", .offerEnd, try: "count the formats") }
        }
        guard let format = offers.first(where: { $0.isEqual(info.native) }) ?? offers.first else {
            throw .fault("accept offers no pixel format for \(info.native.text)", .accept, try: "offer at least one")
        }
        return format
    }

    /// Encodes each image as an item of its own.
    private static func runItems(
        _ session: Encoding, _ images: [Image], _ role: UInt32, _ setup: EncodeSetup, _ outcome: inout EncodeOutcome
    ) throws(Stop) {
        let output = Output(room: setup.output.room, refusal: setup.output.refusal, shape: setup.shape)
        for (index, image) in images.enumerated() {
            let isFirst = index == 0
            guard let answer = session.nextItem(isFirst ? CPI_ITEM_PRIMARY : role, of: isFirst ? CPI_ITEM_NONE : 0)
            else {
                throw .fault(
                    "\(session.coder.id) has CPI_CODER_ENCODE_ITEMS and no table for it", .roles,
                    try: "answer the table from cpi_encoder_api.get")
            }
            if take(answer, &outcome) { return }
            if answer.status != CPI_OK {
                outcome.failure = answer
                return
            }
            var info = facts([image], setup)
            guard let format = try format(session, info, &outcome) else { return }
            info.native = format
            if take(session.begin(info, output), &outcome) { return }
            let surface = Surface(
                format, width: image.width, height: image.height, layout: setup.layout, shape: setup.shape)
            surface.pixels = image.pixels(format)
            var frame = cpi_frame_info()
            frame.flags = CPI_FRAME_INDEPENDENT | (image.hasAlpha ? CPI_FRAME_HAS_ALPHA : 0)
            frame.rect = cpi_rect(x: 0, y: 0, width: info.width, height: info.height)
            if take(session.add(frame, surface), &outcome) { return }
        }
        _ = take(session.finish(), &outcome)
    }

    private static func run(
        _ session: Encoding, _ images: [Image], _ setup: EncodeSetup, _ outcome: inout EncodeOutcome
    ) throws(Stop) {
        if take(session.open(setup.options), &outcome) { return }
        guard session.isOpen else {
            throw .fault("open answered CPI_OK and no encoder", .encoder, try: "store the session in *encoder")
        }
        if let role = setup.itemRole { return try runItems(session, images, role, setup, &outcome) }
        var info = facts(images, setup)
        guard let format = try format(session, info, &outcome) else { return }
        info.native = format
        outcome.format = format
        let output = Output(room: setup.output.room, refusal: setup.output.refusal, shape: setup.shape)
        if take(session.begin(info, output), &outcome) { return }
        for blob in setup.metadata.blobs {
            let answer = session.add(blob)
            outcome.blobAnswers.append(answer.status)
            if answer.status != CPI_REFUSED, take(answer, &outcome) { return }
        }
        for (index, image) in images.enumerated() {
            let surface = Surface(
                format, width: image.width, height: image.height, layout: setup.layout, shape: setup.shape)
            surface.pixels = image.pixels(format)
            var frame = cpi_frame_info()
            frame.index = UInt32(index)
            frame.flags = CPI_FRAME_INDEPENDENT | (image.hasAlpha ? CPI_FRAME_HAS_ALPHA : 0)
            frame.rect = cpi_rect(x: 0, y: 0, width: info.width, height: info.height)
            if images.count > 1 {
                let tenths = index < setup.animation.durations.count ? setup.animation.durations[index] : 1
                frame.duration = cpi_rational(numerator: tenths, denominator: 10)
            }
            if let bands = setup.bands, let (answer, rows) = session.beginRows(frame) {
                if take(answer, &outcome) { return }
                outcome.usedBands = answer.status == CPI_OK
                if outcome.usedBands {
                    if rows == 0 {
                        throw .fault("begin_rows asks for bands of 0 rows", .rows, try: "store a count in *rows")
                    }
                    for y in stride(from: 0, to: image.height, by: rows * bands) {
                        let band = Surface(
                            format, width: image.width, height: min(rows * bands, image.height - y),
                            layout: setup.layout, shape: setup.shape)
                        let bytes = image.width * format.bytesPerPixel
                        band.pixels = Array(surface.pixels[y * bytes..<(y + band.height) * bytes])
                        if take(session.addRows(band), &outcome) { return }
                    }
                    continue
                }
            }
            if take(session.add(frame, surface), &outcome) { return }
        }
        let answer = session.finish()
        if take(answer, &outcome) { return }
        if answer.status != CPI_OK {
            throw .fault(answer.text, .finish, try: "finish answers CPI_OK or an error")
        }
    }
}
