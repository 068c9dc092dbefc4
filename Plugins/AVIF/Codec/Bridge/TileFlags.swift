/// Marks of several tiles.
// Sendable because: every index has a place of its own, and only the thread that decodes the tile writes there.
@safe final class TileFlags: @unchecked Sendable {
    private let places: UnsafeMutableBufferPointer<Bool>

    init(_ count: Int) {
        unsafe places = .allocate(capacity: count)
        unsafe places.initialize(repeating: false)
    }

    deinit { unsafe places.deinitialize().deallocate() }

    func set(_ index: Int) { unsafe places[index] = true }
    var areAllSet: Bool { unsafe places.allSatisfy { $0 } }
}
