import CCoderPlugin
import CoderHost

/// Statuses, values and rectangles in every result of the plugin must be defined by the header.
enum ContractChecks {
    static let all = [statuses, values, opening, refusals, region, bands, dirty]
    private static let needs = ["lifecycle.decode", "determinism.decode", "frames.facts"]

    static let statuses = Check(
        "contract.statuses", "each call answers only statuses that the header lists for it", needs: ["lifecycle.decode"]
    ) { context throws(Stop) in
        func judge(_ coder: Subject.Coder, _ illegal: String?) throws(Stop) {
            guard let illegal else { return }
            throw .fault("\(coder.id): \(illegal)", .statuses, try: "answer CPI_OK, a status of its list or an error")
        }
        try context.eachImage([.large, .small, .given]) { coder, bytes throws(Stop) in
            var growing = DecodeSetup()
            growing.source.kind = .growing
            growing.source.chunk = max(1, bytes.count / 16)
            growing.wantsPartial = true
            var whole = DecodeSetup()
            whole.isThorough = true
            for (data, setup) in [(bytes, whole), (bytes, growing), (Array(bytes.prefix(bytes.count / 2)), whole)] {
                let outcome = try context.decode(coder, data, setup) { session throws(Stop) in
                    _ = session.offer(0)
                    _ = session.scaledSize(1, 1)
                    _ = session.dirty()
                    _ = session.seek(0)
                    _ = session.item(0)
                }
                try judge(coder, outcome.defects.illegal)
            }
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try context.eachEncoder { coder throws(Stop) in
                var setup = EncodeSetup()
                setup.options = context.quickOptions(coder.id)
                setup.metadata.blobs = SampleMetadata.blobs
                let images = context.images(coder, width: 20, height: 12)
                try judge(coder, try context.encode(coder, images, setup).defects.illegal)
            }
        }
    }

    static let values = Check(
        "contract.values", "images, frames, items and offers hold only defined values, and reserved words are zero",
        needs: needs
    ) { context throws(Stop) in
        func judge(_ coder: Subject.Coder, _ objection: String?) throws(Stop) {
            guard let objection else { return }
            throw .fault("\(coder.id): \(objection)", .newValues, try: "use values of the header, and zero elsewhere")
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try context.eachEncoder { coder throws(Stop) in
                var setup = EncodeSetup()
                setup.options = context.quickOptions(coder.id)
                let images = context.images(coder, width: 16, height: 16)
                try judge(coder, try context.encode(coder, images, setup).oddOffer)
            }
        }
        try context.eachImage([.animation, .given, .small]) { coder, bytes throws(Stop) in
            var setup = DecodeSetup()
            setup.isThorough = true
            let outcome = try context.decode(coder, bytes, setup) { session throws(Stop) in
                for index in 0..<UInt32(40) {
                    let (answer, offer) = session.offer(index)
                    if answer.status != CPI_OK { break }
                    try judge(coder, Values.objection(offer))
                }
                var primaries = 0
                for index in 0..<UInt32(100) {
                    guard let (answer, item, info) = session.item(index), answer.status == CPI_OK else { break }
                    try judge(coder, Values.objection(item, number: index) ?? Values.objection(info))
                    primaries += item.role == CPI_ITEM_PRIMARY ? 1 : 0
                    if primaries > 1 { try judge(coder, "item \(index) is a second CPI_ITEM_PRIMARY") }
                }
            }
            try judge(coder, outcome.info.flatMap(Values.objection))
            for frame in outcome.frames { try judge(coder, Values.objection(frame.info)) }
            for blob in outcome.blobs where !(CPI_BLOB_EXIF...CPI_BLOB_RAW).contains(blob.kind) {
                try judge(coder, "cpi_blob.kind is \(blob.kind)")
            }
        }
    }

    static let opening = Check(
        "contract.failed-open", "a failed open leaves nothing allocated",
        needs: ["lifecycle.load"],
        crash: Fault(
            what: "an open had failed", rule: .failedOpen, remedy: "free everything in open before it fails")
    ) { context throws(Stop) in
        let unknown = OptionValue(key: "org-example.no-such-option", type: CPI_OPTION_I64, integer: 1, real: 1)
        let cases: [(name: String, refused: Int?, options: [OptionValue])] = [
            ("an unknown option", nil, [unknown]), ("no memory", 0, []), ("memory for one allocation", 1, []),
        ]
        for coder in try context.subject().coders {
            context.board.coder = coder.id
            for (name, refused, options) in cases {
                var policy = Services.Policy()
                policy.failsAllocation = refused
                let before = ProcessState.residentBytes
                for _ in 0..<context.effort.pick(300, 3000) {
                    let all = [Services(policy), Services(policy)]
                    let sessions: [Session?] = [
                        Decoding(coder, all[0], context.board), Encoding(coder, all[1], context.board),
                    ]
                    for (session, services) in zip(sessions, all) {
                        guard let session else { continue }
                        let answer = session.open(options)
                        // lifecycle.close checks the memory that close frees.
                        if !answer.isFailure { continue }
                        try LifecycleChecks.settled(services, coder, "\(answer.call) with \(name)")
                    }
                }
                let grown = ProcessState.residentBytes - before
                if grown > 16 << 20 {
                    throw .fault(
                        "\(coder.id): opening sessions with \(name) left \(grown >> 20) MiB behind", .failedOpen,
                        try: "free everything in open before it fails")
                }
            }
        }
    }

