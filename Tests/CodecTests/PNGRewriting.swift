import CoderPluginKit
import ImageModel
import PNGCodec
import Testing

/// Rewrites a PNG in memory.
func rewritePNG(
    _ bytes: [UInt8], _ request: RewriteRequest = RewriteRequest(), limits: DecodeLimits = .default,
    host: HostServices = HostServices()
) throws -> [UInt8] {
    let sink = ByteSink()
    let outcome = try PNGRewriter.rewrite(
        request, RewriteSession(source: ByteSource(bytes), sink: sink, limits: limits, host: host))
    let sides = [16, 20].map { bytes[$0..<$0 + 4].reduce(0) { $0 << 8 | Int($1) } }
    #expect(outcome.kept == PixelRect(PixelSize(sides[0], sides[1])))
    return sink.written
}

/// The code of the rewrite error; nil for none.
func pngRewriteFailure(
    _ bytes: [UInt8], _ request: RewriteRequest = RewriteRequest(), limits: DecodeLimits = .default,
    host: HostServices = HostServices()
) -> CoderError.Code? {
    do throws(CoderError) {
        _ = try PNGRewriter.rewrite(
            request, RewriteSession(source: ByteSource(bytes), sink: ByteSink(), limits: limits, host: host))
        return nil
    } catch {
        return error.code
    }
}

/// The names of the chunks of a file.
func pngNames(_ bytes: [UInt8]) -> [String] { pngChunks(bytes).map(\.name) }

/// The data of the first chunk of a name.
func pngData(_ bytes: [UInt8], _ name: String) -> [UInt8]? { pngChunks(bytes).first { $0.name == name }?.data }

/// The bits of a sample and the color type in the header.
func pngForm(_ bytes: [UInt8]) -> [UInt8] { Array(bytes[24..<26]) }

/// Four samples of 16 bits for each pixel, as libpng decodes them.
func pngPixels(_ bytes: [UInt8]) throws -> [UInt16] {
    let sides = [16, 20].map { bytes[$0..<$0 + 4].reduce(0) { $0 << 8 | Int($1) } }
    let isDeep = bytes[24] == 16
    let format: PixelFormat = isDeep ? .rgba16 : .rgba8
    let buffer = try #require(try pngReference(bytes, size: PixelSize(sides[0], sides[1]), format: format))
    let samples = pngBytes(buffer)
    if !isDeep { return samples.map { UInt16($0) * 257 } }
    return stride(from: 0, to: samples.count, by: 2).map { UInt16(samples[$0]) | UInt16(samples[$0 + 1]) << 8 }
}

/// A file of 24 × 16 pixels with filter 0, whose bytes follow from their position.
func pngImage(
    type: UInt8, depth: UInt8 = 8, size: PixelSize = PixelSize(24, 16), before: [[UInt8]] = [],
    _ pixel: (Int, Int) -> [UInt8]
) -> HandmadePNG {
    var rows: [UInt8] = []
    for y in 0..<size.height {
        rows.append(0)
        for x in 0..<size.width { rows += pixel(x, y) }
    }
    var file = HandmadePNG(size.width, size.height, depth: depth, type: type, rows: rows)
    file.before = before
    return file
}

/// Two bytes, the higher one first.
func be16(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)] }
