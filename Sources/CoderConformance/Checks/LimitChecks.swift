import CCoderPlugin
import CoderHost

/// Limits on the resources of a session.
enum LimitChecks {
    static let all = [size, frames, metadata, memory, deadline, output]
    private static let needs = ["lifecycle.decode"]

    static let size = Check(
        "limits.size", "an image above a limit is rejected with the right numbers, or left to the host", needs: needs
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            guard let info = try context.decode(coder, bytes).info, info.width > 1, info.height > 1 else { return }
            let pixels = UInt64(info.width) * UInt64(info.height)
            let cases: [(String, UInt32, UInt64, (inout cpi_limits) -> Void)] = [
                ("max_width", CPI_LIMIT_WIDTH, UInt64(info.width), { $0.max_width = info.width - 1 }),
                ("max_height", CPI_LIMIT_HEIGHT, UInt64(info.height), { $0.max_height = info.height - 1 }),
                ("max_pixels", CPI_LIMIT_PIXELS, pixels, { $0.max_pixels = pixels - 1 }),
            ]
            for (name, id, actual, change) in cases {
                var setup = DecodeSetup()
                change(&setup.limits)
                // A coder must enforce each limit even if the others are not set.
                guard let failure = try context.decode(coder, bytes, setup).failure else { continue }
                if failure.status != CPI_LIMIT {
                    throw .fault(
                        "\(coder.id), with \(name) below the image's: \(failure.text)", .limit,
                        try: "answer CPI_LIMIT")
                }
                // The reported size may be that of a tile, which also exceeds the limit.
                let isNamed = failure.limitID == id && failure.requested == actual
                if failure.requested <= failure.allowed || !isNamed && info.region_cost != CPI_REGION_TILES {
                    throw .fault(
                        "\(coder.id), with \(name) below the image's: limit_id is \(failure.limitID), limit_requested "
                            + "\(failure.requested), limit_allowed \(failure.allowed)", .limit,
                        try: "fill limit_id, limit_allowed and limit_requested")
                }
            }
        }
    }

    static let frames = Check(
        "limits.frames",
        "an animation of more frames than allowed is rejected with the right numbers, or left to the host",
        needs: needs
    ) { context throws(Stop) in
        var judged = 0
        try context.eachImage([.animation, .given, .small]) { coder, bytes throws(Stop) in
            let count = try context.decode(coder, bytes).frames.count
            if count < 2 { return }
            judged += 1
            for (allowed, isEnough) in [(count, true), (count - 1, false)] {
                var setup = DecodeSetup()
                setup.limits.max_frames = UInt32(allowed)
                let place = "\(coder.id), with \(count) frames and max_frames \(allowed)"
                let outcome = try context.decode(coder, bytes, setup)
                guard let failure = outcome.failure else {
                    if outcome.frames.count == count { continue }
                    throw .fault(
                        "\(place): CPI_END after \(outcome.frames.count)", .limit,
                        try: "answer CPI_LIMIT; do not pass a part off as the whole")
                }
                try judge(
                    failure, place, isEnough ? nil : CPI_LIMIT_FRAMES, allowed: UInt64(allowed),
                    requested: UInt64(count)...UInt64(count))
            }
        }
        if judged == 0 { throw .skip("there is no image of several frames") }
    }

    static let metadata = Check(
        "limits.metadata", "only metadata longer than allowed is left out or rejected", needs: needs
    ) { context throws(Stop) in
        var judged = 0
        try context.eachImage { coder, bytes throws(Stop) in
            for file in [bytes] + (try filesWithMetadata(context, coder)) {
                var setup = DecodeSetup()
                setup.isThorough = true
                let blobs = try context.decode(coder, file, setup).blobs
                guard let longest = blobs.map(\.bytes.count).max(), longest > 1 else { continue }
                judged += 1
                // The stored form may be longer than the delivered form, so the exact limit is not tested.
                for (allowed, isEnough) in [(2 * longest + 1024, true), (longest - 1, false)] {
                    setup.limits.max_metadata_bytes = UInt64(allowed)
                    let place = "\(coder.id), with a blob of \(longest) bytes and max_metadata_bytes \(allowed)"
                    let outcome = try context.decode(coder, file, setup)
                    if let failure = outcome.failure {
                        try judge(
                            failure, place, isEnough ? nil : CPI_LIMIT_METADATA_BYTES, allowed: UInt64(allowed),
                            requested: UInt64(longest)...UInt64.max)
                    } else if isEnough, outcome.blobs != blobs {
                        throw .fault(
                            "\(place): \(outcome.blobs.count) of \(blobs.count) blobs are there", .metadataLimit,
                            try: "leave out only metadata longer than max_metadata_bytes")
                    } else if let blob = outcome.blobs.first(where: { $0.bytes.count > allowed }) {
                        throw .fault(
                            "\(place): it delivers \(blob.bytes.count) bytes", .metadataLimit,
                            try: "leave the blob out with a log message, or answer CPI_LIMIT")
                    }
                }
            }
        }
        if judged == 0 { throw .skip("there is no image with metadata; name one with --sample FILE") }
    }

    /// Returns files with the metadata that a coder's manifest declares.
    private static func filesWithMetadata(_ context: CheckContext, _ coder: Subject.Coder) throws(Stop) -> [[UInt8]] {
        guard coder.encoder != nil, let carries = context.manifest(of: coder.id)?.carries else { return [] }
        var result: [[UInt8]] = []
        for blob in SampleMetadata.blobs where carries.contains(SampleMetadata.name(blob.kind)) {
            var setup = EncodeSetup()
            setup.options = context.quickOptions(coder.id)
            setup.metadata.blobs = [blob]
            let file = try context.encode(coder, context.images(coder, width: 16, height: 12), setup)
            // roundtrip.metadata checks whether the metadata is there.
            if file.failure == nil { result.append(file.bytes) }
        }
        return result
    }

    /// Compares a rejection with the limit that was set; `id` is nil if the image must be accepted.
    private static func judge(
        _ failure: Answer, _ place: String, _ id: UInt32?, allowed: UInt64, requested: ClosedRange<UInt64>
    ) throws(Stop) {
        guard let id else {
            throw .fault("\(place): \(failure.text)", .limit, try: "accept values equal to the limit")
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
        "limits.memory", "with half of the required memory it answers CPI_LIMIT", needs: needs
    ) { context throws(Stop) in
        var judged = 0
        try context.eachImage([.large, .small, .given]) { coder, bytes throws(Stop) in
            let meter = try context.decode(coder, bytes).meter
            let peak = meter.memory.peak + meter.reports.peak
            if peak < 4096 { return }
            judged += 1
            var setup = DecodeSetup()
            setup.limits.max_total_alloc = UInt64(peak / 4)
            setup.limits.max_alloc = UInt64(peak / 4)
            let outcome = try context.decode(coder, bytes, setup)
            guard let failure = outcome.failure else {
                if outcome.meter.memory.peak + outcome.meter.reports.peak <= peak / 4 { return }
                throw .fault("\(coder.id) used more memory than max_total_alloc", .ownLimits, try: "answer CPI_LIMIT")
            }
            if failure.status != CPI_LIMIT, failure.status != CPI_NO_MEMORY {
                throw .fault(
                    "\(coder.id), with too little memory: \(failure.text)", .ownLimits,
                    try: "answer CPI_LIMIT or CPI_NO_MEMORY")
            }
        }
        if judged == 0 { throw .skip("it allocates less than 4 KiB") }
    }

    static let deadline = Check(
        "limits.deadline", "a session after its deadline ends with CPI_DEADLINE", needs: needs + ["cancel.decode"]
    ) { context throws(Stop) in
        var polls = 0
        try context.eachImage([.large, .small, .given]) { coder, bytes throws(Stop) in
            var setup = DecodeSetup()
            setup.policy.stopsAtPoll = 0
            setup.policy.stop = CPI_DEADLINE
            let outcome = try context.decode(coder, bytes, setup)
            polls += outcome.meter.polls.calls
            if outcome.meter.polls.calls > 0, outcome.failure?.status != CPI_DEADLINE {
                throw .fault(
                    "\(coder.id), when poll answered CPI_DEADLINE: "
                        + (outcome.failure?.text ?? "it continued to the end"), .poll,
                    try: "return the result of poll")
            }
        }
        if polls == 0 { throw .skip("it decodes the image without polling") }
    }

    static let output = Check(
        "limits.output", "an encoder stops when its output reaches the limit", needs: ["lifecycle.encode"]
    ) { context throws(Stop) in
        try context.eachEncoder { coder throws(Stop) in
            var setup = EncodeSetup()
            setup.options = context.quickOptions(coder.id)
            let images = context.images(coder, width: 33, height: 21, hasAlpha: true)
            let count = try context.encode(coder, images, setup).bytes.count
            for refusal in [CPI_LIMIT, CPI_IO] {
                for room in [0, count / 2, count - 1] {
                    setup.output.room = room
                    setup.output.refusal = refusal
                    let failure = try context.encode(coder, images, setup).failure
                    if failure?.status != refusal {
                        throw .fault(
                            "\(coder.id), when write answered \(statusName(refusal)) after \(room) of \(count) bytes: "
                                + (failure?.text ?? "it continued to the end"), .write,
                            try: "check the result of write and return it")
                    }
                }
            }
        }
    }
}
