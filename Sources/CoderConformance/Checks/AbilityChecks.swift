import CCoderPlugin
import CoderHost
import Synchronization

/// Optional abilities: rows of encoders, threads of the host, rewriting and transcoding.
enum AbilityChecks {
    static let all = [rows, parallel, rewrite, metadata, damage, transcode]
    private static let needs = ["lifecycle.decode", "determinism.decode", "frames.facts"]

    static let rows = Check(
        "abilities.rows", "rows that come in bands give the file that the whole picture gives",
        needs: ["lifecycle.encode", "determinism.encode"]
    ) { workshop throws(Stop) in
        var judged = 0
        try workshop.eachEncoder { coder throws(Stop) in
            guard coder.encodesStills else { return }
            for (width, height, hasAlpha) in [(37, 53, false), (64, 50, true), (5, 1, false)] {
                let pictures = workshop.pictures(coder, width: width, height: height, hasAlpha: hasAlpha)
                var setup = EncodeSetup()
                setup.options = workshop.quickOptions(coder.id)
                let whole = try workshop.encode(coder, pictures, setup)
                if whole.failure != nil { continue }
                for bands in [1, 2, 1000] {
                    setup.bands = bands
                    let banded = try workshop.encode(coder, pictures, setup)
                    if banded.failure == nil, !banded.usedBands { continue }
                    judged += 1
                    if banded.failure != nil || banded.bytes != whole.bytes {
                        throw .fault(
                            "\(coder.id), a picture of \(width) x \(height) in bands of \(bands) times the rows it asks for: "
                                + (banded.failure?.text ?? "the file has other bytes than with add_frame"),
                            .rows, try: "encode both ways with the same code")
                    }
                }
            }
        }
        if judged == 0 { throw .skip("no encoder takes rows in bands") }
    }

    static let parallel = Check(
        "abilities.parallel", "with any number of the host's threads, pixels and files are the same",
        needs: ["determinism.threads"], needsOwnProcess: true,
        crash: Fault(
            what: "tasks ran on the host's threads", rule: .parallel,
            remedy: "give each task memory of its own, or that of its thread number")
    ) { workshop throws(Stop) in
        let plugin = try Subject(
            path: workshop.path, manifest: workshop.manifest, board: workshop.board,
            facts: Subject.HostFacts(lendsThreads: true))
        try plugin.initialise()
        let other = Workshop(
            path: workshop.path, manifest: workshop.manifest, effort: workshop.effort, samples: workshop.samples,
            board: workshop.board, isConfined: workshop.isConfined, loaded: plugin)
        let counts: [UInt32] = [1, 2, 3, 8]
        func judge(_ coder: Subject.Coder, _ threads: UInt32, _ what: String?) throws(Stop) {
            if HostThreads.strayCalls.load(ordering: .relaxed) > 0 {
                throw .fault(
                    "\(coder.id), with \(threads) threads of the host: a task calls the source or the sink",
                    .sessionThread, try: "read before the tasks start, and write after they have ended")
            }
            guard let what else { return }
            throw .fault(
                "\(coder.id), with \(threads) threads of the host instead of 1: \(what)", .parallel,
                try: "let a task depend on its index alone, never on the thread or the order")
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try other.eachPicture([.large, .small, .given]) { coder, bytes throws(Stop) in
                let all = try counts.map { count throws(Stop) in
                    var setup = DecodeSetup()
                    setup.policy.threads = count
                    return try other.decode(coder, bytes, setup)
                }
                for (count, outcome) in zip(counts, all) {
                    try judge(coder, count, outcome.failure?.text ?? Difference.first(all[0].pixels, outcome.pixels))
                }
            }
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try other.eachEncoder { coder throws(Stop) in
                let pictures = other.pictures(coder, width: 200, height: 256)
                let all = try counts.map { count throws(Stop) in
                    var setup = EncodeSetup()
                    setup.options = other.quickOptions(coder.id)
                    setup.policy.threads = count
                    return try other.encode(coder, pictures, setup)
                }
                for (count, outcome) in zip(counts, all) {
                    try judge(
                        coder, count,
                        outcome.failure?.text ?? (outcome.bytes == all[0].bytes ? nil : "it encodes to other bytes"))
                }
            }
        }
        if HostThreads.uses.load(ordering: .relaxed) == 0 { throw .skip("it does not use the host's threads") }
    }

    // MARK: Rewriting

