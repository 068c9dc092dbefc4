import CoderPluginKit
import ImageModel

/// Writes QOI.
struct QOIWriter: RowWriter {
    private let info: ImageInfo
    private let channels: Int
    private var state = QOIState()
    private var run: UInt8 = 0

    private static let mostRun: UInt8 = 62

    static func formats(for info: ImageInfo) -> [PixelFormat] {
        info.nativeFormat.hasTransparency ? [.rgba8] : [.rgb8]
    }

    init(_ info: ImageInfo, _ session: EncoderSession) throws(CoderError) {
        guard UInt32(exactly: info.size.width) != nil, UInt32(exactly: info.size.height) != nil else {
            throw .invalidArgument("a QOI side must fit 32 bits")
        }
        self.info = info
        channels = info.nativeFormat.bytesPerPixel
    }

    func header() -> [UInt8] {
        let isLinear = info.color.codePoints?.transfer == CodePoints.linear.transfer
        return QOIRows.magic + Self.big(info.size.width) + Self.big(info.size.height)
            + [UInt8(channels), isLinear ? 1 : 0]
    }

    private static func big(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    mutating func write(_ row: RawSpan, to output: inout [UInt8]) {
        for at in stride(from: 0, to: row.byteCount, by: channels) {
            var pixel = UInt32(row.byte(at: at)) | UInt32(row.byte(at: at + 1)) << 8
            pixel |= UInt32(row.byte(at: at + 2)) << 16
            pixel |= channels == 4 ? UInt32(row.byte(at: at + 3)) << 24 : 0xff00_0000
            if pixel == state.previous {
                run += 1
                if run == Self.mostRun { endRun(&output) }
                continue
            }
            endRun(&output)
            write(pixel, to: &output)
        }
    }

    private mutating func endRun(_ output: inout [UInt8]) {
        if run > 0 { output.append(0xc0 | (run - 1)) }
        run = 0
    }

    private mutating func write(_ pixel: UInt32, to output: inout [UInt8]) {
        let place = QOIState.place(pixel)
        let before = state.previous
        state.previous = pixel
        if state.seen[place] == pixel {
            output.append(UInt8(place))
            return
        }
        state.seen[place] = pixel
        func part(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: pixel >> shift) }
        guard pixel >> 24 == before >> 24 else {
            output += [0xff, part(0), part(8), part(16), part(24)]
            return
        }
        let red = part(0) &- UInt8(truncatingIfNeeded: before)
        let green = part(8) &- UInt8(truncatingIfNeeded: before >> 8)
        let blue = part(16) &- UInt8(truncatingIfNeeded: before >> 16)
        let (small, middle) = ((red &+ 2, green &+ 2, blue &+ 2), (red &- green &+ 8, green &+ 32, blue &- green &+ 8))
        if small.0 < 4, small.1 < 4, small.2 < 4 {
            output.append(0x40 | small.0 << 4 | small.1 << 2 | small.2)
        } else if middle.0 < 16, middle.1 < 64, middle.2 < 16 {
            output.append(0x80 | middle.1)
            output.append(middle.0 << 4 | middle.2)
        } else {
            output += [0xfe, part(0), part(8), part(16)]
        }
    }

    mutating func finish(_ output: inout [UInt8]) {
        endRun(&output)
        output += [0, 0, 0, 0, 0, 0, 0, 1]
    }
}
