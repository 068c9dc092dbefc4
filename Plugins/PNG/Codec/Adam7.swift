package import ImageModel

/// The pixels of one pass: every `dx`-th from `x` on, in every `dy`-th row from `y` on.
package struct Adam7 {
    package var x, y, dx, dy: Int

    /// The seven passes, or the single pass of an image that is not interlaced.
    ///
    /// - Source: PNG 3rd edition, 8.2.
    package static func passes(_ isInterlaced: Bool) -> [Adam7] {
        let numbers =
            isInterlaced
            ? [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
            : [(0, 0, 1, 1)]
        return numbers.map { Adam7(x: $0.0, y: $0.1, dx: $0.2, dy: $0.3) }
    }

    package func width(of size: PixelSize) -> Int { max(0, (size.width - x + dx - 1) / dx) }
    package func height(of size: PixelSize) -> Int { max(0, (size.height - y + dy - 1) / dy) }
}
