import CoderHost
import Synchronization

/// What has arrived of a picture before its transfer was cut.
struct PartialTransfer: Sendable {
    var source: ImageSource
    /// An entity tag or a date that the server tells versions apart by.
    var validator: String
    /// Bytes of the whole, where that was said.
    var total: Int?
}

/// The cut transfers that may be gone on with, the latest first to stay.
final class PartialStore: Sendable {
    struct Key: Hashable, Sendable {
        var request: OutgoingRequest
        var credential: Credential?
    }

    private struct State {
        var entries: [Key: (partial: PartialTransfer, age: Int)] = [:]
        var bytes = 0
        var clock = 0
    }

    private let maxBytes: Int
    private let state = Mutex(State())

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    var bytes: Int { state.withLock { $0.bytes } }

    /// Takes it out: only one can go on with it.
    func take(_ key: Key) -> PartialTransfer? {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: key) else { return nil }
            state.bytes -= entry.partial.source.count
            return entry.partial
        }
    }

    /// Puts it in if there is nothing else.
    func putBack(_ partial: PartialTransfer, _ key: Key) {
        if state.withLock({ $0.entries[key] == nil }) { put(partial, key) }
    }

    func put(_ partial: PartialTransfer, _ key: Key) {
        let count = partial.source.count
        guard count > 0, count <= maxBytes else { return }
        state.withLock { state in
            if let old = state.entries.removeValue(forKey: key) { state.bytes -= old.partial.source.count }
            state.clock += 1
            state.entries[key] = (partial, state.clock)
            state.bytes += count
            while state.bytes > maxBytes, let oldest = state.entries.min(by: { $0.value.age < $1.value.age }) {
                state.bytes -= oldest.value.partial.source.count
                state.entries[oldest.key] = nil
            }
        }
    }

    func removeAll() { state.withLock { $0 = State() } }
}
