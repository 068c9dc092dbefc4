import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel
import Synchronization

/// Writes what can be seen of pictures on their way, as numbered PNGs in a folder.
struct PreviewWriter: Sendable {
    private let folder: String
    private let host: CoderHost

    init(_ folder: String, _ host: CoderHost) throws(UsageError) {
        guard FileStatus.of(folder)?.isDirectory == true else {
            throw UsageError("the folder \(folder) does not exist", hint: "make it first: mkdir -p \(folder)")
        }
        guard host.manager.canEncode(to: "png") else {
            throw UsageError("--progressive-to writes PNG, which no plugin does here", hint: "coderhost list")
        }
        self.folder = folder.hasSuffix("/") ? folder : folder + "/"
        self.host = host
    }

    /// - Parameter number: tells pictures of one name apart; nil for the only one.
    func looks(at name: String, number: Int?) -> Looks {
        let stem = FileName(name).stem + (number.map { "-\($0)" } ?? "")
        return Looks(prefix: folder + stem, host)
    }

    /// The previews of one picture.
    final class Looks: Sendable {
        private let prefix: String
        private let host: CoderHost
        private let state = Mutex<(paths: [String], problem: CoderError?)>(([], nil))

        fileprivate init(prefix: String, _ host: CoderHost) {
            self.prefix = prefix
            self.host = host
        }

        var result: ([String], CoderError?) { state.withLock { ($0.paths, $0.problem) } }

        /// Writes one more; one call after the other.
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

        /// Of an animation the last frame that has arrived.
        private static func still(_ image: LoadedImage) throws(CoderError) -> DecodedImage? {
            if let still = image.still { return still }
            guard let animation = image.animation, animation.frameCount > 0 else { return nil }
            return try animation.image(at: animation.frameCount - 1)
        }
    }
}
