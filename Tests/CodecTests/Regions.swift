import CoderPluginKit
import ImageModel
import TestSupport
import Testing

/// Parts of an image of that size: corners, edges, single pixels, and some at random.
func regions(in size: PixelSize, _ random: inout SeededRandom, count: Int = 8) -> [PixelRect] {
    let (width, height) = (size.width, size.height)
    var all = [
        PixelRect(x: 0, y: 0, width: 1, height: 1), PixelRect(x: width - 1, y: height - 1, width: 1, height: 1),
        PixelRect(x: width - 1, y: 0, width: 1, height: height),
        PixelRect(x: 0, y: height / 2, width: width, height: 1),
        PixelRect(x: 0, y: 0, width: width, height: height),
        PixelRect(x: width / 3, y: height / 3, width: width - width / 3, height: height - height / 3),
    ]
    for index in 0..<count {
        let (x, y) = (Int.random(in: 0..<width, using: &random), Int.random(in: 0..<height, using: &random))
        let most = index % 2 == 0 ? 5 : Int.max
        all.append(
            PixelRect(
                x: x, y: y, width: Int.random(in: 1...min(most, width - x), using: &random),
                height: Int.random(in: 1...min(most, height - y), using: &random)))
    }
    return all
}

/// The bytes of a part of a whole image, rows one after another.
func part(_ rect: PixelRect, of whole: [UInt8], _ size: PixelSize, _ format: PixelFormat) -> [UInt8] {
    let pixel = format.bytesPerPixel
    var bytes: [UInt8] = []
    for y in rect.y..<rect.y + rect.height {
        let start = (y * size.width + rect.x) * pixel
        bytes += whole[start..<start + rect.width * pixel]
    }
    return bytes
}

extension PixelBuffer {
    /// A copy of some rows.
    func band(_ range: Range<Int>) throws -> PixelBuffer {
        let band = try PixelBuffer(size: PixelSize(size.width, range.count), format: format)
        for y in range {
            withRow(y) { bytes in
                band.withMutableRow(y - range.lowerBound) { to in
                    for at in bytes.byteOffsets {
                        to.storeBytes(of: bytes.byte(at: at), toByteOffset: at, as: UInt8.self)
                    }
                }
            }
        }
        return band
    }
}

extension ImageDecoder {
    /// Decodes the image, or a region of it; the source must be complete.
    func image(_ region: PixelRect? = nil, as format: PixelFormat? = nil) throws -> PixelBuffer {
        let info = try readHeader()
        let buffer = try PixelBuffer(size: region?.size ?? info.size, format: format ?? info.nativeFormat)
        #expect(try decode(DecodeRequest(region: region), into: Surface(buffer)) == .complete)
        return buffer
    }
}

/// The result of decoding a part: its pixels, the complete rows, and the code of the error.
struct RegionOutcome: Equatable {
    var pixels: [UInt8] = []
    var rows = 0
    var code: CoderError.Code?
}

extension ImageDecoder {
    /// Decodes a part, or the whole image with nil.
    func outcome(
        of region: PixelRect?, _ format: PixelFormat, scaledTo size: PixelSize? = nil, partial: Bool = false
    ) -> RegionOutcome {
        do throws(CoderError) {
            let info = try readHeader()
            let target = try PixelBuffer(size: region?.size ?? size ?? info.size, format: format)
            let request = DecodeRequest(
                region: region, scaledSize: size == info.size ? nil : size, wantsPartial: partial)
            let surface = Surface(target)
            switch try decode(request, into: surface) {
            case .complete: return RegionOutcome(pixels: target.packed, rows: target.size.height)
            case .partial(let rect):
                let rows = rect.y + rect.height
                return RegionOutcome(pixels: Array(target.packed.prefix(rows * target.bytesPerRow)), rows: rows)
            }
        } catch {
            return RegionOutcome(code: error.code)
        }
    }
}