    static let rewrite = Check(
        "abilities.rewrite", "a rewritten file has the same pixels", needs: needs
    ) { workshop throws(Stop) in
        try eachFile(workshop) { coder, file, before throws(Stop) in
            let kinds = Array(CPI_BLOB_EXIF...CPI_BLOB_RAW)
            let changes: [(String, FileChange)] = [
                ("without a change", FileChange()), ("without metadata", FileChange(removed: kinds)),
                ("optimized", FileChange(flags: CPI_REWRITE_OPTIMIZE)),
            ]
            for (name, change) in changes {
                guard let result = try rewritten(workshop, coder, file, change, name) else { continue }
                guard let info = before.info else { return }
                let kept = result.kept
                if kept.x != 0 || kept.y != 0 || kept.width != info.width || kept.height != info.height {
                    throw .fault(
                        "\(coder.id), \(name): kept is \(kept.width) x \(kept.height) at \(kept.x), \(kept.y) of "
                            + "\(info.width) x \(info.height)", .rewritePixels, try: "report the whole image as kept")
                }
                let after = try workshop.decode(coder, result.bytes)
                if let place = after.failure?.text ?? Difference.first(colors(before), colors(after)) {
                    throw .fault(
                        "\(coder.id), \(name): the output decodes to other pixels (\(place))", .rewritePixels,
                        try: "copy what the pixels are made of")
                }
                try judgeItems(workshop, coder, (file, result), name)
                let again = try rewritten(workshop, coder, file, change, name)
                if again?.bytes != result.bytes {
                    throw .fault(
                        "\(coder.id), \(name): a second rewrite gives other bytes", .deterministic,
                        try: "look for memory that is not set")
                }
            }
        }
    }

    /// Compares the items with those of the source, and the flag with what is missing.
    private static func judgeItems(
        _ workshop: Workshop, _ coder: Subject.Coder, _ files: (before: [UInt8], after: FileOutcome), _ name: String
    ) throws(Stop) {
        guard coder.decodes, coder.listsItems else { return }
        let before = try ItemChecks.pixels(workshop, coder, files.before)
        let after = try ItemChecks.pixels(workshop, coder, files.after.bytes)
        if before.count > 1, (after.count < before.count) != files.after.droppedItems {
            throw .fault(
                "\(coder.id), \(name): the file has \(before.count) items, the output \(after.count)", .rewriteItems,
                try: files.after.droppedItems ? "clear CPI_REWRITE_DROPPED_ITEMS" : "set CPI_REWRITE_DROPPED_ITEMS")
        }
        if files.after.droppedItems { return }
        for (index, pair) in zip(before, after).enumerated() {
            guard let place = Difference.first([pair.0], [pair.1]) else { continue }
            throw .fault(
                "\(coder.id), \(name): item \(index) decodes to other pixels (\(place))", .rewritePixels,
                try: "copy the other items as they are")
        }
    }

    static let metadata = Check(
        "abilities.metadata", "a rewrite leaves out, replaces and keeps the metadata that it is asked to",
        needs: needs + ["abilities.rewrite"]
    ) { workshop throws(Stop) in
        try eachFile(workshop) { coder, file, before throws(Stop) in
            var (file, blobs) = (file, before.blobs)
            // A decoder need not hand out the other kinds.
            let shown = workshop.manifest(of: coder.id)?.carries ?? []
            func judge(_ name: String, _ found: [Blob], _ kind: UInt32?, _ added: Blob?) throws(Stop) {
                if let kind, let left = found.first(where: { $0.kind == kind && $0.bytes != added?.bytes }), added == nil {
                    throw .fault(
                        "\(coder.id), \(name): \(left.bytes.count) bytes of \(Specimen.name(kind)) are still there",
                        .rewriteRemove, try: "leave out every blob of the kinds in `remove`")
                }
                if let added, shown.contains(Specimen.name(added.kind)),
                    !found.contains(where: { $0.kind == added.kind && $0.bytes == added.bytes })
                {
                    throw .fault(
                        "\(coder.id), \(name): the new \(Specimen.name(added.kind)) is not in the output", .rewriteAnswer,
                        try: "answer CPI_REFUSED for metadata that the format cannot hold")
                }
                for blob in blobs where blob.kind != kind && !found.contains(blob) {
                    throw .fault(
                        "\(coder.id), \(name): \(Specimen.name(blob.kind)) is lost or changed", .rewriteMetadata,
                        try: "copy metadata that the request does not name")
                }
            }
            for blob in Specimen.blobs {
                let name = "with new \(Specimen.name(blob.kind))"
                guard let result = try rewritten(workshop, coder, file, FileChange(blob: blob), name) else { continue }
                let found = try metadata(workshop, coder, result.bytes, name)
                try judge(name, found, blob.kind, blob)
                (file, blobs) = (result.bytes, found)
            }
            for (name, flags) in [("without a change", 0), ("optimized", CPI_REWRITE_OPTIMIZE)] {
                guard let result = try rewritten(workshop, coder, file, FileChange(flags: flags), name) else { continue }
                try judge(name, try metadata(workshop, coder, result.bytes, name), nil, nil)
            }
            for kind in Set(blobs.map(\.kind)).sorted() {
                let name = "without \(Specimen.name(kind))"
                let change = FileChange(removed: [kind])
                guard let result = try rewritten(workshop, coder, file, change, name) else { continue }
                try judge(name, try metadata(workshop, coder, result.bytes, name), kind, nil)
            }
        }
    }

