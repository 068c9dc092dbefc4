import CCoderPlugin
import CoderHost

/// Encoded images decode to the same content.
enum RoundTripChecks {
    static let all = [pixels, animation, metadata]
    private static let needs = [
        "lifecycle.encode", "lifecycle.decode", "determinism.decode", "frames.facts", "surface.every-pixel",
    ]
    /// The mean square error permitted for a lossy format with these smooth images: a PSNR of 21 dB.
    private static let patience = 520.0

    private static func eachPair(
        _ context: CheckContext, otherwise reason: String = "no coder encodes and decodes",
        where condition: (Subject.Coder) -> Bool = { _ in true }, _ body: (Subject.Coder) throws(Stop) -> Void
    ) throws(Stop) {
        var done = 0
        for coder in try context.subject().coders where coder.decodes && coder.encoder != nil && condition(coder) {
            context.board.coder = coder.id
            try body(coder)
            done += 1
        }
        if done == 0 { throw .skip(reason) }
    }

    static let pixels = Check(
        "roundtrip.pixels", "encoded pixels decode to the same pixels", needs: needs
    ) { context throws(Stop) in
        try eachPair(context) { coder throws(Stop) in
            for hasAlpha in [false, true] {
                // Identical small frames would be merged into one, which another coder reads.
                for (width, height) in coder.encodesStills ? [(48, 40), (1, 1), (7, 3)] : [(48, 40)] {
                    var setup = EncodeSetup()
                    setup.options = context.quickOptions(coder.id, lossless: true)
                    let images = context.images(coder, width: width, height: height, hasAlpha: hasAlpha)
                    try compare(context, coder, images, setup)
                }
            }
        }
    }

    /// Encodes, decodes and compares the visible pixels.
    @discardableResult
    private static func compare(
        _ context: CheckContext, _ coder: Subject.Coder, _ images: [Image], _ setup: EncodeSetup
    ) throws(Stop) -> DecodeOutcome {
        let (width, height) = (images[0].width, images[0].height)
        let name = "an image of \(width) x \(height)" + (images[0].hasAlpha ? " with transparent parts" : "")
        let file = try context.encode(coder, images, setup)
        if let failure = file.failure {
            throw .fault("\(coder.id) does not encode \(name): \(failure.text)", .addFrame, try: "check the error")
        }
        if file.hasWrongPlace {
            throw .fault("\(coder.id) calls write_at for unwritten bytes", .write, try: "write the bytes first")
        }
        var decodeSetup = DecodeSetup()
        decodeSetup.isThorough = true
        let outcome = try context.decode(coder, file.bytes, decodeSetup)
        guard outcome.failure == nil, let info = outcome.info else {
            throw .fault(
                "\(coder.id) does not decode its own \(name): \(outcome.failure?.text ?? "nothing")", .encoder,
                try: "try the file in another program, to see which side is wrong")
        }
        if info.width != UInt32(width) || info.height != UInt32(height) {
            throw .fault(
                "\(coder.id): \(name) came back as \(info.width) x \(info.height)", .encoder,
                try: "try the file in another program, to see which side is wrong")
        }
        var canvas = Canvas(width: width, height: height)
        for (index, frame) in outcome.frames.enumerated() where index < images.count {
            canvas.show(frame)
            let wanted = RGBA.of(images[index].pixels(file.format), file.format)
            let error = RGBA.meanSquare(wanted, canvas.pixels)
            let isLossy = info.flags & CPI_IMAGE_LOSSY != 0
            if error > (isLossy ? patience : 0) {
                throw .fault(
                    "\(coder.id): frame \(index) of \(name) came back different (mean square error "
                        + "\((error * 100).rounded() / 100)\(isLossy ? "" : ", and CPI_IMAGE_LOSSY is not set"))",
                    isLossy ? .encoder : .lossy, try: "try the file in another program, to see which side is wrong")
            }
        }
        return outcome
    }

    static let animation = Check(
        "roundtrip.animation", "frames, their durations and the loop count are preserved", needs: needs
    ) { context throws(Stop) in
        try eachPair(
            context, otherwise: "no coder encodes and decodes animations",
            where: {
                $0.encodesAnimations && $0.decodesAnimations
            }
        ) { coder throws(Stop) in
            var setup = EncodeSetup()
            setup.options = context.quickOptions(coder.id, lossless: true)
            setup.animation.durations = [1, 3, 2, 10, 5]
            setup.animation.loops = 3
            let images = context.images(coder, width: 40, height: 32, hasAlpha: true, frames: 5)
            let outcome = try compare(context, coder, images, setup)
            func lost(_ what: String) -> Stop {
                .fault("\(coder.id): \(what)", .duration, try: "compare with the file in another program")
            }
            if outcome.frames.count != images.count {
                throw lost("\(images.count) frames came back as \(outcome.frames.count)")
            }
            for (index, frame) in outcome.frames.enumerated() {
                let time = frame.info.duration
                let seconds = time.denominator == 0 ? 0 : Double(time.numerator) / Double(time.denominator)
                // The coarsest unit in use is 1/100 s.
                if abs(seconds - Double(setup.animation.durations[index]) / 10) > 0.0101 {
                    throw lost("frame \(index) of \(setup.animation.durations[index])/10 s came back with \(seconds) s")
                }
            }
            if let info = outcome.info, info.loop_kind != CPI_LOOPS_COUNT || info.loop_count != 3 {
                throw lost("3 plays came back as \(info.loop_count), kind \(info.loop_kind)")
            }
        }
    }

    static let metadata = Check(
        "roundtrip.metadata", "the metadata that the manifest declares is preserved", needs: needs
    ) { context throws(Stop) in
        var promised = 0
        try eachPair(context) { coder throws(Stop) in
            guard let carries = context.manifest(of: coder.id)?.carries else { return }
            for blob in SampleMetadata.blobs where carries.contains(SampleMetadata.name(blob.kind)) {
                promised += 1
                let name = SampleMetadata.name(blob.kind)
                var setup = EncodeSetup()
                setup.options = context.quickOptions(coder.id)
                setup.metadata.blobs = [blob]
                if carries.contains("orientation"), blob.kind == CPI_BLOB_EXIF { setup.metadata.orientation = 1 }
                let file = try context.encode(coder, context.images(coder, width: 16, height: 12), setup)
                if let failure = file.failure ?? unsupported(file.blobAnswers) {
                    throw .fault(
                        "\(coder.id) declares \(name) but does not accept it: \(failure.text)", .carries,
                        try: "accept it in add_blob, or remove it from \"metadata\"")
                }
                var decodeSetup = DecodeSetup()
                decodeSetup.isThorough = true
                let outcome = try context.decode(coder, file.bytes, decodeSetup)
                guard let back = outcome.blobs.first(where: { $0.kind == blob.kind }) else {
                    throw .fault(
                        "\(coder.id) declares \(name), but a file written with it has none", .carries,
                        try: "deliver it in blob, or remove it from \"metadata\"")
                }
                if back.bytes != blob.bytes {
                    throw .fault(
                        "\(coder.id): \(blob.bytes.count) bytes of \(name) gave \(back.bytes.count) other bytes",
                        .blob,
                        try: "keep it byte for byte")
                }
            }
        }
        if promised == 0 { throw .skip("the manifest declares no metadata") }
    }

    private static func unsupported(_ answers: [cpi_status]) -> Answer? {
        answers.contains(CPI_REFUSED) ? Answer(call: "add_blob", status: CPI_REFUSED) : nil
    }
}
