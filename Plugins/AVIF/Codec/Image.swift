internal import AVIFShim
internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The properties of an image, from the boxes.
struct Image {
    /// The size in the stream.
    let stored: PixelSize
    /// The visible part.
    let part: PixelRect
    /// The size after cropping and rotation.
    let size: PixelSize
    let turns: UInt8
    let mirror: UInt8
    let depth: Int
    let hasAlpha: Bool
    let codePoints: CodePoints?
    let hasProfile: Bool
    private let chroma: Int

    /// - Throws: `.corrupt` for an image without a size.
    init(_ facts: avif_shim_facts, _ session: DecoderSession) throws(CoderError) {
        stored = facts.storedSize
        guard !stored.isEmpty, stored.area != nil else { throw .corrupt("the image has no size") }
        var part = PixelRect(stored)
        if facts.has_clap != 0 {
            if let rect = CleanAperture.rect(facts.aperture, in: stored) {
                part = rect
            } else {
                session.host.warn("ignored a clean aperture that MIAF does not allow")
            }
        }
        self.part = part
        (turns, mirror) = (facts.turns, facts.mirror)
        size = turns % 2 == 1 ? part.size.transposed : part.size
        depth = Int(facts.depth)
        chroma = Int(facts.chroma)
        hasAlpha = facts.has_alpha != 0
        hasProfile = facts.icc_count > 0
        // 2 is "unspecified" in all three tables of ITU-T H.273.
        let told = [facts.primaries, facts.transfer, facts.matrix]
        if told.contains(where: { $0 != 2 }), told.allSatisfy({ $0 < 256 }) {
            codePoints = CodePoints(
                primaries: UInt8(facts.primaries), transfer: UInt8(facts.transfer), matrix: UInt8(facts.matrix),
                isFullRange: facts.full_range != 0)
        } else {
            codePoints = nil
        }
    }

    /// The formats that fit the stored depth come first. Fully opaque alpha also counts as straight.
    var formats: [PixelFormat] {
        (depth > 8 ? [16, 8] : [8]).flatMap { bits in
            if hasAlpha {
                let channels: [PixelFormat.Channels] = isGray ? [.grayAlpha, .rgba, .bgra] : [.rgba, .bgra]
                return channels.map { PixelFormat($0, bits: bits) }
            }
            return [PixelFormat(isGray ? .gray : .rgb, bits: bits)]
                + [PixelFormat.Alpha.opaque, .straight].flatMap { alpha in
                    [PixelFormat(.rgba, bits: bits, alpha: alpha), PixelFormat(.bgra, bits: bits, alpha: alpha)]
                }
        }
    }

    /// The transform from stored samples to shown pixels.
    var placement: Placement { Placement(part, turns: Int(turns), mirror: mirror == 0 ? nil : Int(mirror) - 1) }

    var isGray: Bool { chroma == 400 }

    /// Whether two columns, or two rows, share one color sample.
    var halvesColumns: Bool { chroma == 420 || chroma == 422 }
    var halvesRows: Bool { chroma == 420 }

    /// The peak memory of libavif and dav1d. It is one frame and a copy of it (grids, film grain), or all eight
    /// reference frames of AV1 and the current one. Each tile has its own decoder, which keeps its memory.
    func libraryMemory(frames: Int, tiles: Int = 0) -> Int {
        libraryMemory(of: stored) * (frames > 1 ? 9 : 2) + tiles * (400 << 10)
    }

    /// The samples of a frame of some size.
    func libraryMemory(of size: PixelSize) -> Int {
        let halves = (chroma == 400 ? 2 : chroma == 420 ? 3 : chroma == 422 ? 4 : 6) + (hasAlpha ? 2 : 0)
        return (size.area ?? 0) * halves / 2 * (depth > 8 ? 2 : 1)
    }

    /// The limit that the full image exceeds.
    func excess(over limits: DecodeLimits) -> CoderError? {
        let side = max(stored.width, stored.height)
        if limits.maxSide > 0, side > limits.maxSide {
            return .limit("side", allowed: limits.maxSide, requested: side)
        }
        let area = stored.area ?? .max
        if limits.maxPixels > 0, area > limits.maxPixels {
            return .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
        return nil
    }
}
