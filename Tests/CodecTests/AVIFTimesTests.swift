import ImageModel
import TestSupport
import Testing

@testable import AVIFCodec

@Suite struct `Times in AVIF boxes` {
    /// A box with a size, a type and a payload.
    private func box(_ type: String, _ payload: [UInt8]) -> [UInt8] {
        let size = payload.count + 8
        return [UInt8(size >> 24), UInt8(size >> 16 & 255), UInt8(size >> 8 & 255), UInt8(size & 255)]
            + Array(type.utf8) + payload
    }

    @Test func `are zeroed in the movie, its tracks and their media only`() {
        let times = [UInt8](1...16)
        let rest = [UInt8](repeating: 7, count: 24)
        func header(_ times: [UInt8]) -> [UInt8] { [1, 0, 0, 0] + times + rest }
        func file(_ times: [UInt8]) -> [UInt8] {
            let track = box("trak", box("tkhd", header(times)) + box("mdia", box("mdhd", header(times))))
            return box("ftyp", Array("avis".utf8)) + box("moov", box("mvhd", header(times)) + track + track)
        }
        var editor = BoxEditor(bytes: file(times))

        editor.clearTimes()

        #expect(editor.bytes == file([UInt8](repeating: 0, count: 16)))
    }
}
