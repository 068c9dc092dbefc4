import CCoderPlugin
import CoderHost
import Synchronization

/// Optional abilities: rows of encoders, threads of the host, rewriting and transcoding.
enum AbilityChecks {
    static let all = [rows, EncodeItemsCheck.items, parallel, rewrite, metadata, damage, transcode]
    private static let needs = ["lifecycle.decode", "determinism.decode", "frames.facts"]

    static let rows = Check(
        "abilities.rows", "rows in bands give the same file as the whole image",
        needs: ["lifecycle.encode", "determinism.encode"]
    ) { context throws(Stop) in
        var judged = 0
        try context.eachEncoder { coder throws(Stop) in
            guard coder.encodesStills else { return }
            for (width, height, hasAlpha) in [(37, 53, false), (64, 50, true), (5, 1, false)] {
                let images = context.images(coder, width: width, height: height, hasAlpha: hasAlpha)
                var setup = EncodeSetup()
                setup.options = context.quickOptions(coder.id)
                let whole = try context.encode(coder, images, setup)
                if whole.failure != nil { continue }
                for bands in [1, 2, 1000] {
                    setup.bands = bands
                    let banded = try context.encode(coder, images, setup)
                    if banded.failure == nil, !banded.usedBands { continue }
                    judged += 1
                    if banded.failure != nil || banded.bytes != whole.bytes {
                        throw .fault(
                            "\(coder.id), an image of \(width) x \(height) in bands of \(bands) times the rows it asks for: "
                                + (banded.failure?.text ?? "the file has other bytes than with add_frame"),
                            .rows, try: "encode both ways with the same code")
                    }
                }
            }
        }
        if judged == 0 { throw .skip("no encoder accepts rows in bands") }
    }

