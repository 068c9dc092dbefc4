import ImageModel

/// The newest rows of the samples of one component, or all of them.
struct SamplePlane {
    /// The samples of a row, with those that fill the last block.
    let width: Int
    /// The number of rows that are kept.
    let height: Int
    var samples: [UInt16]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        samples = Array(repeating: 0, count: width * height)
    }

    /// The position of a row of the component, which is still kept.
    func offset(_ row: Int) -> Int { row % height * width }
}

extension ExtendedFrame {
    /// The rows of MCUs that interpolation needs: the one above, the current one and the one below.
    static let keptRows = 3

    /// Makes the planes of an image; nil if their size overflows.
    ///
    /// - Parameter keepsAll: keeps all rows, not just the newest ones.
    func planes(keepsAll: Bool) -> [SamplePlane] {
        components.map { part in
            SamplePlane(
                width: columns * part.across * side,
                height: min(rows, keepsAll ? rows : Self.keptRows) * part.down * side)
        }
    }

    /// The bytes of the planes.
    func planeBytes(keepsAll: Bool) -> Int {
        components.reduce(0) { sum, part in
            sum + 2 * columns * part.across * side * min(rows, keepsAll ? rows : Self.keptRows) * part.down * side
        }
    }

    /// The bytes of all coefficients.
    var coefficientBytes: Int {
        components.reduce(0) { $0 + 128 * columns * $1.across * rows * $1.down }
    }
}
