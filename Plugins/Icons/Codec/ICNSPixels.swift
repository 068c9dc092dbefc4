import CoderPluginKit
import ImageModel

/// A square image of an ICNS file, as packed channels or as bits.
struct ICNSPixels: IconImage {
    enum Layout {
        /// Red, green and blue; the place of the alpha channel, if there is one.
        case separate(Range<Int>?)
        /// Alpha, red, green and blue.
        case first
        /// Black or white, then opaque or transparent.
        case bits
    }

    let info: ImageInfo
    private let session: DecoderSession
    private let side: Int
    private let bytes: [UInt8]
    private let layout: Layout

    init(_ session: DecoderSession, _ side: Int, _ bytes: [UInt8], _ layout: Layout) {
        (self.session, self.side, self.bytes, self.layout) = (session, side, bytes, layout)
        info = ImageInfo(size: PixelSize(side, side), nativeFormat: .rgba8, bitDepth: 8, hasAlpha: true)
    }

    var depth: Int { if case .bits = layout { 1 } else { 32 } }

    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        guard surface.size == info.size, surface.format == .rgba8 else {
            throw CoderError(.misuse, "the surface does not have the size or format of the image")
        }
        let channels = try channels()
        for y in 0..<side {
            surface.withMutableRow(y) { row in
                for x in 0..<side {
                    for channel in 0..<4 {
                        row.storeBytes(
                            of: channels[channel][y * side + x], toByteOffset: 4 * x + channel, as: UInt8.self)
                    }
                }
            }
        }
        return .complete
    }

    /// Returns red, green, blue and alpha.
    private func channels() throws(CoderError) -> [[UInt8]] {
        let count = side * side
        switch layout {
        case .separate(let place):
            var channels = try colors(3)
            guard let place else { return channels + [[UInt8](repeating: 255, count: count)] }
            guard place.count >= count else { throw .truncated("the mask of the icon is too short") }
            channels.append(session.source.bytes(place.prefix(count)))
            return channels
        case .first:
            let channels = try colors(4)
            return Array(channels[1...] + channels[...0])
        case .bits:
            let half = count / 8
            guard bytes.count >= half else { throw .truncated("the bits of the icon are too short") }
            func bit(_ index: Int, _ start: Int) -> Bool { bytes[start + index / 8] >> (7 - index % 8) & 1 == 1 }
            // A set bit is black.
            let gray: [UInt8] = (0..<count).map { bit($0, 0) ? 0 : 255 }
            let hasMask = bytes.count >= 2 * half
            return [gray, gray, gray, (0..<count).map { !hasMask || bit($0, half) ? 255 : 0 }]
        }
    }

    /// Unpacks channels that follow each other: n below 128 announces n + 1 bytes, others n − 125 times the next byte.
    private func colors(_ channelCount: Int) throws(CoderError) -> [[UInt8]] {
        let count = side * side
        if bytes.count == channelCount * count {
            return (0..<channelCount).map { channel in (0..<count).map { bytes[$0 * channelCount + channel] } }
        }
        var result: [[UInt8]] = []
        var place = 0
        for _ in 0..<channelCount {
            var channel: [UInt8] = []
            channel.reserveCapacity(count)
            while channel.count < count {
                guard place + 1 < bytes.count else { throw .truncated("the pixels of the icon end too early") }
                let number = Int(bytes[place])
                if number < 128 {
                    guard place + 1 + number < bytes.count else {
                        throw .truncated("the pixels of the icon end too early")
                    }
                    channel += bytes[place + 1...place + 1 + number]
                    place += number + 2
                } else {
                    channel += repeatElement(bytes[place + 1], count: number - 125)
                    place += 2
                }
            }
            guard channel.count == count else { throw .corrupt("a run of the icon crosses two channels") }
            result.append(channel)
        }
        return result
    }
}
