import CoderPluginKit

/// Packs PAM: the header of the stream becomes the text, its samples become the colors.
enum MosaicTranscoder: ImageTranscoder {
    // transcode begins
    static func transcode(
        _ direction: TranscodeDirection, _ format: ImageFormat, _ session: RewriteSession
    ) throws(CoderError) {
        switch direction {
        case .pack:
            let (header, size) = try pamHeader(of: session.source)
            try session.sink.write(MosaicPage.header(size, tile: 1, text: header))
            try session.copy(header.count..<session.source.available)
        case .unpack:
            let page = try MosaicPage(session.source)
            var reader = ByteReader(session.source, at: page.text.lowerBound)
            let (header, size) = try pamHeader(in: reader.bytes(page.text.count))
            guard page.tile == 1, header.count == page.text.count, size == page.size else {
                throw .refused("this mosaic was not packed from PAM")
            }
            try session.copy(page.text.lowerBound..<page.colors.upperBound)
        }
    }
    // transcode ends

    /// Returns the header of a PAM stream that holds exactly one image of 8-bit RGB, and the size of that image.
    ///
    /// - Throws: `.refused` for any other stream.
    private static func pamHeader(of source: ByteSource) throws(CoderError) -> (bytes: [UInt8], size: PixelSize) {
        let (header, size) = try pamHeader(in: source.bytes(0..<min(source.available, 4096)))
        guard source.available - header.count == 3 * (size.area ?? 0) else {
            throw .refused("the stream holds more or less than one image")
        }
        return (header, size)
    }

    /// Returns the header at the start of the bytes.
    ///
    /// - Source: pam(5).
    private static func pamHeader(in bytes: [UInt8]) throws(CoderError) -> (bytes: [UInt8], size: PixelSize) {
        var size = PixelSize.zero
        var (isRGB, is8Bit) = (false, false)
        var end = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            end += line.count + 1
            if end > bytes.count { break }
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            switch words.first {
            case "WIDTH": size.width = words.last.flatMap { Int($0) } ?? 0
            case "HEIGHT": size.height = words.last.flatMap { Int($0) } ?? 0
            case "DEPTH": isRGB = words.last == "3"
            case "MAXVAL": is8Bit = words.last == "255"
            case "ENDHDR":
                guard bytes.starts(with: "P7\n".utf8), isRGB, is8Bit, !size.isEmpty, size.area ?? .max < Int.max / 8
                else { throw .refused("only PAM of RGB with 8 bits is packed") }
                return (Array(bytes[..<end]), size)
            default: continue
            }
        }
        throw .refused("this is no PAM header")
    }
}
