import HostSystem
import ImageModel

extension ImageManager {
    /// Whether a cached image or file may be used without asking its server.
    func isUsable(_ freshness: HTTPFreshness?, _ recipe: Recipe) -> Bool {
        switch recipe.freshness {
        case .ignored: true
        case .http: freshness.map { $0.state(at: now()) != .stale } ?? false
        case .revalidate: false
        }
    }

    /// Revalidates an image in the background if it was used although it is no longer fresh.
    func revalidateIfNeeded(_ stage: StageImage, _ recipe: Recipe) {
        guard needsRevalidation(stage.image.freshness, stage.response, recipe) else { return }
        let urgency = LoadUrgency(.veryLow)
        revalidations.begin(recipe.resultKey) { [self] in
            _ = try? await made(recipe.revalidating, urgency) { _ in }
        }
    }

    /// Revalidates a file in the background if it was used although it is no longer fresh.
    func revalidateIfNeeded(_ file: StageFile, _ recipe: Recipe) {
        guard needsRevalidation(file.freshness, file.response, recipe) else { return }
        let urgency = LoadUrgency(.veryLow)
        revalidations.begin(recipe.fileKey) { [self] in
            _ = try? await self.file(recipe.revalidating, urgency) { _ in }
        }
    }

    private func needsRevalidation(
        _ freshness: HTTPFreshness?, _ response: ResponseFacts?, _ recipe: Recipe
    ) -> Bool {
        recipe.freshness == .http && response == nil && freshness?.state(at: now()) == .usableWhileRevalidated
    }

    /// Whether a stale file may be returned instead of this error.
    ///
    /// - Source: RFC 5861 §4.
    func isUsable(_ freshness: HTTPFreshness?, after error: CoderError, _ recipe: Recipe) -> Bool {
        guard recipe.freshness == .http, let freshness, freshness.isUsableAfterError(at: now()) else { return false }
        switch error.code {
        case .transferFailed, .deadlineExceeded, .failedBefore: return true
        case .badStatus: return [500, 502, 503, 504].contains(error.httpStatus)
        default: return false
        }
    }
}

/// Revalidations in the background, one at a time for each key.
final class Revalidations: Sendable {
    private let tasks = Mutex<[WorkKey: Task<Void, Never>]>([:])

    /// Starts `work` unless work for this key is running.
    func begin(_ key: WorkKey, _ work: @escaping @Sendable () async -> Void) {
        tasks.withLock { tasks in
            if tasks[key] != nil { return }
            tasks[key] = Task {
                await work()
                self.tasks.withLock { _ = $0.removeValue(forKey: key) }
            }
        }
    }

    /// Waits for all revalidations.
    func finish() async {
        while let task = tasks.withLock({ $0.values.first }) { await task.value }
    }
}
