package import ImageModel

/// A property that items of the file refer to.
///
/// - Source: ISO/IEC 23008-12 (HEIF) section 6.5; ISO/IEC 14496-12 section 12.1.5 for `colr`.
package enum ItemProperty {
    /// The size before any transform.
    case extent(PixelSize)
    case codePoints(CodePoints)
    case profile(Range<Int>)
    /// Counterclockwise quarter turns.
    case rotation(Int)
    /// 0 exchanges top and bottom, 1 left and right.
    case mirror(Int)
    case cleanAperture(CleanAperture)
    case auxiliary(String)
    case hevc(HEVCConfiguration)
    case av1(AV1Configuration)
    case other(FourCC)
    /// A property that could not be read; only an item that has it is damaged.
    case damaged(CoderError)

    /// Properties that a reader may show the item with: applied here or by a library, or without effect on pixels.
    ///
    /// Any other essential property changes the image in an unknown way.
    ///
    /// - Source: ISO/IEC 23008-12:2022 section 6.5; AV1 Image File Format 1.1 section 2.3.
    package static let understood: Set<FourCC> = [
        "a1lx", "a1op", "altt", "amve", "auxC", "av1C", "cclv", "clap", "clli", "colr", "hvcC", "imir", "irot", "ispe",
        "lsel", "mdcv", "ndwt", "pasp", "pixi", "reve", "udes",
    ]

    /// Whether the property rotates, mirrors or crops.
    package var isTransform: Bool {
        switch self {
        case .rotation, .mirror, .cleanAperture: true
        default: false
        }
    }

    /// Whether the property declares colors.
    package var isColor: Bool {
        switch self {
        case .codePoints, .profile, .other("colr"): true
        default: false
        }
    }

    package init(_ box: Box, in cursor: BoxCursor) throws(CoderError) {
        var fields = cursor.inside(box)
        switch box.type {
        case "ispe":
            _ = try fields.fullBox()
            self = .extent(PixelSize(Int(try fields.u32()), Int(try fields.u32())))
        case "colr":
            self = try Self.color(&fields, type: box.type)
        case "irot":
            self = .rotation(try fields.u8() & 3)
        case "imir":
            self = .mirror(try fields.u8() & 1)
        case "clap":
            self = .cleanAperture(try CleanAperture(&fields))
        case "auxC":
            _ = try fields.fullBox()
            self = .auxiliary(fields.string())
        case "hvcC":
            self = .hevc(try HEVCConfiguration(&fields))
        case "av1C":
            self = .av1(try AV1Configuration(&fields))
        default:
            self = .other(box.type)
        }
    }

    private static func color(_ fields: inout BoxCursor, type: FourCC) throws(CoderError) -> ItemProperty {
        switch FourCC(try fields.u32()) {
        case "nclx":
            let primaries = try fields.u16()
            let transfer = try fields.u16()
            let matrix = try fields.u16()
            let isFullRange = try fields.u8() & 0x80 != 0
            guard let primaries = UInt8(exactly: primaries), let transfer = UInt8(exactly: transfer),
                let matrix = UInt8(exactly: matrix)
            else { return .other(type) }
            return .codePoints(
                CodePoints(primaries: primaries, transfer: transfer, matrix: matrix, isFullRange: isFullRange))
        case "rICC", "prof":
            return .profile(fields.remaining)
        default:
            return .other(type)
        }
    }
}

