import CCoderPlugin
import CoderHost

/// What a session may cost.
enum LimitChecks {
    static let all = [size, frames, metadata, memory, deadline, output]
    private static let needs = ["lifecycle.decode"]

    static let size = Check(
        "limits.size", "a picture above a limit is refused with the right numbers, or left to the host", needs: needs
    ) { workshop throws(Stop) in
        try workshop.eachPicture { coder, bytes throws(Stop) in
            guard let info = try workshop.decode(coder, bytes).info, info.width > 1, info.height > 1 else { return }
            let pixels = UInt64(info.width) * UInt64(info.height)
            let cases: [(String, UInt32, UInt64, (inout cpi_limits) -> Void)] = [
                ("max_width", CPI_LIMIT_WIDTH, UInt64(info.width), { $0.max_width = info.width - 1 }),
                ("max_height", CPI_LIMIT_HEIGHT, UInt64(info.height), { $0.max_height = info.height - 1 }),
                ("max_pixels", CPI_LIMIT_PIXELS, pixels, { $0.max_pixels = pixels - 1 }),
            ]
            for (name, id, actual, change) in cases {
                var setup = DecodeSetup()
                change(&setup.limits)
                // Some hosts are strict in all three at a time; one limit has to do.
                guard let failure = try workshop.decode(coder, bytes, setup).failure else { continue }
                if failure.status != CPI_LIMIT {
                    throw .fault(
                        "\(coder.id), with \(name) below the picture's: \(failure.text)", .limit,
                        try: "answer CPI_LIMIT")
                }
                // The size of a tile that is above the limit is not that of the image.
                let isNamed = failure.limitID == id && failure.requested == actual
                if failure.requested <= failure.allowed || !isNamed && info.region_cost != CPI_REGION_TILES {
                    throw .fault(
                        "\(coder.id), with \(name) below the picture's: limit_id is \(failure.limitID), limit_requested "
                            + "\(failure.requested), limit_allowed \(failure.allowed)", .limit,
                        try: "fill limit_id, limit_allowed and limit_requested")
                }
            }
        }
    }

    static let frames = Check(
        "limits.frames",
        "an animation of more frames than allowed is refused with the right numbers, or left to the host",
        needs: needs
    ) { workshop throws(Stop) in
        var judged = 0
        try workshop.eachPicture([.animation, .given, .small]) { coder, bytes throws(Stop) in
            let count = try workshop.decode(coder, bytes).frames.count
            if count < 2 { return }
            judged += 1
            for (allowed, isEnough) in [(count, true), (count - 1, false)] {
                var setup = DecodeSetup()
                setup.limits.max_frames = UInt32(allowed)
                let place = "\(coder.id), with \(count) frames and max_frames \(allowed)"
                let outcome = try workshop.decode(coder, bytes, setup)
                guard let failure = outcome.failure else {
                    if outcome.frames.count == count { continue }
                    throw .fault(
                        "\(place): CPI_END after \(outcome.frames.count)", .limit,
                        try: "answer CPI_LIMIT; a part is not to be taken for the whole")
                }
                try judge(
                    failure, place, isEnough ? nil : CPI_LIMIT_FRAMES, allowed: UInt64(allowed),
                    requested: UInt64(count)...UInt64(count))
            }
        }
        if judged == 0 { throw .skip("there is no picture of several frames") }
    }

    static let metadata = Check(
        "limits.metadata", "metadata longer than allowed is left out or refused, and no other", needs: needs
    ) { workshop throws(Stop) in
        var judged = 0
        try workshop.eachPicture { coder, bytes throws(Stop) in
            for file in [bytes] + (try filesWithMetadata(workshop, coder)) {
                var setup = DecodeSetup()
                setup.isThorough = true
                let blobs = try workshop.decode(coder, file, setup).blobs
                guard let longest = blobs.map(\.bytes.count).max(), longest > 1 else { continue }
                judged += 1
                // How it is stored may take more than what is handed out, so what is just enough is not asked for.
                for (allowed, isEnough) in [(2 * longest + 1024, true), (longest - 1, false)] {
                    setup.limits.max_metadata_bytes = UInt64(allowed)
                    let place = "\(coder.id), with a blob of \(longest) bytes and max_metadata_bytes \(allowed)"
                    let outcome = try workshop.decode(coder, file, setup)
                    if let failure = outcome.failure {
                        try judge(
                            failure, place, isEnough ? nil : CPI_LIMIT_METADATA_BYTES, allowed: UInt64(allowed),
                            requested: UInt64(longest)...UInt64.max)
                    } else if isEnough, outcome.blobs != blobs {
                        throw .fault(
                            "\(place): \(outcome.blobs.count) of \(blobs.count) blobs are there", .metadataLimit,
                            try: "leave out only what is longer than max_metadata_bytes")
                    } else if let blob = outcome.blobs.first(where: { $0.bytes.count > allowed }) {
                        throw .fault(
                            "\(place): it hands out \(blob.bytes.count) bytes", .metadataLimit,
                            try: "leave the blob out and say so by log, or answer CPI_LIMIT")
                    }
                }
            }
        }
        if judged == 0 { throw .skip("there is no picture with metadata; name one with --sample FILE") }
    }

