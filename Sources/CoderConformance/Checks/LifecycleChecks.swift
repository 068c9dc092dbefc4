import CCoderPlugin

enum LifecycleChecks {
    static let first = [load, encode, decode]

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
                throw .fault("\(coder.id) answers CPI_END before the first frame", .nextFrame, try: "a still has frame 0")
            }
        }
    }
}
