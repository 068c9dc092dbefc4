import ImageModel

/// The names a Netpbm picture goes by.
enum NetpbmFormat: String {
    case pam, pnm, ppm, pgm, pbm
}

/// The formats the host itself speaks, so that it works with an empty folder and pixels can be piped.
struct NetpbmCoder: ImageCoder {
    let descriptor: CoderDescriptor
    private let format: NetpbmFormat

    static let all: [any ImageCoder] = [
        NetpbmCoder(.pam, name: "PAM", mime: "image/x-portable-arbitrarymap", digits: [7]),
        NetpbmCoder(.pnm, name: "PBM, PGM, PPM", mime: "image/x-portable-anymap", digits: [1, 2, 3, 4, 5, 6]),
        // Read as PNM; as names of their own they say what is to be written.
        NetpbmCoder(.ppm, name: "PPM", mime: "image/x-portable-pixmap", digits: []),
        NetpbmCoder(.pgm, name: "PGM", mime: "image/x-portable-graymap", digits: []),
        NetpbmCoder(.pbm, name: "PBM", mime: "image/x-portable-bitmap", digits: []),
    ]

    private init(_ format: NetpbmFormat, name: String, mime: String, digits: [UInt8]) {
        self.format = format
        let signatures = digits.flatMap { digit in
            // Behind the digit comes white space or a comment; without it, text that begins with P5 would do.
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
