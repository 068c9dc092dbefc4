import TestSupport
import Testing

/// An animation is never in memory as a whole: what a command needs does not grow with the number of frames.
@Suite struct `Memory of an animation` {
    private let place = TemporaryDirectory()
    private static let side = 256

    /// Squares that change place, as a PAM.
    private func write(_ name: String, shift: Int) {
        var bytes = Array("P7\nWIDTH 256\nHEIGHT 256\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n".utf8)
        for y in 0..<Self.side {
            for x in 0..<Self.side {
                let isDark = ((x + shift) / 32 + y / 32) % 2 == 0
                bytes += isDark ? [20, 40, 90, 255] : [230, 200, 40, 255]
            }
        }
        place.write(bytes, to: name)
    }

    /// 240 frames take 60 MiB as pixels; what is asked for is a tenth of that.
    @Test(arguments: ["gif", "apng", "webp"])
    func `is that of a few frames, however many it has`(format: String) throws {
        write("a.pam", shift: 0)
        write("b.pam", shift: 16)
        var peaks: [[Int]] = []
        for count in [8, 240] {
            let pictures = (0..<count).map { $0 % 2 == 0 ? "a.pam" : "b.pam" }
            let made = try Tool.run(
                ["frames", "assemble"] + pictures + ["-f", format, "-o", "out"], directory: place.path)
            let seen = try Tool.run(["frames", "info", "--decode", "--json", "out"], directory: place.path)

            #expect(made.status == 0 && seen.status == 0, "\(made.stderr) \(seen.stderr)")
            #expect(seen.documents.first?["frame_count"].integer == count)
            peaks.append([made.peakMemory, seen.peakMemory])
        }
        for (few, many) in zip(peaks[0], peaks[1]) { #expect(many < few + 6 << 20) }
    }
}
