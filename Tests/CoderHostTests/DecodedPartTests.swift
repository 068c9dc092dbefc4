import CoderHost
import ImageModel
import ImageProcessing
import Testing

@Suite struct `A decoded part` {
    @Test(arguments: [
        (DecodedPart.aspect(width: 16, height: 9), Gravity.center, PixelRect(x: 0, y: 219, width: 1600, height: 900)),
        (.aspect(width: 1, height: 1), .east, PixelRect(x: 262, y: 0, width: 1338, height: 1338)),
        (.aspect(width: 1, height: 1e-300), .north, PixelRect(x: 0, y: 0, width: 1600, height: 1)),
        (.aspect(width: 1e-300, height: 1), .north, PixelRect(x: 799, y: 0, width: 1, height: 1338)),
        (.aspect(width: .nan, height: 1), .center, PixelRect(PixelSize(1600, 1338))),
        (.aspect(width: 1, height: .infinity), .center, PixelRect(PixelSize(1600, 1338))),
        (.aspect(width: -1, height: 1), .center, PixelRect(PixelSize(1600, 1338))),
        (.size(PixelSize(100, 50)), .southwest, PixelRect(x: 0, y: 1288, width: 100, height: 50)),
        (.size(PixelSize(2000, 50)), .south, PixelRect(x: 0, y: 1288, width: 1600, height: 50)),
        (.rect(PixelRect(x: 1, y: 2, width: 9000, height: 4)), .south, PixelRect(x: 1, y: 2, width: 9000, height: 4)),
    ])
    func `is placed by its gravity`(part: DecodedPart, gravity: Gravity, expected: PixelRect) {
        #expect(part.rect(in: PixelSize(1600, 1338), gravity) == expected)
    }
}

@Suite struct `A decoded size` {
    private func result(_ size: DecodedSize) -> PixelSize {
        size.layout(of: PixelSize(400, 200), .rgb8).result
    }

    @Test func `fills a box with the fits that have its shape, and is never enlarged with the others`() {
        let box = PixelSize(600, 600)
        #expect(Fit.allCases.filter(\.enlarges) == [.contain, .cover, .fill])
        for fit in Fit.allCases {
            #expect(result(.box(box, fit)) == (fit.enlarges ? box : PixelSize(400, 200)))
        }
        #expect(result(.box(box, .cover, enlarging: false)) == PixelSize(400, 200))
        #expect(result(.box(box, .contain, enlarging: false)) == box)
        #expect(result(.box(box, .inside, enlarging: true)) == PixelSize(600, 300))
    }

    @Test(arguments: [
        (0.5, PixelSize(200, 100)), (2, PixelSize(800, 400)), (0.0001, PixelSize(1, 1)), (0, PixelSize(400, 200)),
        (.nan, PixelSize(400, 200)), (1e300, PixelSize(Int(Int32.max), Int(Int32.max))),
    ])
    func `is scaled by a factor`(factor: Double, expected: PixelSize) {
        #expect(result(.scaled(by: factor)) == expected)
    }
}