    static let damage = Check(
        "abilities.damage", "a rewrite of cut or damaged data ends with an error, or keeps what can be decoded",
        needs: needs + ["input.truncated", "input.damaged", "abilities.rewrite"],
        crash: Fault(
            what: "the rewritten file was cut or damaged", rule: .corrupt,
            remedy: "hold every length against what is there before it is used")
    ) { workshop throws(Stop) in
        try eachFile(workshop) { coder, file, before throws(Stop) in
            let kinds = Array(CPI_BLOB_EXIF...CPI_BLOB_RAW)
            let changes = [
                FileChange(), FileChange(removed: kinds), FileChange(flags: CPI_REWRITE_OPTIMIZE, removed: kinds),
            ]
            let size = before.info.map { Int($0.width) * Int($0.height) } ?? 0
            // Large images get fewer tries: each decodes the image six times.
            let most = max(12, workshop.effort.pick(1 << 22, 1 << 27) / max(1, size))
            let cuts = min(most, workshop.effort.pick(24, 400))
            var bad = (0..<cuts).map { Array(file.prefix(file.count * $0 / cuts)) }
            var state: UInt64 = 0x9E37_79B9_7F4A_7C15
            func random(_ count: Int) -> Int {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(state >> 33) % max(1, count)
            }
            for _ in 0..<min(most, workshop.effort.pick(150, 3000)) {
                var bytes = file
                for _ in 0...random(3) { bytes[random(bytes.count)] = UInt8(random(256)) }
                bad.append(bytes)
            }
            for (index, bytes) in bad.enumerated() {
                for change in changes {
                    guard let result = try workshop.subject().rewrite(coder, bytes, change) else { return }
                    try judgeStatus(coder, result.answer)
                    guard result.answer.status == CPI_OK else { continue }
                    let name = index < cuts ? "a cut file" : "a damaged file"
                    // A damaged header may announce a size that only costs time.
                    try judge(workshop, coder, bytes, result.bytes, name, pixels: UInt64(max(1 << 16, 2 * size)))
                }
            }
        }
    }

    /// Compares what a damaged file and its rewrite decode to.
    private static func judge(
        _ workshop: Workshop, _ coder: Subject.Coder, _ bytes: [UInt8], _ result: [UInt8], _ name: String,
        pixels: UInt64
    ) throws(Stop) {
        var setup = DecodeSetup()
        setup.limits.max_pixels = min(pixels, setup.limits.max_pixels)
        let before = try workshop.decode(coder, bytes, setup)
        let after = try workshop.decode(coder, result, setup)
        if before.failure == nil {
            if let place = after.failure?.text ?? Difference.first(colors(before), colors(after)) {
                throw .fault(
                    "\(coder.id), \(name): the output decodes to other pixels (\(place))", .rewritePixels,
                    try: "answer an error, or copy what the pixels are made of")
            }
        } else if before.failure?.call == "decode", after.failure == nil {
            throw .fault(
                "\(coder.id), \(name) that does not decode became one that does: \(before.failure?.text ?? "")",
                .truncated, try: "answer CPI_TRUNCATED or CPI_CORRUPT, or copy the damage")
        }
    }

    // MARK: Transcoding

    static let transcode = Check(
        "abilities.transcode", "a stream that was packed comes back byte for byte", needs: ["lifecycle.load"]
    ) { workshop throws(Stop) in
        let subject = try workshop.subject()
        var judged = 0
        for coder in subject.coders where coder.transcodes {
            workshop.board.coder = coder.id
            let own = workshop.samples.filter { $0.coder == coder.id }.map(\.bytes)
            for format in workshop.manifest(of: coder.id)?.transcodes.map(\.id) ?? [] {
                for stream in Specimen.streams.filter({ $0.format == format }).map(\.bytes) {
                    try judgePacking(subject, coder, stream, format)
                    judged += 1
                }
                for bytes in own { try judgeUnpacking(subject, coder, bytes, format) }
            }
        }
        if judged == 0 { throw .skip("no coder packs a stream that the kit has") }
    }

