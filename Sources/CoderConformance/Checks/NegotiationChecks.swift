import CCoderPlugin
import CoderHost

/// Hosts of other minors, unknown ids, options and flags.
enum NegotiationChecks {
    static let all = [plain, short, newer, ids, options, flags]
    private static let needs = ["lifecycle.decode", "determinism.decode", "frames.facts"]

    static let plain = Check(
        "negotiation.plain-host", "a host without extensions", needs: needs, needsOwnProcess: true,
        crash: Fault(
            what: "with a host whose `get` is NULL", rule: .hostGet,
            remedy: "check cpi_host.get before calling it")
    ) { context throws(Stop) in
        try compare(context, Subject.HostFacts(shape: .current, isMute: true), .current)
    }

    static let short = Check(
        "negotiation.short-structs", "shorter result structs, followed by bytes of the host",
        needs: needs, needsOwnProcess: true,
        crash: Fault(
            what: "with a host whose structs are shorter", rule: .size,
            remedy: "copy min(size, sizeof own) bytes into the host's struct")
    ) { context throws(Stop) in
        try compare(context, Subject.HostFacts(shape: .current), .short)
    }

    static let newer = Check(
        "negotiation.newer-host", "longer structs of a future minor with unknown members", needs: needs,
        needsOwnProcess: true,
        crash: Fault(
            what: "with a host of a later minor, whose structs are longer", rule: .size,
            remedy: "copy min(size, sizeof own) bytes")
    ) { context throws(Stop) in
        try compare(context, Subject.HostFacts(minor: 1000, shape: .future), .future)
    }

    private static func compare(
        _ context: CheckContext, _ facts: Subject.HostFacts, _ shape: StructVersion
    ) throws(Stop) {
        let plugin = try Subject(path: context.path, manifest: context.manifest, board: context.board, facts: facts)
        try plugin.initialize()
        let other = CheckContext(
            path: context.path, manifest: context.manifest, effort: context.effort, samples: context.samples,
            board: context.board, isConfined: context.isConfined, loaded: plugin)
        let host =
            switch shape {
            case .current: "a host without extensions"
            case .short: "a host whose structs are shorter"
            case .future: "a host of a later minor"
            }
        func judge(_ coder: Subject.Coder, _ failure: Answer?, _ overrun: String?) throws(Stop) {
            if let overrun {
                throw .fault(
                    "\(coder.id) wrote past the end of \(overrun) of \(host)", .size,
                    try: "copy min(size, sizeof own) bytes into the host's struct, and keep its size")
            }
            if let failure {
                throw .fault(
                    "\(coder.id) does not work with \(host): \(failure.text)", .size,
                    try: "treat missing members as absent and ignore unknown ones")
            }
        }
        try other.eachImage { coder, bytes throws(Stop) in
            let now = try other.decode(coder, bytes).pixels
            var setup = DecodeSetup()
            setup.shape = shape
            setup.isThorough = true
            let then = try other.decode(coder, bytes, setup)
            try judge(coder, then.failure, then.defects.overrun)
            if let place = Difference.first(now, then.pixels) {
                throw .fault(
                    "\(coder.id) decodes to other pixels with \(host): \(place)", .size,
                    try: "treat missing members as absent and ignore unknown ones")
            }
        }
        for coder in plugin.coders where coder.encoder != nil {
            context.board.coder = coder.id
            var setup = EncodeSetup()
            setup.shape = shape
            setup.options = context.quickOptions(coder.id)
            let outcome = try other.encode(coder, other.images(coder, width: 17, height: 9), setup)
            try judge(coder, outcome.failure, outcome.defects.overrun)
        }
    }

    static let ids = Check(
        "negotiation.ids", "unknown extension ids are answered with NULL, known ones with their own table",
        needs: ["lifecycle.load"]
    ) { context throws(Stop) in
        let known = [
            CPI_EXT_ITEMS, CPI_EXT_THUMBNAIL_ENCODE, CPI_EXT_ENCODE_ITEMS, CPI_EXT_ENCODE_ROWS, CPI_EXT_REWRITE,
            CPI_EXT_TRANSCODE,
        ]
        var unknown = [
            "", "/", "a", "coderhost.items", "coderhost.items/", "coderhost.items/01", "coderhost.items/2",
            "coderhost.items/1 ", "Coderhost.Items/1", "coderhost.no-such-extension/1",
            String(repeating: "x", count: 5000) + "/1",
        ]
        var dice = RandomGenerator(1)
        for _ in 0..<64 {
            let letters = (0..<1 + dice.below(20)).map { _ in
                "abcdefghijklmnopqrstuvwxyz.-/0123456789%"
                    .randomLetter(&dice)
            }
            unknown.append("org.example.\(String(letters))/\(1 + dice.below(3))")
        }
        func ask(_ who: String, _ get: (String) -> ExtensionAnswer?) throws(Stop) {
            for id in unknown {
                guard let answer = get(id) else { return }
                if !answer.isNull {
                    throw .fault(
                        "\(who) answers the unknown id \"\(id.prefix(60))\" with a table", .extensionID,
                        try: "compare the whole id, and answer NULL to every other")
                }
            }
            for id in known {
                guard let answer = get(id), !answer.isNull else { continue }
                if answer.tag != ExtensionAnswer.tag(of: id) {
                    throw .fault(
                        "\(who) answers \(id) with a table of another id", .table, try: "set .tag to cpi_tag(id)")
                }
                if answer.size < MemoryLayout<cpi_table>.size + 8 || answer.revision != 1 {
                    throw .fault(
                        "\(who) answers \(id) with a table of \(answer.size) bytes, revision \(answer.revision)",
                        .table,
                        try: "set .size and .rev")
                }
            }
        }
        let plugin = try context.subject()
        try ask("cpi_plugin.get") { plugin.get($0) }
        for coder in plugin.coders {
            context.board.coder = coder.id
            if let session = Decoding(coder, Services(), context.board) {
                if session.open().isFailure { continue }
                try ask("the decoder of \(coder.id)") { session.get($0) }
            }
            if let session = Encoding(coder, Services(), context.board) {
                if session.open().isFailure { continue }
                try ask("the encoder of \(coder.id)") { session.get($0) }
            }
        }
    }

