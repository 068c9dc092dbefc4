import CoderHost
@testable import CoderHostCLI
import CommandLineKit
import ImageModel
import ImageProcessing
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Fitting an image into a window` {
    static let layouts: [(PixelSize, ImageProtocol, TerminalSize, Double, size: PixelSize, corner: [Int])] = [
        // A unit is half a cell of 8x16: square.
        (PixelSize(40, 20), .blocks, TerminalSize(columns: 80, rows: 24), 1, PixelSize(40, 20), [20, 6]),
        (PixelSize(400, 200), .blocks, TerminalSize(columns: 80, rows: 24), 1, PixelSize(80, 40), [0, 1]),
        (PixelSize(100, 400), .blocks, TerminalSize(columns: 80, rows: 24), 1, PixelSize(12, 46), [34, 0]),
        (PixelSize(4, 4), .blocks, TerminalSize(columns: 80, rows: 24), 3, PixelSize(12, 12), [34, 8]),
        // A character is twice as high as wide.
        (PixelSize(40, 40), .ascii, TerminalSize(columns: 80, rows: 24), 1, PixelSize(40, 20), [20, 1]),
        // 80x8 by 23x16 pixels.
        (PixelSize(480, 360), .kitty, TerminalSize(columns: 80, rows: 24), 1, PixelSize(480, 360), [10, 0]),
        (PixelSize(1280, 720), .kitty, TerminalSize(columns: 80, rows: 24), 1, PixelSize(640, 360), [0, 0]),
        // 366 is a multiple of six, 368 is not.
        (PixelSize(1000, 1000), .sixel, TerminalSize(columns: 80, rows: 24), 1, PixelSize(366, 366), [17, 0]),
        (PixelSize(10_000, 1), .blocks, TerminalSize(columns: 10, rows: 2), 1, PixelSize(10, 1), [0, 0]),
    ]

    @Test(arguments: layouts.indices)
    func `keeps the aspect ratio and leaves a status line`(index: Int) {
        let (image, kind, window, zoom, size, corner) = Self.layouts[index]

        let layout = ImageLayout(image, in: window, kind, cell: PixelSize(8, 16), zoom: zoom)

        #expect(layout.size == size)
        #expect([layout.column, layout.row] == corner)
    }

    @Test(arguments: [(1, 1), (3, 1), (1, 5), (65_535, 65_535)])
    func `never exceeds the window`(window: (Int, Int)) {
        for kind in ImageProtocol.allCases {
            let cell = PixelSize(9, 17)
            let layout = ImageLayout(
                PixelSize(123, 457), in: TerminalSize(columns: window.0, rows: window.1), kind, cell: cell, zoom: 100)
            let unit = kind.unitsPerCell(cell)
            #expect(layout.column * unit.width + layout.size.width <= window.0 * unit.width)
            #expect(layout.row * unit.height + layout.size.height <= max(1, window.1 - 1) * unit.height)
            #expect(layout.size.width <= 16_384 && layout.size.height <= 16_384)
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Scaling for a terminal` {
    private func buffer(_ width: Int, _ pixels: [[UInt8]], _ format: PixelFormat = .rgba8) throws -> PixelBuffer {
        let result = try PixelBuffer(size: PixelSize(width, pixels.count / width), format: format)
        let bytes = pixels.flatMap { $0 }
        for y in 0..<result.size.height { result.setRow(y, from: bytes, at: y * result.bytesPerRow) }
        return result
    }

    private func scale(_ pixels: PixelBuffer, to size: PixelSize, over text: String = "#000000") throws -> [UInt8] {
        var scaler = FrameScaler(from: pixels.size, to: size, over: try #require(Backdrop(text)), square: 1)
        return try scaler.scale(pixels).bytes
    }

    @Test func `averages areas`() throws {
        let image = try buffer(
            3,
            [
                [0, 0, 0, 255], [90, 0, 0, 255], [180, 0, 0, 255], [30, 0, 0, 255], [60, 0, 0, 255], [240, 0, 0, 255],
            ])

        // The middle pixel is shared: (0 + 30 + (90 + 60) / 2) / 3 and (180 + 240 + (90 + 60) / 2) / 3.
        #expect(try scale(image, to: PixelSize(2, 1)) == [35, 0, 0, 165, 0, 0])
        #expect(try scale(image, to: PixelSize(1, 1)) == [100, 0, 0])
        #expect(try scale(image, to: PixelSize(3, 1)) == [15, 0, 0, 75, 0, 0, 210, 0, 0])
    }

    @Test func `repeats pixels when enlarging`() throws {
        let image = try buffer(2, [[10, 20, 30, 255], [40, 50, 60, 255]])

        #expect(
            try scale(image, to: PixelSize(4, 2)) == [10, 20, 30, 10, 20, 30, 40, 50, 60, 40, 50, 60] + [
                10, 20, 30, 10, 20, 30, 40, 50, 60, 40, 50, 60,
            ])
        // The middle one is half of each.
        #expect(try scale(image, to: PixelSize(3, 1)) == [10, 20, 30, 25, 35, 45, 40, 50, 60])
        #expect(
            try scale(try buffer(1, [[7, 8, 9, 255]]), to: PixelSize(1, 5))
                == Array(repeating: [7, 8, 9], count: 5).flatMap { $0 })
    }

    @Test func `weights colors by alpha`() throws {
        // Transparent pixels have no weight: half red over black, not red mixed with white.
        let image = try buffer(2, [[255, 0, 0, 255], [255, 255, 255, 0]])

        #expect(try scale(image, to: PixelSize(1, 1)) == [128, 0, 0])
        #expect(try scale(image, to: PixelSize(1, 1), over: "#0000ff") == [128, 0, 128])
        #expect(try scale(image, to: PixelSize(2, 1), over: "0000ff") == [255, 0, 0, 0, 0, 255])
        // (100 · 51 + 200 · 204) / 255
        #expect(
            try scale(try buffer(1, [[100, 100, 100, 51]]), to: PixelSize(1, 1), over: "#c8c8c8") == [180, 180, 180])
    }

    @Test func `shows a checkerboard through transparent pixels`() throws {
        let image = try buffer(2, Array(repeating: [0, 0, 0, 0], count: 4))
        var scaler = FrameScaler(from: image.size, to: PixelSize(4, 4), over: Backdrop(), square: 2)

        let bytes = try scaler.scale(image).bytes

        let row = { (y: Int) in (0..<4).map { bytes[(y * 4 + $0) * 3] } }
        #expect(row(0) == [0x66, 0x66, 0x99, 0x99])
        #expect(row(3) == [0x99, 0x99, 0x66, 0x66])
    }

    @Test func `accepts other pixel formats`() throws {
        #expect(try scale(try buffer(2, [[0], [200]], .gray8), to: PixelSize(1, 1)) == [100, 100, 100])
        #expect(try scale(try buffer(1, [[1, 2, 3, 255]], .bgra8), to: PixelSize(1, 1)) == [3, 2, 1])
    }

    @Test(arguments: ["red", "#12345", "#1234567", "#+12345", ""])
    func `rejects invalid colors`(text: String) { #expect(Backdrop(text) == nil) }
}
