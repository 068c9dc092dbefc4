import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// A plugin that only one thread may call at a time.
@Suite(.timeLimit(.minutes(40))) struct `A serial plugin` {
    @Test func `can be used in its own progress callback`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("serial", into: folder)
        let host = testHost(folder.path)
        let coder = try #require(host.manager.coders.first { $0.descriptor.id == "org.example.serial" })
        let reports = Reports()

        let context = SessionContext { done, total in
            // The second session would deadlock if the plugin were still locked.
            let size = (try? host.manager.decode(badImage))?.pixels.size
            reports.add("\(done) of \(total) beside \(size.map { "\($0)" } ?? "an error")")
        }
        let decoder = try coder.makeDecoder(badImage, context)
        let info = try decoder.readHeader()
        _ = try decoder.nextFrame()
        let pixels = try PixelBuffer(size: info.size, format: info.nativeFormat)
        _ = try decoder.decode(FrameRequest(), into: CanvasPlace(pixels, PixelRect(info.size)))

        #expect(reports.all == ["2 of 2 beside 2x2"])
    }
}

private final class Reports: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func add(_ report: String) { list.withLock { $0.append(report) } }
}
