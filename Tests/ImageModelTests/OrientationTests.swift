import ImageModel
import Testing

@Suite struct `Exif orientation` {
    @Test(arguments: Orientation.allCases)
    func `maps every pixel of the upright image to another stored pixel`(orientation: Orientation) {
        let size = PixelSize(3, 2)
        let upright = orientation.applied(to: size)

        var seen: Set<[Int]> = []
        for y in 0..<upright.height {
            for x in 0..<upright.width {
                let source = orientation.source(x: x, y: y, in: size)
                seen.insert([source.x, source.y])
            }
        }

        #expect(seen.count == 6)
        #expect(seen.allSatisfy { $0[0] >= 0 && $0[0] < 3 && $0[1] >= 0 && $0[1] < 2 })
    }

    @Test func `right means that the stored top edge is shown on the right`() {
        let source = Orientation.right.source(x: 1, y: 0, in: PixelSize(3, 2))
        #expect(source.x == 0 && source.y == 0)
    }
}
