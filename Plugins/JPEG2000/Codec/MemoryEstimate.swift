internal import ImageModel

/// Estimates of the memory that OpenJPEG allocates, which it does not count itself.
///
/// The numbers per object are those of the structs of OpenJPEG 2.5, rounded up.
struct MemoryEstimate {
    private let codestream: Codestream
    private let codedBytes: Int

    private static let tileBytes = 6144
    private static let tileComponentBytes = 1152
    private static let blockBytes = 128
    /// Segments and pieces of a code-block whose bytes are read.
    private static let codedBlockBytes = 640
    private static let precinctBytes = 320

    init(_ codestream: Codestream, codedBytes: Int) {
        self.codestream = codestream
        self.codedBytes = codedBytes
    }

    /// The memory for the parameters of all tiles, which the library allocates with the header.
    var header: Double {
        let (across, down) = codestream.tileCounts
        return Double(across * down)
            * Double(Self.tileBytes + Self.tileComponentBytes * codestream.components.count)
    }

    /// The memory for decoding an area with some of the components, beside that for the header.
    func decoding(_ area: GridArea, reduction: Int, _ used: [Int]) -> Double {
        let (width, height) = (
            min(codestream.tile.width, codestream.image.width), min(codestream.tile.height, codestream.image.height)
        )
        let scale = Double(1 << min(62, 2 * reduction))
        var total = Double(codedBytes)
        for (index, component) in codestream.components.enumerated() {
            let (across, down) = (width / component.dx + 1, height / component.dy + 1)
            // The library makes code-blocks and precincts for a whole tile.
            total += objects(codestream.codings[index], width: across, height: down)
            guard used.contains(index) else { continue }
            let part = Double(area.width / component.dx + 1) * Double(area.height / component.dy + 1)
            // Four bytes for each sample of the result; for each of a tile, unless it becomes the result.
            let isResult = area == codestream.image && codestream.tileCounts == (1, 1)
            total += 4 * part / scale + (isResult ? 0 : 4 * min(Double(across) * Double(down), part) / scale)
        }
        return total
    }

    /// The code-blocks and precincts of a component of a tile, on all levels.
    private func objects(_ coding: Codestream.Coding, width: Int, height: Int) -> Double {
        var total = 0.0
        for resolution in 0...coding.levels {
            let halvings = coding.levels - resolution
            let (w, h) = (width.halvedUp(halvings), height.halvedUp(halvings))
            let precinct =
                resolution < coding.precincts.count ? coding.precincts[resolution] : (width: 15, height: 15)
            let precincts = (Double(w >> precinct.width) + 1) * (Double(h >> precinct.height) + 1)
            // Blocks of the bands, which have half the size, are at most as large as a precinct.
            let shrink = resolution == 0 ? 0 : 1
            let blockWidth = max(0, min(coding.blockWidth, precinct.width - shrink))
            let blockHeight = max(0, min(coding.blockHeight, precinct.height - shrink))
            let blocks = (Double(w >> blockWidth) + 2) * (Double(h >> blockHeight) + 2)
            total +=
                precincts * Double(3 * Self.precinctBytes) + blocks * Double(Self.blockBytes + Self.codedBlockBytes)
        }
        return total
    }
}
