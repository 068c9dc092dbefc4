import ImageModel
import JPEGShim

/// The code that compressor and decompressor share.
enum JPEGLibrary {
    static let name = "libjpeg-turbo"
    /// The longest side that the library supports.
    ///
    /// - Source: `jmorecfg.h`, `JPEG_MAX_DIMENSION`.
    static let maxSide = 65_500

    /// Returns the shim's number for a format; the caller has checked that there is one.
    static func code(_ format: PixelFormat) -> UInt32 {
        switch format.channels {
        case .gray: JPEGS_GRAY
        case .rgba: JPEGS_RGBA
        case .bgra: JPEGS_BGRA
        case .cmyk: JPEGS_CMYK
        case .rgb, .grayAlpha: JPEGS_RGB
        }
    }

    /// One inch is 0.0254 m.
    static func perMeter(inch: UInt32) -> UInt32 { (inch * 10_000 + 127) / 254 }
    static func perInch(meter: UInt32) -> UInt32 { UInt32((UInt64(meter) * 254 + 5_000) / 10_000) }

    /// Returns the number of bytes of compressed data before the next marker that begins a segment or ends the image.
    ///
    /// Does not count an `FF` at the very end, which may begin a marker.
    static func bytesBeforeMarker(_ bytes: RawSpan) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            return unsafe jpegs_before_marker(start.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
    }

    static func bytesBeforeMarker(_ bytes: ArraySlice<UInt8>) -> Int {
        unsafe bytes.withUnsafeBytes { unsafe bytesBeforeMarker($0.bytes) }
    }

    static func error(_ status: Int32, _ message: String) -> CoderError {
        var error =
            switch status {
            case JPEGS_NOT_MINE: CoderError.notMine()
            case JPEGS_UNSUPPORTED: CoderError(.unsupportedFeature, message, feature: message)
            case JPEGS_NO_MEMORY: CoderError(.outOfMemory, "not enough memory for the JPEG library")
            case JPEGS_TRUNCATED: CoderError.truncated()
            default: CoderError.corrupt(message)
            }
        error.domain = name
        return error
    }
}
