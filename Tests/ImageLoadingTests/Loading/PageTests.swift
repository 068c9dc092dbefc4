import Foundation
import ImageLoading
import ImageModel
import TestSupport
import Testing

/// The example of the article on loading: this code compiles, and the article contains it.
@Suite struct `The article on loading` {
    private func example() async throws {
        // begin
        let pipeline = try ImagePipeline()
        let photo = try await pipeline.image(for: "https://example.org/photo.jpg")
        let request = ImageRequest("https://example.org/cat.jpg", size: PixelSize(320, 320))
        let small = try await pipeline.image(for: request)

        let prefetcher = ImagePrefetcher(pipeline.manager)
        prefetcher.prefetch(["https://example.org/1.jpg", "https://example.org/2.jpg"])

        let task = pipeline.load(ImageRequest("https://example.org/large.jpg", previews: .paced()))
        for await case .preview(let image) in task.events { print(image.size) }
        let large = try await task.value.image
        // end
        _ = (photo, small, large)
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
