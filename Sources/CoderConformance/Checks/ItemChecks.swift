import CCoderPlugin

/// Items must match their description, and decode alike on every path to them.
enum ItemChecks {
    static let all = [items]

    private static let needs = ["lifecycle.decode", "determinism.decode", "frames.facts", "contract.values"]
    /// The numbers of items to list and to decode.
    fileprivate static let mostListed = 1000
    private static let mostDecoded = 8

    static let items = Check(
        "abilities.items", "the item count is right, and each item decodes as described", needs: needs
    ) { context throws(Stop) in
        var judged = 0
        for coder in try context.subject().coders where coder.decodes && coder.listsItems {
            context.board.coder = coder.id
            for sample in context.samples where sample.coder == coder.id {
                let plain = try context.decode(coder, sample.bytes)
                guard plain.failure == nil, let header = plain.info else { continue }
                _ = try context.decode(coder, sample.bytes) { session throws(Stop) in
                    let run = ItemRun(coder: coder, session: session, header: header)
                    if header.flags & CPI_IMAGE_ITEMS != 0 {
                        try judge(run, plain.frames.first)
                        judged += 1
                    } else if let (answer, _, _) = session.item(1), answer.status == CPI_OK {
                        throw run.fault("it lists several items", .hasItems, "set CPI_IMAGE_ITEMS in the facts")
                    }
                }
            }
        }
        if judged == 0 { throw .skip("there is no image with CPI_IMAGE_ITEMS; name one with --sample FILE") }
    }

    /// Returns the pixels of every item that a coder lists in a file; no pixels for an item that it does not decode.
    static func pixels(_ context: CheckContext, _ coder: Subject.Coder, _ bytes: [UInt8]) throws(Stop) -> [[UInt8]] {
        var result: [[UInt8]] = []
        guard let header = try context.decode(coder, bytes).info, header.flags & CPI_IMAGE_ITEMS != 0 else { return [] }
        _ = try context.decode(coder, bytes) { session throws(Stop) in
            let run = ItemRun(coder: coder, session: session, header: header)
            for (index, entry) in try run.listed().enumerated() {
                guard let entry, index < mostDecoded, !run.hasFailed else {
                    result.append([])
                    continue
                }
                result.append(try run.pixels(entry) ?? [])
            }
        }
        return result
    }

    private static func judge(_ run: ItemRun, _ first: DecodedFrame?) throws(Stop) {
        let items = try run.listed()
        let primaries = items.compactMap(\.self).filter { $0.item.role == CPI_ITEM_PRIMARY }
        guard primaries.count == 1, let primary = primaries.first else {
            throw run.fault("\(primaries.count) items are primary", .primaryItem, "mark only read_header's image so")
        }
        let (info, header) = (primary.info, run.header)
        if info.width != header.width || info.height != header.height || info.frame_count != header.frame_count {
            throw run.fault(
                "read_header reports \(ItemRun.text(header)), describe of the primary item \(ItemRun.text(info))",
                .primaryItem,
                "report the same facts")
        }
        for entry in items.compactMap(\.self) where entry.item.of != CPI_ITEM_NONE && entry.item.of >= items.count {
            throw run.fault(
                "item \(entry.index) belongs to item \(entry.item.of), but there are \(items.count)", .itemOwner,
                "set `of` to the number of an item, or to CPI_ITEM_NONE")
        }
        for entry in items.compactMap(\.self).prefix(mostDecoded) {
            let pixels = try run.pixels(entry)
            // Damaged data may have ended the session.
            if run.hasFailed { return }
            guard let pixels else { continue }
            if let place = Difference.first([pixels], [try run.pixels(entry) ?? []]) {
                throw run.fault("item \(entry.index), selected twice: \(place)", .selectItem, "restart in select")
            }
        }
        // Return to the item at which the session began.
        guard let first, header.frame_count == 1, let again = try run.pixels(primary) else { return }
        if let place = Difference.first([first.pixels], [again]) {
            throw run.fault(
                "the primary item, selected after others, decodes differently than before (\(place))", .selectItem,
                "keep no state of the previous item")
        }
    }
}

/// The items of one file.
private final class ItemRun {
    struct Entry {
        var index: UInt32
        var item: Item
        var info: cpi_image_info
    }

