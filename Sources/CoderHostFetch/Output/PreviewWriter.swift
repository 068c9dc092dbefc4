import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// Writes previews of running downloads as numbered PNG files in a folder.
struct PreviewWriter: Sendable {
    private let folder: String
    private let host: CoderHost

    init(_ folder: String, _ host: CoderHost) throws(UsageError) {
        guard FileStatus.of(folder)?.isDirectory == true else {
            throw UsageError("the folder \(folder) does not exist", hint: "create it first: mkdir -p \(folder)")
        }
        guard host.manager.canEncode(to: "png") else {
            throw UsageError("--progressive-to needs a PNG encoder, and none is installed", hint: "coderhost list")
        }
        self.folder = folder.hasSuffix("/") ? folder : folder + "/"
        self.host = host
    }

    /// Returns the previews of one image.
    ///
    /// - Parameter number: distinguishes images with equal names; nil for a single image.
    func series(for name: String, number: Int?) -> PreviewSeries {
        let stem = FileName(name).stem + (number.map { "-\($0)" } ?? "")
        return PreviewSeries(prefix: folder + stem, host)
    }

    /// The previews of one image.
    final class PreviewSeries: Sendable {
        private let prefix: String
        private let host: CoderHost
        private let state = Mutex<(paths: [String], problem: CoderError?)>(([], nil))

        fileprivate init(prefix: String, _ host: CoderHost) {
            self.prefix = prefix
            self.host = host
        }

        var result: ([String], CoderError?) { state.withLock { ($0.paths, $0.problem) } }

        /// Writes the next preview. Calls must not overlap.
        func write(_ image: LoadedImage) {
            let (count, hasFailed) = state.withLock { ($0.paths.count, $0.problem != nil) }
            if hasFailed { return }
            let digits = "\(count)"
            let path = "\(prefix)-\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits).png"
            do throws(CoderError) {
                guard let still = try Self.still(image) else { return }
                let sink = try FileSink(
                    path: path, over: .files(followingLinks: false), limits: host.manager.limits)
                try host.manager.encode(still, to: "png", into: sink)
                try sink.commit()
                state.withLock { $0.paths.append(path) }
            } catch {
                state.withLock { $0.problem = error }
            }
        }

        /// Returns the still image, or the last available frame of an animation.
        private static func still(_ image: LoadedImage) throws(CoderError) -> DecodedImage? {
            if let still = image.still { return still }
            guard let animation = image.animation, animation.frameCount > 0 else { return nil }
            return try animation.image(at: animation.frameCount - 1)
        }
    }
}
