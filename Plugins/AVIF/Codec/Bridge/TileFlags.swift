/// One flag for each tile.
// Sendable because: every index has its own byte, and only the thread that decodes the tile writes it.
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
