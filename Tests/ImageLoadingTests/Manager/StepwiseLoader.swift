import CoderHost
import ImageModel
import ImageProcessing
import LoadingTestSupport
import TestSupport

@testable import ImageLoading

/// A clock that only tests advance; waiting ends when the test opens the gate.
final class StillClock: Sendable {
    let gate = Gate()
    private let time = Mutex<UInt64>(0)

    func pass(milliseconds: Int) { time.withLock { $0 += UInt64(milliseconds) * 1_000_000 } }

    var previews: PreviewClock {
        PreviewClock(
            now: { self.time.withLock { $0 } },
            sleep: { nanoseconds in
                await self.gate.passed()
                self.time.withLock { $0 += nanoseconds }
            })
    }
}

/// Sends a file in parts; after each part it waits until the test has received the previews of all parts so far.
///
/// The previews are counted in advance, by one synchronous decode, so neither the machine nor its load matters.
final class StepwiseLoader: ImageLoading {
    let bytes: [UInt8]
    /// The number of previews up to the end of each part.
    let previews: [Int]
    private let parts: [[UInt8]]
    private let gates: [Gate]
    private let received = Mutex(0)

    init(_ bytes: [UInt8], parts count: Int, _ options: LoadOptions) throws {
        let step = (bytes.count + count - 1) / count
        let parts = stride(from: 0, to: bytes.count, by: step).map { Array(bytes[$0..<min(bytes.count, $0 + step)]) }
        let source = try ImageSource(growingTo: bytes.count, name: "a", origin: .memory)
        let decoding = ProgressiveDecoding(source, builtHost().manager, options, StillClock().previews)
        var previews: [Int] = []
        for part in parts {
            try source.append(part)
            let isPreview = decoding.turn(nil) == .now && decoding.look() != nil
            previews.append((previews.last ?? 0) + (isPreview ? 1 : 0))
        }
        self.bytes = bytes
        self.parts = parts
        self.previews = previews
        gates = parts.map { _ in Gate() }
        release(0)
    }

    /// Counts a received preview.
    func receive() {
        release(
            received.withLock { received in
                received += 1
                return received
            })
    }

    private func release(_ received: Int) {
        for (gate, count) in zip(gates, previews) where count <= received { gate.open() }
    }

    func canLoad(_ request: ImageRequest) -> Bool { true }

    func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        let source = try ImageSource(growingTo: bytes.count, name: request.url)
        for (part, gate) in zip(parts, gates) {
            try source.append(part)
            onProgress(LoadProgress(source, expected: nil))
            await gate.passed()
        }
        source.finish()
        return LoadedData(.source(source))
    }

    /// Returns a manager of this loader, with a clock that stands still.
    func manager() -> ImageManager {
        ImageManager(
            ImageManagerConfiguration(coders: builtHost().manager, cache: PlainCache(), loader: self),
            ManagerClock(previews: StillClock().previews))
    }

    /// Loads the file; returns its previews and its result.
    func load(_ url: String, _ options: LoadOptions) async -> (
        previews: [LoadedImage], result: Result<LoadResult, CoderError>
    ) {
        let task = manager().load(ImageRequest(url, options))
        var previews: [LoadedImage] = []
        for await event in task.events {
            guard case .preview(let image) = event else { continue }
            previews.append(image)
            receive()
        }
        do throws(CoderError) {
            return (previews, .success(try await task.value))
        } catch {
            return (previews, .failure(error))
        }
    }
}
