internal import ImageModel

/// The chunks of a track: where their positions are stored, and their bytes in the file.
///
///     stsz  size of each sample                     stsc  first chunk, samples in each chunk from it on
///     stco, co64  position of each chunk
///
/// - Source: ISO/IEC 14496-12:2022 sections 8.7.3 to 8.7.5.
struct SampleChunks {
    struct Chunk {
        /// The position of the number in the movie box.
        let place: Int
        let width: Int
        /// The bytes in the file.
        let range: Range<Int>
    }

    private(set) var chunks: [Chunk] = []

    /// - Parameters:
    ///   - table: the payload of an `stbl` box.
    ///   - file: the number of bytes in the file.
    /// - Throws: `.refused` for a table that cannot be written again, `.corrupt`, `.truncated`.
    init(_ table: BoxCursor, file: Int) throws(CoderError) {
        for type in ["stz2", "saio"] as [FourCC] where table.first(type) != nil {
            throw .refused("a sequence with a '\(type)' box cannot be rewritten")
        }
        let isWide = table.first("co64") != nil
        guard var offsets = table.first("co64") ?? table.first("stco") else { return }
        guard !isWide || table.first("stco") == nil, var sizes = table.first("stsz"), var runs = table.first("stsc")
        else { throw .corrupt("a track has no sample sizes, or two lists of positions") }
        try sizes.skip(4)
        let each = Int(try sizes.u32())
        let samples = Int(try sizes.u32())
        try runs.skip(4)
        var runsLeft = Int(try runs.u32())
        try offsets.skip(4)
        let count = Int(try offsets.u32())
        var perChunk = 0
        var nextRun = (first: 0, samples: 0)
        var next = 0
        for index in 1...max(1, count) where count > 0 {
            while nextRun.first <= index {
                if nextRun.first > 0 { perChunk = nextRun.samples }
                guard runsLeft > 0 else {
                    nextRun.first = .max
                    break
                }
                runsLeft -= 1
                nextRun = (Int(try runs.u32()), Int(try runs.u32()))
                guard nextRun.first > 0 else { throw .corrupt("a track has a chunk of number 0") }
                try runs.skip(4)
            }
            let place = offsets.offset
            let width = isWide ? 8 : 4
            let start = try offsets.uint(width)
            let inChunk = min(perChunk, samples - next)
            next += inChunk
            var bytes = 0
            if each > 0 {
                let (product, overflow) = each.multipliedReportingOverflow(by: inChunk)
                bytes = overflow ? .max : product
            } else {
                for _ in 0..<inChunk { bytes += Int(try sizes.u32()) }
            }
            guard start <= UInt64(file), bytes <= file - Int(start) else {
                throw .truncated("the samples of a sequence are behind the end of the file")
            }
            chunks.append(Chunk(place: place, width: width, range: Int(start)..<Int(start) + bytes))
        }
    }
}