    static let refusals = Check(
        "contract.refusals", "after a refused request the session works as before", needs: needs
    ) { context throws(Stop) in
        var judged = 0
        try context.eachImage { coder, bytes throws(Stop) in
            let whole = try context.decode(coder, bytes)
            guard let info = whole.info, let frame = whole.frames.first, frame.info.rect.height > 1 else { return }
            var first = frame.info.rect
            (first.x, first.y, first.width, first.height) = (0, 0, 1, 1)
            for (name, region, scaled) in [("a region", first, (0, 0)), ("a size", cpi_rect(), (1, 1))]
                as [(String, cpi_rect, (UInt32, UInt32))]
            {
                guard let session = context.session(coder, bytes) else { return }
                if scaled.0 > 0, let (answer, _, _) = session.scaledSize(1, 1), answer.status == CPI_OK { continue }
                let refused = session.decode(
                    Surface(info.native, width: 1, height: 1), region: region, scaled: scaled)
                if refused.isFailure {
                    throw .fault(
                        "\(coder.id), asked for \(name) of 1 x 1: \(refused.text)", .refused,
                        try: "answer CPI_REFUSED to a request that cannot be served")
                }
                if refused.status != CPI_REFUSED { continue }
                judged += 1
                let surface = Surface(
                    info.native, width: Int(frame.info.rect.width), height: Int(frame.info.rect.height))
                let after = session.decode(surface)
                if after.status != CPI_OK || surface.pixels != frame.pixels {
                    throw .fault(
                        "\(coder.id): after CPI_REFUSED to \(name), \(after.text)"
                            + (after.status == CPI_OK ? " with other pixels" : ""), .refused,
                        try: "repeat only negative statuses, and change nothing before CPI_REFUSED")
                }
            }
        }
        if judged == 0 { throw .skip("it serves every request") }
    }