    static let options = Check(
        "negotiation.options", "declared options are accepted, unknown ones rejected, hints ignored",
        needs: ["lifecycle.load"]
    ) { context throws(Stop) in
        for coder in try context.subject().coders {
            context.board.coder = coder.id
            guard let described = context.manifest(of: coder.id) else { continue }
            func open(_ encoding: Bool, _ options: [OptionValue]) -> Answer? {
                if encoding {
                    guard let session = Encoding(coder, Services(limits: DecodeSetup.roomyLimits), context.board)
                    else {
                        return nil
                    }
                    defer { session.close() }
                    return session.open(options)
                }
                guard let session = Decoding(coder, Services(limits: DecodeSetup.roomyLimits), context.board) else {
                    return nil
                }
                defer { session.close() }
                return session.open(options)
            }
            for encoding in [false, true] {
                let role = encoding ? "encoder" : "decoder"
                let unknown = OptionValue(key: "org-example.no-such-option", type: CPI_OPTION_I64, integer: 1, real: 1)
                if let answer = open(encoding, [unknown]), answer.status != CPI_INVALID_ARGUMENT {
                    throw .fault(
                        "the \(role) of \(coder.id) answers an unknown option with \(statusName(answer.status))",
                        .unknownOption, try: "answer CPI_INVALID_ARGUMENT from open")
                }
                var hint = unknown
                hint.flags = CPI_OPTION_HINT
                if let answer = open(encoding, [hint]), answer.isFailure {
                    throw .fault(
                        "the \(role) of \(coder.id) rejects an unknown option that is only a hint: \(answer.text)",
                        .unknownOption, try: "check CPI_OPTION_HINT")
                }
                for option in described.options
                where encoding ? option.scope.includesEncoding : option.scope.includesDecoding {
                    for value in values(option) {
                        if let answer = open(encoding, [value]), answer.isFailure {
                            throw .fault(
                                "the \(role) of \(coder.id) refuses \(option.key) = \(value.text ?? "\(value.real)"), "
                                    + "which its manifest declares: \(answer.text)", .options,
                                try: "correct the schema or the coder")
                        }
                    }
                }
            }
        }
    }

    /// Returns values that a schema allows.
    private static func values(_ option: PluginManifest.Option) -> [OptionValue] {
        func number(_ type: UInt32, _ value: Double) -> OptionValue {
            OptionValue(key: option.key, type: type, integer: Int64(value), real: value)
        }
        switch option.kind {
        case .bool: return [number(CPI_OPTION_BOOL, 0), number(CPI_OPTION_BOOL, 1)]
        case .i64, .f64:
            let type = option.kind == .i64 ? CPI_OPTION_I64 : CPI_OPTION_F64
            let ends = [option.minimum, option.maximum, option.defaultText.flatMap { Double($0) }]
            return ends.compactMap(\.self).filter { abs($0) < 1e15 }.map { number(type, $0) }
        case .enum: return option.values.map { OptionValue(key: option.key, type: CPI_OPTION_ENUM, text: $0) }
        case .string, .bytes: return []
        }
    }

    static let flags = Check(
        "negotiation.flags", "unknown hint bits are ignored", needs: needs
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            for place in ["cpi_services", "cpi_surface", "cpi_decode_request"] {
                let answer = try decode(context, coder, bytes, 0x4000, in: place)
                if answer.isFailure {
                    throw .fault(
                        "\(coder.id) rejects an unknown hint in the flags of \(place): \(answer.text)", .flags,
                        try: "check only known bits")
                }
            }
        }
    }

    private static func decode(
        _ context: CheckContext, _ coder: Subject.Coder, _ bytes: [UInt8], _ flags: UInt32, in place: String
    ) throws(Stop) -> Answer {
        let services = Services(limits: DecodeSetup.roomyLimits, flags: place == "cpi_services" ? flags : 0)
        guard let session = Decoding(coder, services, context.board) else { throw .skip("it does not decode") }
        defer { session.close() }
        var answer = session.open()
        if answer.isFailure { return answer }
        let input = Input(bytes)
        _ = session.setSource(input)
        let (header, info) = session.readHeader()
        if header.isFailure { return header }
        let (step, frame) = session.nextFrame()
        if step.isFailure { return step }
        let surface = Surface(
            info.native, width: Int(frame.rect.width), height: Int(frame.rect.height),
            flags: place == "cpi_surface" ? flags : 0)
        answer = session.decode(surface, flags: place == "cpi_decode_request" ? flags : 0)
        return answer
    }
}

extension String {
    fileprivate func randomLetter(_ dice: inout RandomGenerator) -> Character { Array(self)[dice.below(count)] }
}
