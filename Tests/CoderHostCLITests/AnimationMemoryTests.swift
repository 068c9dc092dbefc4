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

    /// The tool, with no more memory than half of what 240 of the frames take as pixels.
    private func runInLittleMemory(_ arguments: [String]) throws -> CommandResult {
        try run(
            ["bash", "-c", "ulimit -d 32768 && exec \"$0\" \"$@\"", Tool.path] + arguments, directory: place.path,
            timeout: .seconds(300))
    }

    @Test(arguments: ["gif", "apng", "webp"])
    func `is that of a few frames, however many it has`(format: String) throws {
        write("a.pam", shift: 0)
        write("b.pam", shift: 16)
        let pictures = (0..<240).map { $0 % 2 == 0 ? "a.pam" : "b.pam" }

        let made = try runInLittleMemory(["frames", "assemble"] + pictures + ["-f", format, "-o", "out"])
        let seen = try runInLittleMemory(["frames", "info", "--decode", "--json", "out"])

        #expect(made.status == 0 && seen.status == 0, "\(made.stderr) \(seen.stderr)")
        #expect(seen.documents.first?["frame_count"].integer == 240)
    }
}
