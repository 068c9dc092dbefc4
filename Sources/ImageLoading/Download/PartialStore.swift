import CoderHost
import ImageProcessing
import Synchronization

/// What has arrived of a picture before its transfer was cut.
struct PartialTransfer: Sendable {
    var source: ImageSource
    /// The URL whose server sent it, after all redirects: nobody else has the rest.
    var url: String
    /// An entity tag or a date that the server tells versions apart by.
    var validator: String
    /// Bytes of the whole, where that was said.
    var total: Int?

    /// The memory that it holds: where much was expected, a page of it is large.
    fileprivate var cost: Int { min(max(source.count, 2 << 20), max(source.count, total ?? .max)) }
}

/// The cut transfers that may be gone on with, the latest first to stay.
final class PartialStore: Sendable {
    struct Key: Hashable, Sendable {
        var request: OutgoingRequest
        var credential: Credential?
        var allowsInvalidCertificates: Bool
        var handlesCookies: Bool
    }

    private struct State {
        var entries: [Key: (partial: PartialTransfer, cost: Int, age: Int)] = [:]
        var bytes = 0
        var clock = 0
    }

    private let maxBytes: Int
    private let state = Mutex(State())

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// Of memory.
    var bytes: Int { state.withLock { $0.bytes } }

    /// Takes it out: only one can go on with it.
    func take(_ key: Key) -> PartialTransfer? {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: key) else { return nil }
            state.bytes -= entry.cost
            return entry.partial
        }
    }

    /// Puts it in if there is nothing else.
    func putBack(_ partial: PartialTransfer, _ key: Key) {
        if state.withLock({ $0.entries[key] == nil }) { put(partial, key) }
    }

    func put(_ partial: PartialTransfer, _ key: Key) {
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