    let coder: Subject.Coder
    let session: Decoding
    let header: cpi_image_info
    private(set) var hasFailed = false

    init(coder: Subject.Coder, session: Decoding, header: cpi_image_info) {
        self.coder = coder
        self.session = session
        self.header = header
    }

    func fault(_ what: String, _ rule: Rule, _ remedy: String) -> Stop {
        .fault("\(coder.id): \(what)", rule, try: remedy)
    }

    static func text(_ info: cpi_image_info) -> String {
        "\(info.width) x \(info.height) in \(info.frame_count) frame\(info.frame_count == 1 ? "" : "s")"
    }

    /// Returns the items of `describe` up to CPI_END; nil for an item that it refuses.
    func listed() throws(Stop) -> [Entry?] {
        var result: [Entry?] = []
        while result.count < ItemChecks.mostListed {
            let index = UInt32(result.count)
            guard let (answer, item, info) = session.item(index) else {
                throw fault("the image has CPI_IMAGE_ITEMS but no items table", .itemEnd, "answer the table from get")
            }
            switch answer.status {
            case CPI_OK: result.append(Entry(index: index, item: item, info: info))
            case CPI_REFUSED: result.append(nil)
            case CPI_END:
                try judge(end: index)
                return result
            default: throw fault(answer.text, .itemEnd, "answer CPI_REFUSED for a damaged item")
            }
        }
        try judge(far: .max - 1)
        return result
    }

    private func judge(end: UInt32) throws(Stop) {
        try judge(far: end)
        try judge(far: .max - 1)
        guard let (answer, count) = session.itemCount(), answer.status != CPI_REFUSED else { return }
        if answer.status != CPI_OK { throw fault("count: \(answer.text)", .itemCount, "answer CPI_OK or CPI_REFUSED") }
        if count != end { throw fault("count: \(count) items, describe: \(end)", .itemCount, "count in one place") }
    }

    /// Checks that there is no item at a far index after the last.
    private func judge(far index: UInt32) throws(Stop) {
        guard let answer = session.item(index)?.0, answer.status != CPI_END else { return }
        throw fault("describe(\(index)): \(answer.text)", .itemEnd, "answer CPI_END after the last item")
    }

    /// Returns the pixels of an item's first frame; nil if the item cannot be decoded.
    func pixels(_ entry: Entry) throws(Stop) -> [UInt8]? {
        let (number, info) = (entry.index, entry.info)
        guard let answer = session.select(number) else { return nil }
        if answer.status == CPI_REFUSED { return nil }
        guard answer.status == CPI_OK else {
            throw fault("select(\(number)): \(answer.text)", .selectItem, "refuse items that cannot be decoded")
        }
        guard let format = format(of: info), info.width > 0, info.height > 0,
            Int(info.width) * Int(info.height) <= DecodeSetup.maxPixels
        else { return nil }
        let (met, frame) = session.nextFrame()
        hasFailed = met.isFailure
        if hasFailed { return nil }
        guard met.status == CPI_OK else {
            throw fault("item \(number): \(met.text)", .selectItem, "select puts the session into [header]")
        }
        let rect = frame.rect
        let isWhole = rect.x == 0 && rect.y == 0 && rect.width == info.width && rect.height == info.height
        if info.frame_count == 1, !isWhole {
            throw fault(
                "item \(number) is described as \(Self.text(info)), its frame is \(rect.width) x \(rect.height) pixels "
                    + "at \(rect.x), \(rect.y)", .itemFacts, "describe and decode the same item")
        }
        if rect.width == 0 || rect.height == 0 || Int(rect.width) * Int(rect.height) > DecodeSetup.maxPixels {
            return nil
        }
        let surface = Surface(format, width: Int(rect.width), height: Int(rect.height))
        hasFailed = session.decode(surface).isFailure
        return hasFailed ? nil : surface.pixels
    }

    /// Returns the best format of the selected item that surfaces support.
    private func format(of info: cpi_image_info) -> cpi_pixel_format? {
        if info.native.objection == nil { return info.native }
        for index in 0..<UInt32(40) {
            let (answer, offer) = session.offer(index)
            if answer.status != CPI_OK { break }
            if offer.format.objection == nil { return offer.format }
        }
        return nil
    }
}
