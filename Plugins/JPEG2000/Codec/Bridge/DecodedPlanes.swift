internal import CoderPluginKit
internal import ImageModel
internal import JPEG2000Shim

/// Decoded samples of some components for a part of the image.
///
/// - Ownership: owns the decoder of the library, in which the samples are.
// Sendable because: the samples do not change any more; one thread at a time uses the object.
@safe final class DecodedPlanes: @unchecked Sendable {
    /// The samples of one component, in rows without padding.
    @safe struct Plane {
        @unsafe let samples: UnsafePointer<Int32>
        let width: Int
        let height: Int
        /// The position of the first sample.
        let x: Int
        let y: Int
    }

    private let decoder: OpaquePointer
    /// The planes by component; nil for a component that was not decoded.
    let planes: [Plane?]
    let warnings: [String]

    /// The bytes of a codestream for the library.
    enum Input {
        /// In memory, for any thread.
        case memory(ArrivedBytes, Range<Int>)
        /// Read piece by piece, on the thread of the session.
        case pieces(ByteSource, Range<Int>, HostServices)
    }

    private final class Reader {
        let source: ByteSource
        let start: Int
        let host: HostServices
        var error: CoderError?

        init(_ source: ByteSource, start: Int, _ host: HostServices) {
            (self.source, self.start, self.host) = (source, start, host)
        }
    }

    /// Decodes a part.
    ///
    /// - Parameters:
    ///   - area: the part on the reference grid.
    ///   - components: the components to decode, ascending; nil for all.
    /// - Throws: `.corrupt`, `.unsupportedFeature`, `.outOfMemory`; `.cancelled` and `.deadlineExceeded` while it reads.
    init(_ input: Input, _ area: GridArea, reduction: Int, components: [Int]?) throws(CoderError) {
        var reader: Reader?
        var source = unsafe jp2_shim_source()
        switch input {
        case .memory(let bytes, let range):
            unsafe source.bytes = bytes.start.map { unsafe $0 + range.lowerBound }
            unsafe source.count = UInt64(range.count)
        case .pieces(let bytes, let range, let host):
            let made = Reader(bytes, start: range.lowerBound, host)
            reader = made
            unsafe source.count = UInt64(range.count)
            unsafe source.context = Unmanaged.passUnretained(made).toOpaque()
            unsafe source.read = { context, offset, target, count in
                let reader = unsafe Unmanaged<Reader>.fromOpaque(context!).takeUnretainedValue()
                let buffer = unsafe UnsafeMutableBufferPointer(start: target, count: Int(count))
                do throws(CoderError) {
                    try reader.host.checkCancellation()
                    return UInt64(try unsafe reader.source.read(at: reader.start + Int(offset), into: buffer))
                } catch {
                    reader.error = reader.error ?? error
                    return 0
                }
            }
        }
        guard let decoder = unsafe jp2_shim_decoder_new(&source) else {
            throw CoderError(.outOfMemory, "there is not enough memory")
        }
        var part = jp2_shim_area(
            left: UInt32(clamping: area.left), top: UInt32(clamping: area.top), right: UInt32(clamping: area.right),
            bottom: UInt32(clamping: area.bottom))
        let wanted = (components ?? []).map { UInt32($0) }
        let status = unsafe wanted.withUnsafeBufferPointer {
            unsafe jp2_shim_decode(decoder, &part, UInt32(reduction), $0.baseAddress, UInt32($0.count))
        }
        if status != 0 || reader?.error != nil {
            let message = unsafe String(cString: jp2_shim_error(decoder))
            unsafe jp2_shim_decoder_free(decoder)
            throw reader?.error ?? Self.error(status, message)
        }
        unsafe self.decoder = decoder
        var planes: [Plane?] = []
        for index in 0..<(unsafe jp2_shim_plane_count(decoder)) {
            var plane = unsafe jp2_shim_plane()
            unsafe jp2_shim_get_plane(decoder, index, &plane)
            let (width, height) = unsafe (Int(plane.width), Int(plane.height))
            let (x, y) = unsafe (Int(plane.x), Int(plane.y))
            planes.append(
                unsafe plane.samples.map {
                    unsafe Plane(samples: $0, width: width, height: height, x: x, y: y)
                })
        }
        self.planes = planes
        var warnings: [String] = []
        while let text = unsafe jp2_shim_next_warning(decoder) { unsafe warnings.append(String(cString: text)) }
        self.warnings = warnings
    }

    deinit { unsafe jp2_shim_decoder_free(decoder) }

    private static func error(_ status: Int32, _ message: String) -> CoderError {
        var error: CoderError
        switch status {
        case jp2_shim_no_memory: error = CoderError(.outOfMemory, "there is not enough memory")
        case jp2_shim_unsupported:
            error = CoderError(.unsupportedFeature, "OpenJPEG does not support this codestream: \(message)")
            error.feature = "this coding of JPEG 2000"
        default:
            error = .corrupt(message.isEmpty ? "the codestream is damaged" : "the codestream is damaged: \(message)")
        }
        error.domain = "OpenJPEG"
        return error
    }
}
