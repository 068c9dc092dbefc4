internal import ISOBoxes
internal import ImageModel

/// The facts of one coded or derived image of the file, from its properties.
struct Image {
    let id: UInt32
    /// The size after rotation, mirroring and cropping.
    let size: PixelSize
    /// Whether the pixels have one channel, apart from alpha.
    private(set) var isGray: Bool
    let depth: Int
    let hasAlpha: Bool
    let isPremultiplied: Bool
    let codePoints: CodePoints?
    let profile: Range<Int>?
    /// Whether it is one AV1 stream, not composed of others.
    let isAV1: Bool
    /// Whether cropping is the only transform.
    let isOnlyCropped: Bool

    /// - Throws: `.unsupported` for an unsupported kind of image, `.corrupt` if facts are missing.
    init(_ id: UInt32, in derivations: Derivations) throws(CoderError) {
        let table = derivations.table
        guard let item = table.items[id], item.type != FourCC(0) else {
            throw .corrupt("the primary image is not in the file")
        }
        guard item.isImage else { throw .unsupported("an image of type '\(item.type)'") }
        self.id = id
        size = try derivations.size(id)
        let coded = try derivations.coded(id)
        var depth = 8
        var isGray = false
        if let stream = table.streamFacts(of: coded) { (isGray, depth) = stream }
        isAV1 = item.type == "av01"
        // libheif composes every derived image as RGB, overlays with 8 bits.
        self.isGray = isGray && !item.isDerived
        self.depth = item.type == "iovl" ? 8 : depth
        let tiles = item.type == "grid" ? table.targets("dimg", from: id) : []
        var hasAlpha = false
        for place in [id] + Set(tiles) where !hasAlpha { hasAlpha = try derivations.alpha(place) != nil }
        self.hasAlpha = hasAlpha
        isPremultiplied = hasAlpha && !table.targets("prem", from: id).isEmpty
        let transforms = table.properties(of: id).compactMap { property -> Bool? in
            switch property {
            case .cleanAperture: true
            case .rotation, .mirror: false
            default: nil
            }
        }
        isOnlyCropped = transforms == [true]
        // A grid without its own color information uses that of its first tile.
        let described = table.properties(of: id) + (tiles.first.map(table.properties(of:)) ?? [])
        codePoints = described.lazy.compactMap { if case .codePoints(let points) = $0 { points } else { nil } }.first
        profile = described.lazy.compactMap { if case .profile(let range) = $0 { range } else { nil } }.first
    }

    /// Takes the channels of the tiles, for a grid that this plugin composes.
    mutating func adoptTiles(_ table: ItemTable) {
        isGray = table.targets("dimg", from: id).allSatisfy(table.isGray)
    }

    /// The pixel formats: first the width (8 or 16 bits) that fits the stored depth, then the shorter.
    var formats: [PixelFormat] {
        let alpha: PixelFormat.Alpha = isPremultiplied ? .premultiplied : .straight
        let channels: [PixelFormat.Channels] =
            isGray ? [hasAlpha ? .grayAlpha : .gray] : hasAlpha ? [.rgba, .bgra] : [.rgb, .rgba, .bgra]
        return (depth > 8 ? [16, 8] : [8]).flatMap { bits in
            channels.map { PixelFormat($0, bits: bits, alpha: $0.hasAlpha && !hasAlpha ? .opaque : alpha) }
        }
    }
}

extension ItemTable {
    /// Returns whether a coded image has no colors, and its bit depth; nil without a configuration.
    fileprivate func streamFacts(of id: UInt32) -> (isGray: Bool, depth: Int)? {
        for property in properties(of: id) {
            switch property {
            case .hevc(let configuration): return (configuration.isGray, configuration.depth)
            case .av1(let configuration): return (configuration.isGray, configuration.depth)
            default: continue
            }
        }
        return nil
    }

    fileprivate func isGray(_ id: UInt32) -> Bool { streamFacts(of: id)?.isGray ?? false }
}

extension Derivations {
    /// Returns the facts of an image that can be decoded.
    ///
    /// - Throws: `.unsupported`, `.corrupt`, `.limitExceeded`.
    func still(_ id: UInt32) throws(CoderError) -> Image {
        let still = try Image(id, in: self)
        try check(image: id)
        return still
    }
}
