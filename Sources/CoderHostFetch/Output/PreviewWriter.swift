import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// Writes previews of running downloads as numbered PNG files in a folder.
struct PreviewWriter: Sendable {
    private let folder: String
    private let host: CoderHost

    /// - Parameter makesFolder: whether the first preview creates a missing folder.
    init(_ folder: String, makesFolder: Bool, _ host: CoderHost) throws(UsageError) {
        let status = FileStatus.of(folder)
        if status == nil, !makesFolder {
            throw UsageError(
                "the folder \(printable(folder)) does not exist", hint: FileSink.missingFolderRemedy(folder),
                exit: .cannotCreate)
        }
        if folder.isEmpty || status?.isDirectory == false {
            throw UsageError("--progressive-to \(printable(folder)) is not a folder", hint: "name a folder")
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
        private let state = Mutex(State())

        private struct State {
            var paths: [String] = []
            var problem: CoderError?
            /// The number of written frames of an animation.
            var frames = 0
        }

        fileprivate init(prefix: String, _ host: CoderHost) {
            self.prefix = prefix
            self.host = host
        }

        var result: ([String], CoderError?) { state.withLock { ($0.paths, $0.problem) } }

        /// Writes the next preview: a still, or every new frame of an animation. Calls must not overlap.
        func write(_ image: LoadedImage) {
            if let still = image.still { return write(still) }
            guard let animation = image.animation else { return }
            while true {
                let index = state.withLock { $0.problem == nil ? $0.frames : Int.max }
                guard index < animation.frameCount else { return }
                do throws(CoderError) {
                    write(try animation.image(at: index))
                } catch {
                    // The frame may still be arriving.
                    if error.code != .needsInput { state.withLock { $0.problem = error } }
                    return
                }
                state.withLock { $0.frames += 1 }
            }
        }

        private func write(_ still: DecodedImage) {
            let (count, hasFailed) = state.withLock { ($0.paths.count, $0.problem != nil) }
            if hasFailed { return }
            let digits = "\(count)"
            let path = "\(prefix)-\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits).png"
            do throws(CoderError) {
                try makeMissingFolders(of: path)
                let sink = try FileSink(
                    path: path, over: .files(followingLinks: false), limits: host.manager.limits)
                try host.manager.encode(still, to: "png", into: sink)
                try sink.commit()
                state.withLock { $0.paths.append(path) }
            } catch {
                state.withLock { $0.problem = error }
            }
        }
    }
}
