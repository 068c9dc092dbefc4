import CCoderPlugin
import CoderHost

/// What was encoded comes back.
enum RoundTripChecks {
    static let all = [pixels, animation, metadata]
    private static let needs = [
        "lifecycle.encode", "lifecycle.decode", "determinism.decode", "frames.facts", "surface.every-pixel",
    ]
    /// Mean square error that a lossy format may have with these smooth pictures: a PSNR of 21 dB.
    private static let patience = 520.0

    private static func eachPair(
        _ workshop: Workshop, otherwise reason: String = "no coder encodes and decodes",
        where condition: (Subject.Coder) -> Bool = { _ in true }, _ body: (Subject.Coder) throws(Stop) -> Void
    ) throws(Stop) {
        var done = 0
        for coder in try workshop.subject().coders where coder.decodes && coder.encoder != nil && condition(coder) {
            workshop.board.coder = coder.id
            try body(coder)
            done += 1
        }
        if done == 0 { throw .skip(reason) }
    }

    static let pixels = Check(
        "roundtrip.pixels", "the pixels that were encoded come back", needs: needs
    ) { workshop throws(Stop) in
        try eachPair(workshop) { coder throws(Stop) in
            for hasAlpha in [false, true] {
                // Frames that are too small to differ would become one, which another coder reads.
                for (width, height) in coder.encodesStills ? [(48, 40), (1, 1), (7, 3)] : [(48, 40)] {
                    var setup = EncodeSetup()
                    setup.options = workshop.quickOptions(coder.id, lossless: true)
                    let pictures = workshop.pictures(coder, width: width, height: height, hasAlpha: hasAlpha)
                    try compare(workshop, coder, pictures, setup)
                }
            }
        }
    }

    /// Encodes, decodes and compares what is to be seen.
    @discardableResult
    private static func compare(
        _ workshop: Workshop, _ coder: Subject.Coder, _ pictures: [Picture], _ setup: EncodeSetup
    ) throws(Stop) -> DecodeOutcome {
        let (width, height) = (pictures[0].width, pictures[0].height)
        let name = "a picture of \(width) x \(height)" + (pictures[0].hasAlpha ? " with clear parts" : "")
        let file = try workshop.encode(coder, pictures, setup)
        if let failure = file.failure {
            throw .fault("\(coder.id) does not encode \(name): \(failure.text)", .addFrame, try: "see what it refuses")
        }
        if file.hasWrongPlace {
            throw .fault("\(coder.id) calls write_at for what it has not written", .write, try: "write it first")
        }
        var decodeSetup = DecodeSetup()
        decodeSetup.isThorough = true
        let outcome = try workshop.decode(coder, file.bytes, decodeSetup)
        guard outcome.failure == nil, let info = outcome.info else {
            throw .fault(
                "\(coder.id) does not decode what it encoded, \(name): \(outcome.failure?.text ?? "nothing")", .encoder,
                try: "try the file in another program, to see which side is wrong")
        }
        if info.width != UInt32(width) || info.height != UInt32(height) {
            throw .fault(
                "\(coder.id): \(name) came back as \(info.width) x \(info.height)", .encoder,
                try: "try the file in another program, to see which side is wrong")
        }
        var canvas = Canvas(width: width, height: height)
        for (index, frame) in outcome.frames.enumerated() where index < pictures.count {
            canvas.show(frame)
            let wanted = RGBA.of(pictures[index].pixels(file.format), file.format)
            let error = RGBA.meanSquare(wanted, canvas.pixels)
            let isLossy = info.flags & CPI_IMAGE_LOSSY != 0
            if error > (isLossy ? patience : 0) {
                throw .fault(
                    "\(coder.id): frame \(index) of \(name) came back otherwise (mean square error "
                        + "\((error * 100).rounded() / 100)\(isLossy ? "" : ", and CPI_IMAGE_LOSSY is not set"))",
                    isLossy ? .encoder : .lossy, try: "try the file in another program, to see which side is wrong")
            }
        }
        return outcome
    }

    static let animation = Check(
        "roundtrip.animation", "frames, their times and the loop count come back", needs: needs
    ) { workshop throws(Stop) in
        try eachPair(
            workshop, otherwise: "no coder encodes and decodes animations",
            where: {
                $0.encodesAnimations && $0.decodesAnimations
            }
        ) { coder throws(Stop) in
            var setup = EncodeSetup()
            setup.options = workshop.quickOptions(coder.id, lossless: true)
            setup.durations = [1, 3, 2, 10, 5]
            setup.loops = 3
            let pictures = workshop.pictures(coder, width: 40, height: 32, hasAlpha: true, frames: 5)
            let outcome = try compare(workshop, coder, pictures, setup)
            func lost(_ what: String) -> Stop {
                .fault("\(coder.id): \(what)", .duration, try: "compare with the file in another program")
            }
            if outcome.frames.count != pictures.count {
                throw lost("\(pictures.count) frames came back as \(outcome.frames.count)")
            }
            for (index, frame) in outcome.frames.enumerated() {
                let time = frame.info.duration
                let seconds = time.denominator == 0 ? 0 : Double(time.numerator) / Double(time.denominator)
                // The coarsest unit in use is a hundredth.
                if abs(seconds - Double(setup.durations[index]) / 10) > 0.0101 {
                    throw lost("frame \(index) of \(setup.durations[index])/10 s came back with \(seconds) s")
                }
            }
            if let info = outcome.info, info.loop_kind != CPI_LOOPS_COUNT || info.loop_count != 3 {
                throw lost("3 plays came back as \(info.loop_count), kind \(info.loop_kind)")
            }
        }
    }

    static let metadata = Check(
        "roundtrip.metadata", "the metadata that the manifest promises comes back", needs: needs
    ) { workshop throws(Stop) in
        var promised = 0
        try eachPair(workshop) { coder throws(Stop) in
            guard let carries = workshop.manifest(of: coder.id)?.carries else { return }
            for blob in Specimen.blobs where carries.contains(Specimen.name(blob.kind)) {
                promised += 1
                let name = Specimen.name(blob.kind)
                var setup = EncodeSetup()
                setup.options = workshop.quickOptions(coder.id)
                setup.blobs = [blob]
                if carries.contains("orientation"), blob.kind == CPI_BLOB_EXIF { setup.orientation = 1 }
                let file = try workshop.encode(coder, workshop.pictures(coder, width: 16, height: 12), setup)
                if let failure = file.failure ?? unsupported(file.blobAnswers) {
                    throw .fault(
                        "\(coder.id) promises \(name) and does not take it: \(failure.text)", .carries,
                        try: "take it in add_blob, or leave it out of \"metadata\"")
                }
                var decodeSetup = DecodeSetup()
                decodeSetup.isThorough = true
                let outcome = try workshop.decode(coder, file.bytes, decodeSetup)
                guard let back = outcome.blobs.first(where: { $0.kind == blob.kind }) else {
                    throw .fault(
                        "\(coder.id) promises \(name), and a file written with it has none", .carries,
                        try: "hand it out in blob, or leave it out of \"metadata\"")
                }
                if back.bytes != blob.bytes {
                    throw .fault(
                        "\(coder.id): \(blob.bytes.count) bytes of \(name) came back as \(back.bytes.count) others",
                        .blob,
                        try: "keep it byte for byte")
                }
            }
        }
        if promised == 0 { throw .skip("the manifest promises no metadata") }
    }

    private static func unsupported(_ answers: [cpi_status]) -> Answer? {
        answers.contains(CPI_REFUSED) ? Answer(call: "add_blob", status: CPI_REFUSED) : nil
    }
}