/// The visible part of a coded image.
///
/// - Source: ISO/IEC 14496-12 section 12.1.4.
package struct CleanAperture {
    /// The size, rounded to whole pixels as libheif does.
    package let size: PixelSize
    /// Whether width and height are whole numbers.
    private let isWhole: Bool
    /// The offset from the center of the image to the center of the part.
    private let across, down: Fraction

    private typealias Fraction = (numerator: Int, denominator: Int)

    package init(_ fields: inout BoxCursor) throws(CoderError) {
        func fraction(_ fields: inout BoxCursor) throws(CoderError) -> Fraction {
            let fraction = (numerator: Int(try fields.u32()), denominator: Int(try fields.u32()))
            guard fraction.denominator > 0, fraction.denominator <= Int(Int32.max) else {
                throw .corrupt("a 'clap' box has a zero denominator")
            }
            return fraction
        }
        func rounded(_ fraction: Fraction) -> Int {
            (fraction.numerator + fraction.denominator / 2) / fraction.denominator
        }
        let (width, height) = (try fraction(&fields), try fraction(&fields))
        size = PixelSize(rounded(width), rounded(height))
        isWhole = width.numerator % width.denominator == 0 && height.numerator % height.denominator == 0
        func offset(_ fields: inout BoxCursor) -> Fraction {
            // libheif refuses a box that ends early: no valid offset is as large.
            guard let numerator = try? fields.u32(), let denominator = try? fields.u32(), denominator > 0 else {
                return (Int(Int32.max), 1)
            }
            return (Int(Int32(bitPattern: numerator)), Int(denominator))
        }
        across = offset(&fields)
        down = offset(&fields)
    }

    /// Returns the visible part of an image; nil if it is not inside the image, or not of whole pixels.
    package func rect(in image: PixelSize) -> PixelRect? {
        guard isWhole, !size.isEmpty, size.width <= image.width, size.height <= image.height else { return nil }
        // Rounded down, as libheif does.
        func start(_ offset: Fraction, _ free: Int) -> Int? {
            let (middle, overflow) = free.multipliedReportingOverflow(by: offset.denominator)
            guard !overflow, abs(middle) < 1 << 61 else { return nil }
            let (sum, whole) = (2 * offset.numerator + middle, 2 * offset.denominator)
            return sum >= 0 ? sum / whole : -((whole - 1 - sum) / whole)
        }
        guard let x = start(across, image.width - size.width), let y = start(down, image.height - size.height) else {
            return nil
        }
        let rect = PixelRect(x: x, y: y, width: size.width, height: size.height)
        return PixelRect(image).contains(rect) ? rect : nil
    }
}

/// The fields of an `hvcC` box before the parameter sets, which follow as NAL units.
///
/// - Source: ISO/IEC 14496-15 section 8.3.3.1.
package struct HEVCConfiguration {
    package let isGray: Bool
    package let depth: Int
    package let sizes: CodedSizes

    package init(_ fields: inout BoxCursor) throws(CoderError) {
        try fields.skip(16)
        isGray = try fields.u8() & 3 == 0
        depth = 8 + (try fields.u8() & 7)
        try fields.skip(4)
        var sizes = CodedSizes()
        for _ in 0..<(try fields.u8()) {
            try fields.skip(1)
            for _ in 0..<(try fields.u16()) {
                let length = try fields.u16()
                let start = fields.offset
                try fields.skip(length)
                sizes.add(set: fields.bytes[start..<start + length])
            }
        }
        self.sizes = sizes
    }
}

/// The largest and smallest sizes in the sequence parameter sets of a stream.
package struct CodedSizes {
    package private(set) var first: PixelSize?
    package private(set) var longest = PixelSize.zero
    package private(set) var largest = PixelSize.zero
    /// The smallest visible width and height; nil without parameter sets.
    package private(set) var leastShown: PixelSize?

    /// - Parameter unit: any NAL unit; only parameter sets have a size.
    package mutating func add(set unit: ArraySlice<UInt8>) {
        guard let size = CodedSize.hevc(unit), let shown = CodedSize.hevcWindow(unit) else { return }
        first = first ?? size
        if max(size.width, size.height) > max(longest.width, longest.height) { longest = size }
        if size.area ?? .max > largest.area ?? .max { largest = size }
        let least = leastShown ?? shown
        leastShown = PixelSize(min(least.width, shown.width), min(least.height, shown.height))
    }
}

/// The fields of an `av1C` box; the sequence header may follow.
///
/// - Source: AV1 Codec ISO Media File Format Binding, section 2.3.
package struct AV1Configuration {
    package let isGray: Bool
    package let depth: Int
    /// The size in the sequence header, if there is one.
    package let coded: PixelSize?

    package init(_ fields: inout BoxCursor) throws(CoderError) {
        try fields.skip(2)
        let flags = try fields.u8()
        depth = flags & 0x40 == 0 ? 8 : flags & 0x20 == 0 ? 10 : 12
        isGray = flags & 0x10 != 0
        try fields.skip(1)
        coded = CodedSize.av1(fields.bytes[fields.remaining])
    }
}
