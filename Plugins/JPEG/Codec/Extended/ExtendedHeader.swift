import CoderPluginKit
import ImageModel

/// The headers before the first scan of an image that the library does not decode.
struct ExtendedHeader {
    enum Color {
        case gray
        case rgb
        case yCbCr
        case cmyk
        case ycck
    }

    let frame: ExtendedFrame
    let color: Color
    let density: PixelDensity?
    let tables: ScanTables
    /// The first scan header.
    let scan: JPEGSegment

    /// The native format: samples of at most 8 bits become 8 bits, all others 16.
    var format: PixelFormat {
        let bits = frame.precision > 8 ? 16 : 8
        return switch color {
        case .gray: PixelFormat(.gray, bits: bits)
        case .rgb, .yCbCr: PixelFormat(.rgb, bits: bits)
        case .cmyk, .ycck: PixelFormat(.cmyk, bits: bits)
        }
    }

    /// Reads the headers; returns nil for a frame of the library or of an unsupported process.
    ///
    /// - Throws: `.needsInput`, `.truncated`, `.corrupt`, `.unsupportedFeature`.
    init?(_ source: JPEGSource, _ host: HostServices) throws(CoderError) {
        do throws(CoderError) {
            try self.init(walking: source, host)
        } catch {
            throw error.code == .truncated && !source.source.isComplete ? .needsInput : error
        }
    }

    private init?(walking source: JPEGSource, _ host: HostServices) throws(CoderError) {
        var walk = JPEGWalk(source, host, at: 2)
        var tables = ScanTables()
        var frame: ExtendedFrame?
        var transform: UInt8?
        var jfif: [UInt8]?
        while true {
            switch try walk.next() {
            case .bytes: continue
            case .end: throw .corrupt("the image has no scan")
            case .segment(let segment):
                switch segment.marker {
                case 0xC4, 0xDB, 0xDD: try tables.read(segment, source)
                case 0xCC, 0xC8: continue
                case 0xC0...0xCF, 0xF7:
                    guard frame == nil else { throw .corrupt("a second frame header", at: segment.bytes.lowerBound) }
                    guard let found = try ExtendedFrame(marker: segment.marker, source.bytes(segment.body)) else {
                        return nil
                    }
                    frame = found
                case 0xE0 where jfif == nil && segment.body.count >= 14:
                    if try source.begins(segment.body, with: Array("JFIF\0".utf8)) {
                        jfif = try source.bytes(segment.body)
                    }
                case 0xEE where transform == nil && segment.body.count >= 12:
                    if try source.begins(segment.body, with: Array("Adobe".utf8)) {
                        transform = try source.byte(segment.body.lowerBound + 11)
                    }
                case 0xDA:
                    guard let frame else {
                        throw .corrupt("a scan begins before the frame header", at: segment.bytes.lowerBound)
                    }
                    self.frame = frame
                    self.tables = tables
                    scan = segment
                    color = Self.color(of: frame, isJFIF: jfif != nil, transform: transform)
                    density = jfif.flatMap(Self.density)
                    return
                default: continue
                }
            }
        }
    }

    /// The meaning of the components, as libjpeg-turbo 3 guesses it.
    ///
    /// Without a marker, three components are RGB if the image is lossless: a color transform would lose bits.
    ///
    /// - Source: JFIF 1.02; Adobe TN 5116, section 18.
    private static func color(of frame: ExtendedFrame, isJFIF: Bool, transform: UInt8?) -> Color {
        switch frame.components.count {
        case 1: return .gray
        case 3:
            if isJFIF { return .yCbCr }
            if let transform { return transform == 0 ? .rgb : .yCbCr }
            let isNamed = frame.components.map(\.id).elementsEqual("RGB".utf8)
            return isNamed || frame.process == .lossless ? .rgb : .yCbCr
        default: return transform.map { $0 != 0 } ?? false ? .ycck : .cmyk
        }
    }

    /// - Source: JFIF 1.02, "units", "Xdensity", "Ydensity".
    private static func density(_ jfif: [UInt8]) -> PixelDensity? {
        let x = UInt32(jfif[8]) << 8 | UInt32(jfif[9])
        let y = UInt32(jfif[10]) << 8 | UInt32(jfif[11])
        if x == 0 || y == 0 { return nil }
        return switch jfif[7] {
        case 0: .aspect(x: x, y: y)
        case 1: .perMeter(x: JPEGLibrary.perMeter(inch: x), y: JPEGLibrary.perMeter(inch: y))
        case 2: .perMeter(x: x * 100, y: y * 100)
        default: nil
        }
    }
}
