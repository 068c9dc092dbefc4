import ImageModel
import PluginCatalogue
import PluginRuntime

/// The names of the Netpbm formats.
enum NetpbmFormat: String {
    case pam, pnm, ppm, pgm, pbm
}

/// The host's built-in formats, which work without plugins and allow piping of pixels.
struct NetpbmCoder: ImageCoder {
    let descriptor: CoderDescriptor
    private let format: NetpbmFormat

    static let all: [any ImageCoder] = [
        NetpbmCoder(.pam, name: "PAM", mime: "image/x-portable-arbitrarymap", digits: [7]),
        NetpbmCoder(.pnm, name: "PBM, PGM, PPM", mime: "image/x-portable-anymap", digits: [1, 2, 3, 4, 5, 6]),
        // Files are read as PNM; these names select the format to write.
        NetpbmCoder(.ppm, name: "PPM", mime: "image/x-portable-pixmap", digits: []),
        NetpbmCoder(.pgm, name: "PGM", mime: "image/x-portable-graymap", digits: []),
        NetpbmCoder(.pbm, name: "PBM", mime: "image/x-portable-bitmap", digits: []),
    ]

    private init(_ format: NetpbmFormat, name: String, mime: String, digits: [UInt8]) {
        self.format = format
        let signatures = digits.flatMap { digit in
            // White space or a comment follows the digit; otherwise any text that begins with P5 would match.
            [UInt8]([0x0A, 0x20, 0x09, 0x0D, 0x23]).map { space in
                Signature(rules: [.bytes(at: 0, [0x50, 0x30 + digit, space], mask: [0xFF, 0xFF, 0xFF])], rank: 0)
            }
        }
        descriptor = CoderDescriptor(
            id: "coderhost.\(format.rawValue)", version: coderHostVersion, tier: .builtIn,
            roles: digits.isEmpty ? [.encode] : [.decode, .encode, .incremental, .region],
            formats: [
                PluginManifest.Format(
                    id: ImageFormat(format.rawValue), name: name, mimeTypes: [mime], extensions: [format.rawValue],
                    signatures: signatures)
            ])
    }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        NetpbmDecoder(source, context)
    }

    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
        NetpbmEncoder(format, context)
    }
}
