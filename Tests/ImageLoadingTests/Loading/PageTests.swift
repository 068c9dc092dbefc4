import CoderHost
import Foundation
import ImageLoading
import ImageModel
import TestSupport
import Testing

/// The example of the article on loading: this code compiles, and the article contains it.
@Suite struct `The article on loading` {
    private func example() async throws {
        // begin
        let host = CoderHost()
        let manager = ImageManager(
            ImageManagerConfiguration(
                coders: host.manager, cache: ImageCache("photos", coders: host.manager),
                loader: LoadersManager(try Downloader())))
        let cat = try await manager.image("https://example.org/cat.jpg", .thumbnail(PixelSize(320, 320)))

        var options = LoadOptions()
        options.isProgressive = true
        let task = manager.load(ImageRequest("https://example.org/large.jpg", options))
        for await event in task.events {
            if case .preview(let image) = event { print(image.size) }
        }
        let large = try await task.value.image
        // end
        _ = (cat, large)
    }

    @Test func `contains code that compiles`() throws {
        let page = try String(
            contentsOfFile: "\(Repository.root)/Sources/CoderHost/CoderHost.docc/Loading.md", encoding: .utf8)
        let lines = try String(contentsOfFile: #filePath, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
        let begin = try #require(lines.firstIndex { $0.hasSuffix("// begin") })
        let end = try #require(lines.firstIndex { $0.hasSuffix("// end") })
        let code = lines[(begin + 1)..<end].map { $0.isEmpty ? "" : String($0.dropFirst(8)) }.joined(separator: "\n")
        #expect(page.contains("```swift\n\(code)\n```"))
    }
}
