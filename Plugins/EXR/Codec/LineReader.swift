internal import CoderPluginKit
internal import ImageModel

/// Reads rows of a part in which some channels have fewer samples than pixels; samples between them are interpolated.
///
/// Only parts of rows can have such channels.
final class LineReader {
    private let source: PartReader.Source
    private let form: PartForm
    private let rowsPerChunk: Int
    private let size: PixelSize
    private var part: Part { source.part }
    /// Decoded chunks by number.
    private var chunks: [Int: Chunk] = [:]

    private struct Chunk {
        /// The samples of each used channel, as floats.
        var planes: [[Float]] = []
    }

    /// The largest number of pixels for one sample, across or down.
    static let mostPixels = 8

    init(_ source: PartReader.Source, _ form: PartForm, rowsPerChunk: Int) throws(CoderError) {
        (self.source, self.form, self.rowsPerChunk) = (source, form, rowsPerChunk)
        size = source.part.data.size
        guard part.storage.tile == nil else { throw .unsupported("tiles with channels of fewer samples") }
        for channel in form.plan.used.map({ part.channels[$0] }) {
            let step = channel.sampling
            guard max(step.width, step.height) <= Self.mostPixels else {
                throw .unsupported("one sample of channel \(channel.name) for \(step) pixels")
            }
            guard part.data.x % step.width == 0, part.data.y % step.height == 0, step.width <= size.width,
                step.height <= size.height
            else { throw .corrupt("the samples of channel \(channel.name) do not begin at the data window") }
        }
    }

    /// Returns the pixels of a row as interleaved floats.
    func row(_ y: Int, _ findings: inout Findings) throws(CoderError) -> [UInt8] {
        let number = y / rowsPerChunk
        // The samples around a row may be in the chunks before and behind it.
        let reach = (Self.mostPixels - 1) / rowsPerChunk + 1
        chunks = chunks.filter { abs($0.key - number) <= reach }
        var colors: [[Float]] = []
        for index in form.plan.used.indices { colors.append(try samples(index, y, &findings)) }
        let transparent = form.formats[0].hasTransparency
        let alpha = form.plan.alpha == nil ? nil : colors.removeLast()
        var pixels: [Float] = []
        pixels.reserveCapacity(size.width * form.channels.count)
        var next = 0
        let sources = form.plan.colors.map { channel in
            defer { next += channel == nil ? 0 : 1 }
            return channel == nil ? nil : colors[next]
        }
        for x in 0..<size.width {
            if form.plan.meaning == .luminance {
                let (luminance, weights) = (colors[0][x], form.colors.weights)
                let red = (colors[1][x] + 1) * luminance
                let blue = (colors[2][x] + 1) * luminance
                pixels.append(red)
                pixels.append((luminance - red * weights.red - blue * weights.blue) / weights.green)
                pixels.append(blue)
            } else {
                for source in sources { pixels.append(source?[x] ?? 0) }
            }
            if transparent { pixels.append(alpha?[x] ?? 1) }
        }
        return FloatBytes.bytes(pixels)
    }

    /// Returns the samples of a used channel at all pixels of a row.
    private func samples(_ index: Int, _ y: Int, _ findings: inout Findings) throws(CoderError) -> [Float] {
        let step = part.channels[form.plan.used[index]].sampling
        let above = y / step.height
        let upper = try line(index, above, step, &findings)
        let share = Float(y % step.height) / Float(step.height)
        let last = (size.height - 1) / step.height
        let lower = share > 0 && above < last ? try line(index, above + 1, step, &findings) : upper
        let count = upper.count
        return (0..<size.width).map { x in
            let place = x / step.width
            let next = min(place + 1, count - 1)
            let part = Float(x % step.width) / Float(step.width)
            func between(_ row: [Float]) -> Float {
                part == 0 ? row[place] : row[place] + (row[next] - row[place]) * part
            }
            let top = between(upper)
            return share == 0 ? top : top + (between(lower) - top) * share
        }
    }

    /// Returns a row of samples, counted from the top of the part.
    private func line(
        _ index: Int, _ line: Int, _ step: PixelSize, _ findings: inout Findings
    ) throws(CoderError) -> [Float] {
        let number = line * step.height / rowsPerChunk
        let chunk = try chunk(number, &findings)
        let first = (number * rowsPerChunk + step.height - 1) / step.height
        let width = (size.width - 1) / step.width + 1
        let start = (line - first) * width
        let plane = chunk.planes[index]
        guard start >= 0, start + width <= plane.count else { return [Float](repeating: 0, count: width) }
        return Array(plane[start..<start + width])
    }

    private func chunk(_ number: Int, _ findings: inout Findings) throws(CoderError) -> Chunk {
        if let chunk = chunks[number] { return chunk }
        let top = number * rowsPerChunk
        let height = min(rowsPerChunk, size.height - top)
        var planes: [EXRFile.Plane] = []
        var end = 0
        for index in form.plan.used {
            let channel = part.channels[index]
            // The library forgets the sampling of halves that it converts.
            let bytes = channel.sample == .half ? 2 : 4
            planes.append(
                EXRFile.Plane(
                    channel: index, offset: end, pixelStride: bytes,
                    rowStride: bytes * ((size.width - 1) / channel.sampling.width + 1), sampleBytes: bytes))
            // Room for every row, so that the check of one bound covers all channels.
            end += bytes * size.width * height
        }
        var bytes = [UInt8](repeating: 0, count: end)
        let chunk = EXRFile.Chunk(
            part: part.index, isTile: false, x: 0, y: part.data.y + top, level: 0,
            size: PixelSize(size.width, height))
        let outcome = try source.file.decode(chunk, planes, into: &bytes)
        let isMissing = outcome == .damaged && source.places?.isMissing(chunk, part) == true
        findings.note(isMissing ? .missing : outcome, outcome == .intact ? "" : source.file.message)
        if outcome != .intact { bytes = [UInt8](repeating: 0, count: end) }
        var made = Chunk()
        for plane in planes {
            let count = size.width * height
            made.planes.append(
                plane.sampleBytes == 2
                    ? FloatBytes.floats(ofHalves: bytes, plane.offset, count)
                    : FloatBytes.floats(bytes, plane.offset, count))
        }
        chunks[number] = made
        return made
    }
}
