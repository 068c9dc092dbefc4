internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The contents of the header box: colors, palette, meaning of the channels.
struct ImageHeader {
    /// How samples become colors.
    enum Colors {
        /// A number of ``ColorSpace``, with parameters.
        case numbered(Int, [UInt8])
        case profile([UInt8])
    }

    /// Replaces the samples of one component by colors.
    struct Palette {
        /// The width of each column.
        var bits: [Int] = []
        var isSigned: [Bool] = []
        /// The columns of entry 0, then of entry 1 …
        var values: [Int] = []
        var count: Int { bits.isEmpty ? 0 : values.count / bits.count }
    }

    /// The origin of a channel.
    struct Mapping {
        let component: Int
        /// The column of the palette; nil for the samples themselves.
        let column: Int?
    }

    /// The meaning of a channel.
    struct Definition {
        let channel: Int
        /// 0 color, 1 alpha, 2 premultiplied alpha, 65535 unknown.
        let kind: Int
        /// 0 the whole image, 1 … a color, 65535 nothing.
        let association: Int
    }

    private(set) var colors: Colors?
    private(set) var palette: Palette?
    private(set) var mappings: [Mapping] = []
    private(set) var definitions: [Definition] = []
    private(set) var density: PixelDensity?

    /// Reads one header box; a damaged box in it ends the header with a warning.
    ///
    mutating func read(_ boxes: BoxCursor, _ host: HostServices) {
        do throws(CoderError) {
            try readAll(boxes, depth: 0)
        } catch {
            host.warn("the header is damaged: \(error.message)")
        }
    }

    private mutating func readAll(_ boxes: BoxCursor, depth: Int) throws(CoderError) {
        var boxes = boxes
        while let box = try boxes.box() {
            var content = boxes.inside(box)
            switch box.type {
            // The first description is the one that every reader uses.
            case "colr" where colors == nil: try readColors(&content)
            case "pclr" where palette == nil: try readPalette(&content)
            case "cmap" where mappings.isEmpty: try readMappings(&content)
            case "cdef" where definitions.isEmpty: try readDefinitions(&content)
            case "res " where depth == 0, "cgrp" where depth == 0: try readAll(content, depth: 1)
            case "resc": try readDensity(&content)
            case "resd" where density == nil: try readDensity(&content)
            default: break
            }
        }
    }

    private mutating func readColors(_ box: inout BoxCursor) throws(CoderError) {
        let method = try box.u8()
        try box.skip(2)
        switch method {
        case 1:
            let number = Int(try box.u32())
            colors = .numbered(number, Array(box.bytes[box.remaining]))
        case 2, 3: colors = .profile(Array(box.bytes[box.remaining]))
        default: break
        }
    }

    private mutating func readPalette(_ box: inout BoxCursor) throws(CoderError) {
        let (entries, columns) = (try box.u16(), try box.u8())
        guard (1...1024).contains(entries), columns > 0 else { throw .corrupt("the palette has an invalid size") }
        var made = Palette()
        for _ in 0..<columns {
            let stored = try box.u8()
            made.bits.append(stored & 0x7F + 1)
            made.isSigned.append(stored & 0x80 != 0)
        }
        guard made.bits.allSatisfy({ $0 <= 38 }) else { throw .corrupt("the palette has colors of more than 38 bits") }
        made.values.reserveCapacity(entries * columns)
        for _ in 0..<entries {
            for bits in made.bits { made.values.append(Int(try box.uint((bits + 7) / 8))) }
        }
        palette = made
    }

    private mutating func readMappings(_ box: inout BoxCursor) throws(CoderError) {
        while !box.isAtEnd {
            let (component, kind, column) = (try box.u16(), try box.u8(), try box.u8())
            mappings.append(Mapping(component: component, column: kind == 1 ? column : nil))
        }
    }

    private mutating func readDefinitions(_ box: inout BoxCursor) throws(CoderError) {
        for _ in 0..<(try box.u16()) {
            definitions.append(
                Definition(channel: try box.u16(), kind: try box.u16(), association: try box.u16()))
        }
    }

    /// Pixels per meter: a fraction and a power of ten, first the vertical ones.
    private mutating func readDensity(_ box: inout BoxCursor) throws(CoderError) {
        let (yTop, yBottom, xTop, xBottom) = (try box.u16(), try box.u16(), try box.u16(), try box.u16())
        let (yPower, xPower) = (Int8(truncatingIfNeeded: try box.u8()), Int8(truncatingIfNeeded: try box.u8()))
        func value(_ top: Int, _ bottom: Int, _ power: Int8) -> UInt32? {
            guard top > 0, bottom > 0, (-6...6).contains(power) else { return nil }
            var result = Double(top) / Double(bottom)
            for _ in 0..<abs(Int(power)) { result = power > 0 ? result * 10 : result / 10 }
            return result < 0.5 || result > 1e9 ? nil : UInt32(result.rounded())
        }
        guard let x = value(xTop, xBottom, xPower), let y = value(yTop, yBottom, yPower) else { return }
        density = .perMeter(x: x, y: y)
    }
}
