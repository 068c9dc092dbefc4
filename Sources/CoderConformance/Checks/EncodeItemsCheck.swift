import CCoderPlugin

/// Several images in one output.
enum EncodeItemsCheck {
    static let items = Check(
        "abilities.encode-items", "an output of several items holds each of them",
        needs: ["lifecycle.encode", "determinism.encode"]
    ) { context throws(Stop) in
        var judged = 0
        try context.eachEncoder { coder throws(Stop) in
            guard coder.encodesItems else { return }
            judged += 1
            // The largest comes first: for some formats, its role is to be the primary one.
            let images = [
                Image(width: 40, height: 24), Image(width: 21, height: 13, step: 1),
                Image(width: 20, height: 12, hasAlpha: true),
            ]
            for count in 1...images.count { try judge(context, coder, Array(images.prefix(count))) }
        }
        if judged == 0 { throw .skip("no encoder writes several items") }
    }

    private static func judge(
        _ context: CheckContext, _ coder: Subject.Coder, _ images: [Image]
    ) throws(Stop) {
        var setup = EncodeSetup()
        setup.options = context.quickOptions(coder.id)
        var alone: [[UInt8]] = []
        for image in images {
            let file = try context.encode(coder, [image], setup)
            if file.failure != nil { return }
            alone.append(try pixels(context, coder, file.bytes).first ?? [])
        }
        let what = "\(coder.id), \(images.count) item\(images.count == 1 ? "" : "s")"
        setup.itemRole = CPI_ITEM_PAGE
        var outcome = try context.encode(coder, images, setup)
        if outcome.failure?.status == CPI_REFUSED {
            setup.itemRole = CPI_ITEM_ALTERNATIVE
            outcome = try context.encode(coder, images, setup)
        }
        if let failure = outcome.failure {
            throw .fault(
                "\(what): \(failure.text)", .nextItem, try: "take pages or alternatives of any size behind the first")
        }
        if try context.encode(coder, images, setup).bytes != outcome.bytes {
            throw .fault("\(what): the second file differs", .deterministic, try: "look for memory that is not set")
        }
        guard coder.decodes, coder.listsItems || images.count == 1 else { return }
        let found = try pixels(context, coder, outcome.bytes)
        guard found.count == images.count else {
            throw .fault(
                "\(what): the file holds \(found.count)", .encodeItems, try: "write every item, and list it in describe"
            )
        }
        for (index, image) in alone.enumerated() where !found.contains(image) {
            throw .fault(
                "\(what): the pixels of item \(index) differ from those in a file of its own", .encodeItems,
                try: "begin each item with the state of a new session")
        }
    }

    /// Returns the pixels of all items; those of the image if it is the only one.
    private static func pixels(
        _ context: CheckContext, _ coder: Subject.Coder, _ bytes: [UInt8]
    ) throws(Stop) -> [[UInt8]] {
        let items = coder.listsItems ? try ItemChecks.pixels(context, coder, bytes) : []
        return items.isEmpty ? try context.decode(coder, bytes).frames.map(\.pixels) : items
    }
}
