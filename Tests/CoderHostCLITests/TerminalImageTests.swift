import Foundation
import ImageModel
import Testing

@testable import CoderHostCLI

@Suite(.timeLimit(.minutes(40))) struct `Images for terminals` {
    /// Each pixel has a different color.
    private func smooth(_ width: Int, _ height: Int) -> Raster {
        var raster = Raster(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                let at = (y * width + x) * 3
                raster.bytes[at] = UInt8(x * 255 / max(1, width - 1))
                raster.bytes[at + 1] = UInt8(y * 255 / max(1, height - 1))
                raster.bytes[at + 2] = UInt8((x + y) * 255 / max(1, width + height - 2))
            }
        }
        return raster
    }

    private func raster(_ width: Int, _ pixels: [[UInt8]]) -> Raster {
        var raster = Raster(width: width, height: pixels.count / width)
        raster.bytes = pixels.flatMap { $0 }
        return raster
    }

    // MARK: kitty

    @Test func `sends a red pixel in kitty's protocol`() {
        var writer = KittyWriter()
        var out: [UInt8] = []

        writer.draw(raster(1, [[255, 0, 0]]), column: 4, row: 2, into: &out)

        #expect(
            String(decoding: out, as: UTF8.self)
                == "\u{1B}[3;5H\u{1B}_Ga=T,f=24,s=1,v=1,i=6516580,p=1,C=1,q=2,m=0;/wAA\u{1B}\\")
    }

    @Test func `sends images to kitty in chunks and deletes the last one`() throws {
        var writer = KittyWriter()
        let images = [smooth(70, 50), smooth(40, 30), smooth(20, 20)]
        var out: [UInt8] = []

        for image in images { writer.draw(image, column: 0, row: 0, into: &out) }
        writer.erase(into: &out)

        let kitty = try KittyReader(out)
        #expect(kitty.transmitted == images)
        #expect(kitty.longestPiece == 4096)
        #expect(kitty.shown.isEmpty)
    }

    @Test func `shows one image at a time in kitty`() throws {
        var writer = KittyWriter()
        var out: [UInt8] = []

        for count in 1...4 {
            writer.draw(smooth(count + 2, 3), column: 0, row: 0, into: &out)
            #expect(try KittyReader(out).shown.values.map(\.width) == [count + 2])
        }
    }

    // MARK: iTerm2

    @Test func `sends files to iTerm2`() throws {
        let writer = InlineImageWriter(cell: PixelSize(10, 20)) { _ in Array("file".utf8) }
        var out: [UInt8] = []

        try writer.draw(smooth(31, 41), column: 1, row: 1, into: &out)

        #expect(
            String(decoding: out, as: UTF8.self)
                == "\u{1B}[2;2H\u{1B}]1337;File=inline=1;size=4;width=4;height=3;preserveAspectRatio=1;"
                + "doNotMoveCursor=1:ZmlsZQ==\u{7}")
    }

    // MARK: Sixel

    @Test func `writes the same sixels as a hand-written reference`() {
        // Two columns of seven pixels: red on top, blue in the last row; the right column ends with green.
        let (red, green, blue): ([UInt8], [UInt8], [UInt8]) = ([255, 0, 0], [0, 255, 0], [0, 0, 255])
        let image = raster(
            2, [red, red, red, red, red, red, red, red, red, red, red, green, blue, blue])
        var out: [UInt8] = []

        SixelWriter(registers: 256).draw(image, column: 0, row: 0, into: &out)

        // Six bits from the top: 63 is all (~), 31 lacks the lowest (^), 32 is the lowest alone (_), 1 the top (@).
        #expect(
            String(decoding: out, as: UTF8.self)
                == "\u{1B}[1;1H\u{1B}P0;1;0q\"1;1;2;7#0;2;100;0;0#1;2;0;100;0#2;2;0;0;100"
                + "#0~^$#1?_-#2@@\u{1B}\\")
    }

    @Test(arguments: [(1, 1), (7, 5), (300, 13), (2, 6), (17, 12)])
    func `keeps exact colors in sixels for few colors`(size: (Int, Int)) throws {
        // Levels that percentages represent exactly.
        let levels: [UInt8] = [0, 51, 102, 153, 204, 255]
        var image = Raster(width: size.0, height: size.1)
        for pixel in 0..<size.0 * size.1 {
            let random = pixel &* 2_654_435_761 >> 7
            for channel in 0..<3 {
                image.bytes[pixel * 3 + channel] = levels[(random >> (channel * 5)) % 6]
            }
        }
        var out: [UInt8] = []

        SixelWriter(registers: 256).draw(image, column: 0, row: 0, into: &out)

        let distinct = Set((0..<size.0 * size.1).map { Array(image.bytes[$0 * 3..<$0 * 3 + 3]) }).count
        try #require(distinct <= 216)
        #expect(try SixelReader(out).image == image)
    }

    @Test(arguments: [(256, 9.0), (64, 16.0), (16, 30.0), (2, 130.0)])
    func `approximates with the color registers of the terminal`(registers: Int, error: Double) throws {
        let image = smooth(64, 64)
        var out: [UInt8] = []

        SixelWriter(registers: registers).draw(image, column: 0, row: 0, into: &out)

        let seen = try SixelReader(out)
        #expect(seen.registers.count <= registers)
        let sum = zip(seen.image.bytes, image.bytes).reduce(0.0) { $0 + pow(Double($1.0) - Double($1.1), 2) }
        #expect((sum / Double(image.bytes.count)).squareRoot() < error)
    }

    @Test func `leaves flat areas flat`() throws {
        // A gray field in an image with too many colors.
        var image = smooth(64, 64)
        for y in 8..<40 { for x in 8..<40 { for c in 0..<3 { image.bytes[(y * 64 + x) * 3 + c] = 200 } } }
        // A distant color, which gets its own box.
        for pixel in 0..<64 * 64 where image.bytes[pixel * 3] != 200 { image.bytes[pixel * 3] /= 2 }
        var out: [UInt8] = []

        SixelWriter(registers: 256).draw(image, column: 0, row: 0, into: &out)

        let seen = try SixelReader(out).image
        let field = Set((8..<40).flatMap { y in (8..<40).map { x in seen.bytes[(y * 64 + x) * 3] } })
        #expect(field.count == 1)
        #expect(field.allSatisfy { abs(Int($0) - 200) <= 8 })
    }

    // MARK: Blocks

    @Test func `writes two pixels per cell`() {
        var writer = BlocksWriter(hasTrueColor: true)
        var out: [UInt8] = []

        writer.draw(
            raster(2, [[1, 2, 3], [9, 9, 9], [4, 5, 6], [9, 9, 9]]), column: 0, row: 0, into: &out)

        #expect(
            String(decoding: out, as: UTF8.self)
                == "\u{1B}[1;1H\u{1B}[38;2;1;2;3;48;2;4;5;6m▀\u{1B}[48;2;9;9;9m \u{1B}[0m")
    }

    @Test func `sends only changed cells`() {
        var writer = BlocksWriter(hasTrueColor: true)
        var image = smooth(20, 10)
        var first: [UInt8] = []
        var second: [UInt8] = []
        var third: [UInt8] = []

        writer.draw(image, column: 3, row: 1, into: &first)
        writer.draw(image, column: 3, row: 1, into: &second)
        image.bytes[(5 * 20 + 7) * 3] = 77
        image.bytes[(5 * 20 + 7) * 3 + 1] = 78
        image.bytes[(5 * 20 + 7) * 3 + 2] = 79
        writer.draw(image, column: 3, row: 1, into: &third)

        var page = CellReader(columns: 30, rows: 8)
        page.read(first)
        page.read(third)
        #expect(second.isEmpty)
        // Row 2 of cells below row 1, column 7 behind column 3, from 1: one move, one cell.
        let text = String(decoding: third, as: UTF8.self)
        #expect(text.hasPrefix("\u{1B}[4;11H\u{1B}["))
        #expect(text.filter { $0 == "▀" }.count == 1)
        #expect(page.image(column: 3, row: 1, width: 20, height: 10) == image)
    }

    @Test(arguments: [(5, 4), (3, 7), (1, 1)])
    func `shows the image with blocks`(size: (Int, Int)) {
        var writer = BlocksWriter(hasTrueColor: true)
        let image = smooth(size.0, size.1)
        var out: [UInt8] = []
        var page = CellReader(columns: 10, rows: 10)

        writer.draw(image, column: 2, row: 3, into: &out)
        page.read(out)

        #expect(page.image(column: 2, row: 3, width: size.0, height: size.1) == image)
    }

    /// From the table of xterm: 16 + 36 r + 6 g + b of levels 0, 95, 135, 175, 215, 255; from 232 the grays 8, 18 … 238.
    static let indexed: [(color: [UInt8], index: Int)] = [
        ([0, 0, 0], 16), ([255, 255, 255], 231), ([255, 0, 0], 196), ([95, 135, 175], 67), ([8, 8, 8], 232),
        ([118, 118, 118], 243), ([238, 238, 238], 255), ([0, 0, 100], 17),
    ]

    @Test(arguments: indexed.indices)
    func `finds the nearest of 256 colors`(index: Int) {
        var writer = BlocksWriter(hasTrueColor: false)
        var out: [UInt8] = []
        let (color, wanted) = Self.indexed[index]

        writer.draw(raster(1, [color, color]), column: 0, row: 0, into: &out)

        #expect(String(decoding: out, as: UTF8.self) == "\u{1B}[1;1H\u{1B}[48;5;\(wanted)m \u{1B}[0m")
    }

    @Test func `writes ASCII characters as the last resort`() {
        var out: [UInt8] = []

        LettersWriter().draw(
            raster(3, [[0, 0, 0], [128, 128, 128], [255, 255, 255]]), column: 0, row: 1, into: &out)

        // 128 · 9 / 255 is 4.5: the fifth of ten.
        #expect(String(decoding: out, as: UTF8.self) == "\u{1B}[2;1H =@")
    }
}