    static let parallel = Check(
        "abilities.parallel", "with any number of the host's threads, pixels and files are the same",
        needs: ["determinism.threads"], needsOwnProcess: true,
        crash: Fault(
            what: "tasks ran on the host's threads", rule: .parallel,
            remedy: "give each task memory of its own, or that of its thread number")
    ) { context throws(Stop) in
        let plugin = try Subject(
            path: context.path, manifest: context.manifest, board: context.board,
            facts: Subject.HostFacts(lendsThreads: true))
        try plugin.initialize()
        let other = CheckContext(
            path: context.path, manifest: context.manifest, effort: context.effort, samples: context.samples,
            board: context.board, isConfined: context.isConfined, loaded: plugin)
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
            try other.eachImage([.large, .small, .given]) { coder, bytes throws(Stop) in
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
                let images = other.images(coder, width: 200, height: 256)
                let all = try counts.map { count throws(Stop) in
                    var setup = EncodeSetup()
                    setup.options = other.quickOptions(coder.id)
                    setup.policy.threads = count
                    return try other.encode(coder, images, setup)
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
    ) { context throws(Stop) in
        try eachFile(context) { coder, file, before throws(Stop) in
            let kinds = Array(CPI_BLOB_EXIF...CPI_BLOB_RAW)
            let changes: [(String, FileChange)] = [
                ("without a change", FileChange()), ("without metadata", FileChange(removed: kinds)),
                ("optimized", FileChange(flags: CPI_REWRITE_OPTIMIZE)),
            ]
            for (name, change) in changes {
                guard let result = try rewritten(context, coder, file, change, name) else { continue }
                guard let info = before.info else { return }
                let kept = result.kept
                if kept.x != 0 || kept.y != 0 || kept.width != info.width || kept.height != info.height {
                    throw .fault(
                        "\(coder.id), \(name): kept is \(kept.width) x \(kept.height) at \(kept.x), \(kept.y) of "
                            + "\(info.width) x \(info.height)", .rewritePixels, try: "report the whole image as kept")
                }
                let after = try context.decode(coder, result.bytes)
                if let place = after.failure?.text ?? Difference.first(colors(before), colors(after)) {
                    throw .fault(
                        "\(coder.id), \(name): the output decodes to other pixels (\(place))", .rewritePixels,
                        try: "copy the encoded pixels unchanged")
                }
                try judgeItems(context, coder, (file, result), name)
                let again = try rewritten(context, coder, file, change, name)
                if again?.bytes != result.bytes {
                    throw .fault(
                        "\(coder.id), \(name): a second rewrite gives other bytes", .deterministic,
                        try: "look for memory that is not set")
                }
            }
        }
    }

    /// Compares the items with those of the source, and the flag with the missing items.
    private static func judgeItems(
        _ context: CheckContext, _ coder: Subject.Coder, _ files: (before: [UInt8], after: FileOutcome), _ name: String
    ) throws(Stop) {
        guard coder.decodes, coder.listsItems else { return }
        let before = try ItemChecks.pixels(context, coder, files.before)
        let after = try ItemChecks.pixels(context, coder, files.after.bytes)
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
        "abilities.metadata", "a rewrite removes, replaces and keeps metadata as requested",
        needs: needs + ["abilities.rewrite"]
    ) { context throws(Stop) in
        try eachFile(context) { coder, file, before throws(Stop) in
            var (file, blobs) = (file, before.blobs)
            // A decoder need not deliver the other kinds.
            let shown = context.manifest(of: coder.id)?.carries ?? []
            func judge(_ name: String, _ found: [Blob], _ kind: UInt32?, _ added: Blob?) throws(Stop) {
                if let kind, let left = found.first(where: { $0.kind == kind && $0.bytes != added?.bytes }),
                    added == nil
                {
                    throw .fault(
                        "\(coder.id), \(name): \(left.bytes.count) bytes of \(SampleMetadata.name(kind)) remain",
                        .rewriteRemove, try: "leave out every blob of the kinds in `remove`")
                }
                if let added, shown.contains(SampleMetadata.name(added.kind)),
                    !found.contains(where: { $0.kind == added.kind && $0.bytes == added.bytes })
                {
                    throw .fault(
                        "\(coder.id), \(name): the new \(SampleMetadata.name(added.kind)) is missing", .rewriteAnswer,
                        try: "answer CPI_REFUSED for metadata that the format cannot hold")
                }
                for blob in blobs where blob.kind != kind && !found.contains(blob) {
                    throw .fault(
                        "\(coder.id), \(name): \(SampleMetadata.name(blob.kind)) is lost or changed", .rewriteMetadata,
                        try: "copy metadata that the request does not name")
                }
            }
            for blob in SampleMetadata.blobs {
                let name = "with new \(SampleMetadata.name(blob.kind))"
                guard let result = try rewritten(context, coder, file, FileChange(blob: blob), name) else { continue }
                let found = try metadata(context, coder, result.bytes, name)
                try judge(name, found, blob.kind, blob)
                (file, blobs) = (result.bytes, found)
            }
            for (name, flags) in [("without a change", 0), ("optimized", CPI_REWRITE_OPTIMIZE)] {
                guard let result = try rewritten(context, coder, file, FileChange(flags: flags), name) else { continue }
                try judge(name, try metadata(context, coder, result.bytes, name), nil, nil)
            }
            for kind in Set(blobs.map(\.kind)).sorted() {
                let name = "without \(SampleMetadata.name(kind))"
                let change = FileChange(removed: [kind])
                guard let result = try rewritten(context, coder, file, change, name) else { continue }
                try judge(name, try metadata(context, coder, result.bytes, name), kind, nil)
            }
        }
    }

    static let damage = Check(
        "abilities.damage", "a rewrite of cut or damaged data ends with an error, or keeps the decodable part",
        needs: needs + ["input.truncated", "input.damaged", "abilities.rewrite"],
        crash: Fault(
            what: "the rewritten file was cut or damaged", rule: .corrupt,
            remedy: "check every length against the available bytes before using it")
    ) { context throws(Stop) in
        try eachFile(context) { coder, file, before throws(Stop) in
            let kinds = Array(CPI_BLOB_EXIF...CPI_BLOB_RAW)
            let changes = [
                FileChange(), FileChange(removed: kinds), FileChange(flags: CPI_REWRITE_OPTIMIZE, removed: kinds),
            ]
            let size = before.info.map { Int($0.width) * Int($0.height) } ?? 0
            // Large images get fewer tries, because each try decodes the image six times.
            let most = max(12, context.effort.pick(1 << 22, 1 << 27) / max(1, size))
            let cuts = min(most, context.effort.pick(24, 400))
            var bad = (0..<cuts).map { Array(file.prefix(file.count * $0 / cuts)) }
            var state: UInt64 = 0x9E37_79B9_7F4A_7C15
            func random(_ count: Int) -> Int {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(state >> 33) % max(1, count)
            }
            for _ in 0..<min(most, context.effort.pick(150, 3000)) {
                var bytes = file
                for _ in 0...random(3) { bytes[random(bytes.count)] = UInt8(random(256)) }
                bad.append(bytes)
            }
            for (index, bytes) in bad.enumerated() {
                for change in changes {
                    guard let result = try context.subject().rewrite(coder, bytes, change) else { return }
                    try judgeStatus(coder, result.answer)
                    guard result.answer.status == CPI_OK else { continue }
                    let name = index < cuts ? "a cut file" : "a damaged file"
                    // A damaged header may announce a large size, which only costs time.
                    try judge(context, coder, bytes, result.bytes, name, pixels: UInt64(max(1 << 16, 2 * size)))
                }
            }
        }
    }

    /// Compares the decoded pixels of a damaged file and its rewrite.
    private static func judge(
        _ context: CheckContext, _ coder: Subject.Coder, _ bytes: [UInt8], _ result: [UInt8], _ name: String,
        pixels: UInt64
    ) throws(Stop) {
        var setup = DecodeSetup()
        setup.limits.max_pixels = min(pixels, setup.limits.max_pixels)
        let before = try context.decode(coder, bytes, setup)
        let after = try context.decode(coder, result, setup)
        if before.failure == nil {
            if let place = after.failure?.text ?? Difference.first(colors(before), colors(after)) {
                throw .fault(
                    "\(coder.id), \(name): the output decodes to other pixels (\(place))", .rewritePixels,
                    try: "answer an error, or copy the encoded pixels unchanged")
            }
        } else if before.failure?.call == "decode", after.failure == nil {
            throw .fault(
                "\(coder.id), \(name) that does not decode became one that does: \(before.failure?.text ?? "")",
                .truncated, try: "answer CPI_TRUNCATED or CPI_CORRUPT, or copy the damage")
        }
    }

    // MARK: Transcoding

    static let transcode = Check(
        "abilities.transcode", "a packed stream is restored byte for byte", needs: ["lifecycle.load"]
    ) { context throws(Stop) in
        let subject = try context.subject()
        var judged = 0
        for coder in subject.coders where coder.transcodes {
            context.board.coder = coder.id
            let own = context.samples.filter { $0.coder == coder.id }.map(\.bytes)
            for format in context.manifest(of: coder.id)?.transcodes.map(\.id) ?? [] {
                for stream in SampleMetadata.streams.filter({ $0.format == format }).map(\.bytes) {
                    try judgePacking(subject, coder, stream, format)
                    judged += 1
                }
                for bytes in own { try judgeUnpacking(subject, coder, bytes, format) }
            }
        }
        if judged == 0 { throw .skip("no coder packs one of the kit's streams") }
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
                .transcode, try: "compare the streams before packing ends, and refuse different ones")
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
        if answer.status == CPI_OK || answer.status == CPI_REFUSED || answer.status >= CPI_TRUNCATED && answer.isFailure
        {
            return
        }
        throw .fault("\(coder.id): \(answer.text)", .rewriteAnswer, try: "answer CPI_OK, CPI_REFUSED or an error")
    }

    /// Rewrites an intact file; returns nil if the coder refuses.
    private static func rewritten(
        _ context: CheckContext, _ coder: Subject.Coder, _ file: [UInt8], _ change: FileChange, _ name: String
    ) throws(Stop) -> FileOutcome? {
        guard let result = try context.subject().rewrite(coder, file, change) else {
            throw .fault(
                "\(coder.id) has CPI_CODER_REWRITE and no table for it", .roles,
                try: "answer the table from cpi_plugin.get")
        }
        if result.answer.status == CPI_REFUSED { return nil }
        if result.answer.status != CPI_OK {
            throw .fault("\(coder.id), \(name): \(result.answer.text)", .rewriteAnswer, try: "check the error")
        }
        if let odd = result.odd {
            throw .fault(
                "\(coder.id), \(name): \(odd)", .newValues, try: "use values of the header, and zero elsewhere")
        }
        return result
    }

    private static func metadata(
        _ context: CheckContext, _ coder: Subject.Coder, _ file: [UInt8], _ name: String
    ) throws(Stop) -> [Blob] {
        var setup = DecodeSetup()
        setup.isThorough = true
        let outcome = try context.decode(coder, file, setup)
        if let failure = outcome.failure {
            throw .fault(
                "\(coder.id), \(name): the output does not decode: \(failure.text)", .rewritePixels,
                try: "try the file in another program")
        }
        return outcome.blobs
    }

    /// Returns frames as 8-bit RGBA, because an optimized file may have fewer channels.
    private static func colors(_ outcome: DecodeOutcome) -> [[UInt8]] {
        outcome.frames.map { RGBA.of($0.pixels, $0.format) }
    }

    /// Runs `body` with intact files of every coder that rewrites: images, and one with metadata if it encodes.
    private static func eachFile(
        _ context: CheckContext, _ body: (Subject.Coder, [UInt8], DecodeOutcome) throws(Stop) -> Void
    ) throws(Stop) {
        try context.eachImage([.small, .animation, .given], where: \.rewrites, otherwise: "no coder rewrites") {
            coder, bytes throws(Stop) in
            var files = [bytes]
            if coder.encoder != nil {
                var setup = EncodeSetup()
                setup.options = context.quickOptions(coder.id)
                setup.metadata.blobs = SampleMetadata.blobs
                let rich = try context.encode(coder, context.images(coder, width: 20, height: 12), setup)
                if rich.failure == nil { files.append(rich.bytes) }
            }
            for file in files {
                var setup = DecodeSetup()
                setup.isThorough = true
                let before = try context.decode(coder, file, setup)
                if before.failure == nil { try body(coder, file, before) }
            }
        }
    }
}
