/// One place for the result of each task.
// Sendable because: every index has its own element, and only the thread that runs the index writes to it.
@safe final class PlaneSlots: @unchecked Sendable {
    private let places: UnsafeMutableBufferPointer<DecodedPlanes?>

    init(_ count: Int) {
        unsafe places = .allocate(capacity: max(1, count))
        unsafe places.initialize(repeating: nil)
    }

    deinit { unsafe places.deinitialize().deallocate() }

    subscript(index: Int) -> DecodedPlanes? {
        get { unsafe places[index] }
        set { unsafe places[index] = newValue }
    }

    /// The results in order, up to the first missing one.
    var all: [DecodedPlanes] { unsafe places.compactMap { $0 } }
}
