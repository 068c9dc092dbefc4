import CCoderPlugin

/// Only pixels are written, in any layout of memory.
enum SurfaceChecks {
    static let first = [guards]
    static let all = [end, strides, everyPixel, encoding]

    private static let needs = ["lifecycle.decode"]
    private static let steady = ["lifecycle.decode", "determinism.decode", "frames.facts", "memory.growth"]
    private static let kinds: [[Sample.Kind]] = [[.small, .given], [.animation]]

    static let guards = Check(
        "surface.guards", "no byte is written before, between or after the rows", needs: needs
    ) { context throws(Stop) in
        for (index, kinds) in kinds.enumerated() {
            try optional(index > 0) { () throws(Stop) in
                try context.eachImage(kinds) { coder, bytes throws(Stop) in
                    for padding in [16, 64] {
                        var setup = DecodeSetup()
                        setup.layout = SurfaceLayout(padding: padding, background: 0x3C)
                        if let stray = try context.decode(coder, bytes, setup).stray {
                            throw .fault(
                                "\(coder.id) wrote to \(stray), with rows \(padding) bytes apart", .row,
                                try: "write only width * bytes per pixel bytes of each row")
                        }
                    }
                }
            }
        }
    }

    static let end = Check(
        "surface.end", "the last pixel may be the last byte of memory", needs: needs + ["surface.guards"],
        crash: Fault(
            what: "the memory after the last pixel is not mapped", rule: .byteCount,
            remedy: "access only width * bytes per pixel bytes of the last row")
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            for padding in [0, 24] {
                var setup = DecodeSetup()
                setup.layout = SurfaceLayout(padding: padding, isAtEnd: true)
                let outcome = try context.decode(coder, bytes, setup)
                if let failure = outcome.failure {
                    throw .fault(
                        "\(coder.id), with rows \(padding) bytes apart: \(failure.text)", .byteCount,
                        try: "access only (height - 1) * stride + width * bytes per pixel bytes")
                }
            }
        }
    }

    static let strides = Check(
        "surface.strides", "rows with odd strides and odd offsets hold the same pixels", needs: steady,
        crash: Fault(
            what: "with rows that are not aligned", rule: .row, remedy: "read and write samples with memcpy")
    ) { context throws(Stop) in
        try context.eachImage { coder, bytes throws(Stop) in
            let wanted = try context.decode(coder, bytes)
            // Samples of two bytes are aligned to even offsets.
            let unit = Int(wanted.info?.native.bits ?? 8) / 8
            for (padding, offset) in [(1, 0), (3, 1), (7, 3), (0, 1), (13, 5), (4096, 0)] {
                var setup = DecodeSetup()
                setup.layout = SurfaceLayout(padding: padding * unit, offset: offset * unit)
                let outcome = try context.decode(coder, bytes, setup)
                let place = outcome.failure?.text ?? Difference.first(wanted.pixels, outcome.pixels)
                if let place {
                    throw .fault(
                        "\(coder.id), with \(padding * unit) bytes between rows that begin \(offset * unit) bytes off: "
                            + place, .row, try: "use the stride, and assume no alignment that offer does not request")
                }
            }
        }
    }

    static let everyPixel = Check(
        "surface.every-pixel", "every pixel is written, for any previous content of the memory", needs: steady
    ) { context throws(Stop) in
        for (index, kinds) in kinds.enumerated() {
            try optional(index > 0) { () throws(Stop) in
                try context.eachImage(kinds) { coder, bytes throws(Stop) in
                    var images: [[[UInt8]]] = []
                    for background in [0, 0xFF] as [UInt8] {
                        var setup = DecodeSetup()
                        setup.layout = SurfaceLayout(background: background)
                        images.append(try context.decode(coder, bytes, setup).pixels)
                    }
                    if let place = Difference.first(images[0], images[1]) {
                        throw .fault(
                            "\(coder.id) answers CPI_OK without writing some pixels: \(place)", .decode,
                            try: "write every pixel of the frame")
                    }
                }
            }
        }
    }

    static let encoding = Check(
        "surface.encoding", "an encoder reads only pixels, nothing between or after them",
        needs: ["lifecycle.encode", "determinism.encode"],
        crash: Fault(
            what: "the memory after the last pixel is not mapped", rule: .byteCount,
            remedy: "read only width * bytes per pixel bytes of the last row")
    ) { context throws(Stop) in
        try context.eachEncoder { coder throws(Stop) in
            var wanted: [UInt8]?
            for layout in [
                SurfaceLayout(padding: 0), SurfaceLayout(padding: 0, isAtEnd: true),
                SurfaceLayout(padding: 32, background: 0xFF), SurfaceLayout(padding: 30, offset: 6, background: 0x11),
            ] {
                var setup = EncodeSetup()
                setup.layout = layout
                setup.options = context.quickOptions(coder.id)
                let outcome = try context.encode(
                    coder, context.images(coder, width: 31, height: 13, hasAlpha: true), setup)
                if let failure = outcome.failure {
                    throw .fault(
                        "\(coder.id), with rows \(layout.padding) bytes apart: \(failure.text)", .row,
                        try: "use the stride")
                }
                if let wanted, wanted != outcome.bytes {
                    throw .fault(
                        "\(coder.id) writes other bytes with rows \(layout.padding) bytes apart", .row,
                        try: "use the stride, and read nothing between the rows")
                }
                wanted = outcome.bytes
            }
        }
    }

    /// Runs `body`; ignores a skip if `isOptional`.
    static func optional(_ isOptional: Bool, _ body: () throws(Stop) -> Void) throws(Stop) {
        do throws(Stop) {
            try body()
        } catch {
            if isOptional, case .skip = error { return }
            throw error
        }
    }
}
