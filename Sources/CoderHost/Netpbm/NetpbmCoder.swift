import ImageModel

/// The formats the host itself speaks, so that it works with an empty folder and pixels can be piped.
struct NetpbmCoder: ImageCoder {
    let descriptor: CoderDescriptor
    private let asPAM: Bool

    static let all: [any ImageCoder] = [
        NetpbmCoder(
            id: "coderhost.pam", asPAM: true, format: "pam", name: "PAM", mime: "image/x-portable-arbitrarymap",
            extensions: ["pam"], digits: [7]),
        NetpbmCoder(
            id: "coderhost.pnm", asPAM: false, format: "pnm", name: "PBM, PGM, PPM", mime: "image/x-portable-anymap",
            extensions: ["pnm", "ppm", "pgm", "pbm"], digits: [1, 2, 3, 4, 5, 6]),
    ]

    private init(
        id: String, asPAM: Bool, format: ImageFormat, name: String, mime: String, extensions: [String], digits: [UInt8]
    ) {
        self.asPAM = asPAM
        let signatures = digits.flatMap { digit in
            // Behind the digit comes white space or a comment; without it, text that begins with P5 would do.
            [UInt8]([0x0A, 0x20, 0x09, 0x0D, 0x23]).map { space in
                Signature(rules: [.bytes(at: 0, [0x50, 0x30 + digit, space], mask: [0xFF, 0xFF, 0xFF])], rank: 0)
            }
        }
        descriptor = CoderDescriptor(
            id: id, version: coderHostVersion, tier: .builtIn, roles: [.decode, .encode],
            formats: [
                PluginManifest.Format(
                    id: format, name: name, mimeTypes: [mime], extensions: extensions, signatures: signatures)
            ])
    }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        NetpbmDecoder(source, context)
    }

    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
        NetpbmEncoder(asPAM: asPAM, context)
    }
}