    private static func judgePacking(
        _ subject: Subject, _ coder: Subject.Coder, _ stream: [UInt8], _ format: String
    ) throws(Stop) {
        guard let packed = subject.transcode(coder, stream, CPI_TRANSCODE_PACK, format) else {
            throw .fault(
                "\(coder.id) has CPI_CODER_TRANSCODE and no table for it", .roles,
                try: "answer the table from cpi_plugin.get")
        }
        try judgeStatus(coder, packed.answer)
        guard packed.answer.status == CPI_OK else { return }
        let back = subject.transcode(coder, packed.bytes, CPI_TRANSCODE_UNPACK, format)
        if back?.answer.status != CPI_OK || back?.bytes != stream {
            throw .fault(
                "\(coder.id) packs \(stream.count) bytes of \(format) and gives back "
                    + (back?.answer.status == CPI_OK
                        ? "\(back?.bytes.count ?? 0) other bytes" : back?.answer.text ?? "nothing"),
                .transcode, try: "compare the streams before packing ends, and refuse what differs")
        }
    }

    private static func judgeUnpacking(
        _ subject: Subject, _ coder: Subject.Coder, _ bytes: [UInt8], _ format: String
    ) throws(Stop) {
        guard let back = subject.transcode(coder, bytes, CPI_TRANSCODE_UNPACK, format) else { return }
        try judgeStatus(coder, back.answer)
        if back.answer.status == CPI_OK {
            throw .fault(
                "\(coder.id) gives \(back.bytes.count) bytes of \(format) from a file that it did not pack",
                .transcodeAnswer, try: "answer CPI_REFUSED")
        }
    }

    // MARK: Files

    private static func judgeStatus(_ coder: Subject.Coder, _ answer: Answer) throws(Stop) {
        if answer.status == CPI_OK || answer.status == CPI_REFUSED || answer.status >= CPI_TRUNCATED && answer.isFailure {
            return
        }
        throw .fault("\(coder.id): \(answer.text)", .rewriteAnswer, try: "answer CPI_OK, CPI_REFUSED or an error")
    }

    /// Rewrites a sound file; nil where that is refused.
    private static func rewritten(
        _ workshop: Workshop, _ coder: Subject.Coder, _ file: [UInt8], _ change: FileChange, _ name: String
    ) throws(Stop) -> FileOutcome? {
        guard let result = try workshop.subject().rewrite(coder, file, change) else {
            throw .fault(
                "\(coder.id) has CPI_CODER_REWRITE and no table for it", .roles,
                try: "answer the table from cpi_plugin.get")
        }
        if result.answer.status == CPI_REFUSED { return nil }
        if result.answer.status != CPI_OK {
            throw .fault("\(coder.id), \(name): \(result.answer.text)", .rewriteAnswer, try: "see what it refuses")
        }
        if let odd = result.odd {
            throw .fault("\(coder.id), \(name): \(odd)", .newValues, try: "use values of the header, and zero elsewhere")
        }
        return result
    }

    private static func metadata(
        _ workshop: Workshop, _ coder: Subject.Coder, _ file: [UInt8], _ name: String
    ) throws(Stop) -> [Blob] {
        var setup = DecodeSetup()
        setup.isThorough = true
        let outcome = try workshop.decode(coder, file, setup)
        if let failure = outcome.failure {
            throw .fault(
                "\(coder.id), \(name): the output does not decode: \(failure.text)", .rewritePixels,
                try: "try the file in another program")
        }
        return outcome.blobs
    }

    /// Frames as 8-bit RGBA: an optimized file may have fewer channels.
    private static func colors(_ outcome: DecodeOutcome) -> [[UInt8]] {
        outcome.frames.map { RGBA.of($0.pixels, $0.format) }
    }

    /// Makes something with sound files of every coder that rewrites: pictures, and one with metadata where it encodes.
    private static func eachFile(
        _ workshop: Workshop, _ body: (Subject.Coder, [UInt8], DecodeOutcome) throws(Stop) -> Void
    ) throws(Stop) {
        try workshop.eachPicture([.small, .animation, .given], where: \.rewrites, otherwise: "no coder rewrites") {
            coder, bytes throws(Stop) in
            var files = [bytes]
            if coder.encoder != nil {
                var setup = EncodeSetup()
                setup.options = workshop.quickOptions(coder.id)
                setup.blobs = Specimen.blobs
                let rich = try workshop.encode(coder, workshop.pictures(coder, width: 20, height: 12), setup)
                if rich.failure == nil { files.append(rich.bytes) }
            }
            for file in files {
                var setup = DecodeSetup()
                setup.isThorough = true
                let before = try workshop.decode(coder, file, setup)
                if before.failure == nil { try body(coder, file, before) }
            }
        }
    }
}