    static let region = Check(
        "contract.region", "a region outside of the frame is refused, one inside has the pixels of the whole",
        needs: needs + ["surface.guards"],
        crash: Fault(
            what: "the region was outside of the frame", rule: .region,
            remedy: "compare the region with the size of the frame, without overflow")
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            let whole = try context.decode(coder, bytes)
            guard let info = whole.info, let frame = whole.frames.first, !frame.pixels.isEmpty else { return }
            let (width, height) = (frame.info.rect.width, frame.info.rect.height)
            let outside: [(Int32, Int32, UInt32, UInt32)] = [
                (Int32(width), 0, width, height), (0, Int32(height), width, height), (-1, 0, width, height),
                (0, -1, width, height), (1, 0, width, height), (.max, .max, width, height), (.min, .min, width, height),
                (0, 0, .max, .max), (0, 0, width, .max),
            ]
            for (x, y, w, h) in outside {
                guard let session = context.session(coder, bytes) else { return }
                let surface = Surface(info.native, width: Int(width), height: Int(height))
                let answer = session.decode(surface, region: cpi_rect(x: x, y: y, width: w, height: h))
                let stray = surface.strayWrite.map { ", and wrote to \($0)" } ?? ""
                if answer.status != CPI_REFUSED && !answer.isFailure || !stray.isEmpty {
                    throw .fault(
                        "\(coder.id), asked for \(w) x \(h) at \(x), \(y) of \(width) x \(height): \(answer.text)\(stray)",
                        .region, try: "answer CPI_REFUSED or CPI_INVALID_ARGUMENT")
                }
            }
            guard coder.servesRegions, width > 2, height > 2 else { return }
            let inside: [(UInt32, UInt32, UInt32, UInt32)] = [
                (0, 0, 1, 1), (width - 1, height - 1, 1, 1), (1, 1, width - 2, height - 2), (0, height / 2, width, 1),
                (width / 2, 0, 1, height),
            ]
            for (x, y, w, h) in inside {
                guard let session = context.session(coder, bytes) else { return }
                let surface = Surface(info.native, width: Int(w), height: Int(h))
                let rect = cpi_rect(x: Int32(x), y: Int32(y), width: w, height: h)
                let answer = session.decode(surface, region: rect)
                if answer.status == CPI_REFUSED { continue }
                let part = Surface.part(frame.pixels, info.native, Int(width), (Int(x), Int(y), Int(w), Int(h)))
                if answer.status != CPI_OK || surface.pixels != part {
                    throw .fault(
                        "\(coder.id): the region of \(w) x \(h) at \(x), \(y) "
                            + (answer.status == CPI_OK ? "has other pixels than the whole" : "failed: \(answer.text)"),
                        .region, try: "fill the surface with the pixels of the region")
                }
            }
        }
    }

    static let bands = Check(
        "contract.bands", "bands of rows give the whole image, and row 0 starts again", needs: needs
    ) { context throws(Stop) in
        var judged = 0
        try context.eachImage([.large, .small, .given]) { coder, bytes throws(Stop) in
            let whole = try context.decode(coder, bytes)
            guard let info = whole.info, info.flags & CPI_IMAGE_ROWS != 0, let frame = whole.frames.first,
                let session = context.session(coder, bytes)
            else { return }
            judged += 1
            let (width, height) = (frame.info.rect.width, frame.info.rect.height)
            // Decode two bands, then all bands from the first again.
            for last in [min(14, height), height] {
                var pixels: [UInt8] = []
                for y in stride(from: 0, to: last, by: 7) {
                    let rows = min(7, height - y)
                    let surface = Surface(info.native, width: Int(width), height: Int(rows))
                    let answer = session.decode(
                        surface, region: cpi_rect(x: 0, y: Int32(y), width: width, height: rows))
                    pixels += surface.pixels
                    if answer.status != CPI_OK || pixels != Array(frame.pixels.prefix(pixels.count)) {
                        throw .fault(
                            "\(coder.id): the band of \(rows) rows at row \(y) "
                                + (answer.status == CPI_OK ? "has other pixels" : "failed: \(answer.text)"), .bands,
                            try: "restart the frame at row 0, and continue where the last band ended")
                    }
                }
            }
        }
        if judged == 0 { throw .skip("no image has CPI_IMAGE_ROWS") }
    }

    static let dirty = Check(
        "contract.dirty", "dirty answers after each decode, also in [frame], and lies within the surface", needs: needs
    ) { context throws(Stop) in
        var judged = 0
        try context.eachImage([.large, .small, .given]) { coder, bytes throws(Stop) in
            let services = Services(limits: DecodeSetup.roomyLimits)
            guard let session = Decoding(coder, services, context.board), session.hasDirty else { return }
            let input = Input(bytes, .growing)
            _ = session.open()
            _ = session.setSource(input)
            func patiently(_ call: () -> cpi_status) {
                while call() == CPI_NEED_INPUT, input.grow(max(1, bytes.count / 16)) {}
            }
            var info = cpi_image_info()
            var frame = cpi_frame_info()
            patiently { () in
                let (answer, facts) = session.readHeader()
                info = facts
                return answer.status
            }
            patiently { () in
                let (answer, facts) = session.nextFrame()
                frame = facts
                return answer.status
            }
            guard frame.rect.width > 0, frame.rect.height > 0 else { return }
            let surface = Surface(info.native, width: Int(frame.rect.width), height: Int(frame.rect.height))
            while true {
                let answer = session.decode(surface, flags: CPI_DECODE_WANT_PARTIAL)
                if answer.isFailure { return }
                if answer.status == CPI_OK || answer.status == CPI_PARTIAL, let (said, rect) = session.dirty() {
                    judged += 1
                    let fits =
                        rect.x >= 0 && rect.y >= 0
                        && UInt64(rect.x) + UInt64(rect.width) <= UInt64(surface.width)
                        && UInt64(rect.y) + UInt64(rect.height) <= UInt64(surface.height)
                    if said.status != CPI_OK || !fits {
                        throw .fault(
                            "\(coder.id), after decode answered \(statusName(answer.status)): "
                                + (said.status == CPI_OK
                                    ? "dirty is \(rect.width) x \(rect.height) at \(rect.x), \(rect.y)" : said.text),
                            .dirty, try: "answer the part that the last decode changed, in [frame] and [decoded]")
                    }
                }
                if answer.status == CPI_OK || !input.grow(max(1, bytes.count / 16)) { return }
            }
        }
        if judged == 0 { throw .skip("no decoder has `dirty`") }
    }
}

extension CheckContext {
    /// Returns a new session at the first frame of an image; nil if it does not get that far.
    func session(_ coder: Subject.Coder, _ bytes: [UInt8]) -> Decoding? {
        guard let session = Decoding(coder, Services(limits: DecodeSetup.roomyLimits), board) else { return nil }
        let answers = [session.open(), session.setSource(Input(bytes)), session.readHeader().0, session.nextFrame().0]
        return answers.allSatisfy { $0.status == CPI_OK } ? session : nil
    }
}
