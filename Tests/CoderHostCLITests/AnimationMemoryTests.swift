import TestSupport
import Testing

/// Animations are processed frame by frame: memory does not grow with the number of frames.
@Suite struct `Memory of an animation` {
    private let place = TemporaryDirectory()
    private static let side = 256

    /// Moving squares, as a PAM.
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

    /// Runs the tool with at most half the memory that 240 decoded frames take.
    private func runInLittleMemory(_ arguments: [String]) throws -> CommandResult {
        try run(
            ["bash", "-c", "ulimit -d 32768 && exec \"$0\" \"$@\"", Tool.path] + arguments, directory: place.path,
            timeout: .seconds(300))
    }

    @Test(arguments: ["gif", "apng", "webp"])
    func `holds a few frames, independent of the frame count`(format: String) throws {
        write("a.pam", shift: 0)
        write("b.pam", shift: 16)
        let images = (0..<240).map { $0 % 2 == 0 ? "a.pam" : "b.pam" }

        let made = try runInLittleMemory(["frames", "assemble"] + images + ["-f", format, "-o", "out"])
        let seen = try runInLittleMemory(["frames", "info", "--decode", "--json", "out"])

        #expect(made.status == 0 && seen.status == 0, "\(made.stderr) \(seen.stderr)")
        #expect(seen.documents.first?["frame_count"].integer == 240)
    }
}
