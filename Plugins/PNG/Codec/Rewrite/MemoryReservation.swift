internal import CoderPluginKit
internal import ImageModel

/// Memory that is reserved with the host during the lifetime of the object.
final class MemoryReservation {
    private let host: HostServices
    private var bytes = 0

    init(_ host: HostServices) { self.host = host }

    deinit { if bytes > 0 { try? host.reserve(bytes: -bytes) } }

    /// Reserves more.
    ///
    /// - Throws: `.limitExceeded`.
    func add(_ count: Int) throws(CoderError) {
        try host.reserve(bytes: count)
        bytes += count
    }

    /// Reserves the difference up to a total.
    ///
    /// - Throws: `.limitExceeded`.
    func grow(to total: Int) throws(CoderError) { if total > bytes { try add(total - bytes) } }
}