    /// What a coder writes when it is given metadata that its manifest promises to carry.
    private static func filesWithMetadata(_ workshop: Workshop, _ coder: Subject.Coder) throws(Stop) -> [[UInt8]] {
        guard coder.encoder != nil, let carries = workshop.manifest(of: coder.id)?.carries else { return [] }
        var result: [[UInt8]] = []
        for blob in Specimen.blobs where carries.contains(Specimen.name(blob.kind)) {
            var setup = EncodeSetup()
            setup.options = workshop.quickOptions(coder.id)
            setup.blobs = [blob]
            let file = try workshop.encode(coder, workshop.pictures(coder, width: 16, height: 12), setup)
            // Whether it keeps its promise is for roundtrip.metadata to tell.
            if file.failure == nil { result.append(file.bytes) }
        }
        return result
    }

    /// Holds a refusal against the limit that was set; `id` is nil where nothing is to be refused.
    private static func judge(
        _ failure: Answer, _ place: String, _ id: UInt32?, allowed: UInt64, requested: ClosedRange<UInt64>
    ) throws(Stop) {
        guard let id else {
            throw .fault("\(place): \(failure.text)", .limit, try: "a limit allows what is equal to it")
        }
        if failure.status != CPI_LIMIT {
            throw .fault("\(place): \(failure.text)", .limit, try: "answer CPI_LIMIT")
        }
        if failure.limitID != id || failure.allowed != allowed || !requested.contains(failure.requested) {
            throw .fault(
                "\(place): limit_id is \(failure.limitID), limit_requested \(failure.requested), limit_allowed "
                    + "\(failure.allowed)", .limit, try: "fill limit_id, limit_allowed and limit_requested")
        }
    }

    static let memory = Check(
        "limits.memory", "half the memory that it needs is not enough, and it says so", needs: needs
    ) { workshop throws(Stop) in
        var judged = 0
        try workshop.eachPicture([.large, .small, .given]) { coder, bytes throws(Stop) in
            let meter = try workshop.decode(coder, bytes).meter
            let peak = meter.peakBytes + meter.peakBudget
            if peak < 4096 { return }
            judged += 1
            var setup = DecodeSetup()
            setup.limits.max_total_alloc = UInt64(peak / 4)
            setup.limits.max_alloc = UInt64(peak / 4)
            let outcome = try workshop.decode(coder, bytes, setup)
            guard let failure = outcome.failure else {
                if outcome.meter.peakBytes + outcome.meter.peakBudget <= peak / 4 { return }
                throw .fault("\(coder.id) took more memory than max_total_alloc", .ownLimits, try: "answer CPI_LIMIT")
            }
            if failure.status != CPI_LIMIT, failure.status != CPI_NO_MEMORY {
                throw .fault(
                    "\(coder.id), with too little memory: \(failure.text)", .ownLimits,
                    try: "answer CPI_LIMIT or CPI_NO_MEMORY")
            }
        }
        if judged == 0 { throw .skip("it takes less than 4 KiB") }
    }

    static let deadline = Check(
        "limits.deadline", "a session whose time is up ends with CPI_DEADLINE", needs: needs + ["cancel.decode"]
    ) { workshop throws(Stop) in
        var polls = 0
        try workshop.eachPicture([.large, .small, .given]) { coder, bytes throws(Stop) in
            var setup = DecodeSetup()
            setup.policy.stopsAtPoll = 0
            setup.policy.stop = CPI_DEADLINE
            let outcome = try workshop.decode(coder, bytes, setup)
            polls += outcome.meter.polls
            if outcome.meter.polls > 0, outcome.failure?.status != CPI_DEADLINE {
                throw .fault(
                    "\(coder.id), when poll answered CPI_DEADLINE: "
                        + (outcome.failure?.text ?? "it went on to the end"), .poll,
                    try: "answer what poll answered")
            }
        }
        if polls == 0 { throw .skip("it decodes the picture without asking") }
    }

    static let output = Check(
        "limits.output", "an encoder stops when its output may not grow", needs: ["lifecycle.encode"]
    ) { workshop throws(Stop) in
        try workshop.eachEncoder { coder throws(Stop) in
            var setup = EncodeSetup()
            setup.options = workshop.quickOptions(coder.id)
            let pictures = workshop.pictures(coder, width: 33, height: 21, hasAlpha: true)
            let count = try workshop.encode(coder, pictures, setup).bytes.count
            for refusal in [CPI_LIMIT, CPI_IO] {
                for room in [0, count / 2, count - 1] {
                    setup.room = room
                    setup.refusal = refusal
                    let failure = try workshop.encode(coder, pictures, setup).failure
                    if failure?.status != refusal {
                        throw .fault(
                            "\(coder.id), when write answered \(statusName(refusal)) after \(room) of \(count) bytes: "
                                + (failure?.text ?? "it went on to the end"), .write,
                            try: "look at what write answers, and answer the same")
                    }
                }
            }
        }
    }
}
