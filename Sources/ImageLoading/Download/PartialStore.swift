import CoderHost
import ImageProcessing

/// The received part of an image whose download was interrupted.
struct PartialDownload: Sendable {
    var source: ImageSource
    /// The URL after all redirects; only its server can continue the download.
    var url: String
    /// The entity tag or date that identifies the version.
    var validator: String
    /// Total number of bytes; nil if unknown.
    var total: Int?

    /// The memory that it occupies: at least one large page of 2 MiB if the source was created for so many bytes.
    fileprivate var cost: Int { min(max(source.count, 2 << 20), max(source.count, total ?? .max)) }
}

/// Interrupted downloads that can be resumed; the oldest are dropped first.
final class PartialStore: Sendable {
    struct Key: Hashable, Sendable {
        var request: OutgoingRequest
        var credential: Credential?
        var allowsInvalidCertificates: Bool
        var handlesCookies: Bool
    }

    private struct State {
        var entries: [Key: (partial: PartialDownload, cost: Int, age: Int)] = [:]
        var bytes = 0
        var clock = 0
    }

    private let maxBytes: Int
    private let state = Mutex(State())

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// Bytes of memory in use.
    var bytes: Int { state.withLock { $0.bytes } }

    /// Removes and returns a partial download, so that only one caller resumes it.
    func take(_ key: Key) -> PartialDownload? {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: key) else { return nil }
            state.bytes -= entry.cost
            return entry.partial
        }
    }

    /// Puts a partial download back, unless there is a newer one.
    func putBack(_ partial: PartialDownload, _ key: Key) {
        if state.withLock({ $0.entries[key] == nil }) { put(partial, key) }
    }

    func put(_ partial: PartialDownload, _ key: Key) {
        let cost = partial.cost
        guard partial.source.count > 0, cost <= maxBytes else { return }
        state.withLock { state in
            if let old = state.entries.removeValue(forKey: key) { state.bytes -= old.cost }
            state.clock += 1
            state.entries[key] = (partial, cost, state.clock)
            state.bytes += cost
            while state.bytes > maxBytes, let oldest = state.entries.min(by: { $0.value.age < $1.value.age }) {
                state.bytes -= oldest.value.cost
                state.entries[oldest.key] = nil
            }
        }
    }

    func removeAll() { state.withLock { $0 = State() } }
}
