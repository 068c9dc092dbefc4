import Foundation

@testable import CoderHostCLI

struct NotUnderstood: Error {
    var what: String
    init(_ what: String) { self.what = what }
}

/// The parts of an output: control strings (APC, DCS), and everything else.
private func strings(_ bytes: [UInt8], _ kind: Character) -> [String] {
    String(decoding: bytes, as: UTF8.self).components(separatedBy: "\u{1B}\(kind)").dropFirst().compactMap {
        $0.components(separatedBy: "\u{1B}\\").first
    }
}

/// Parses kitty's graphics protocol, with Foundation's Base64.
struct KittyReader {
    private(set) var transmitted: [Raster] = []
    private(set) var shown: [Int: Raster] = [:]
    private(set) var longestPiece = 0

    init(_ bytes: [UInt8]) throws {
        var keys: [String: String] = [:]
        var payload = ""
        for command in strings(bytes, "_") {
            guard command.hasPrefix("G") else { throw NotUnderstood(command) }
            let halves = command.dropFirst().split(separator: ";", maxSplits: 1)
            let fields = halves[0].split(separator: ",").map { $0.split(separator: "=").map(String.init) }
            let now = Dictionary(uniqueKeysWithValues: fields.map { ($0[0], $0[1]) })
            if now["a"] == "d" {
                guard now["d"] == "I", let id = Int(now["i"] ?? "") else { throw NotUnderstood(command) }
                shown[id] = nil
                continue
            }
            if now["a"] != nil { keys = now }
            let piece = halves.count > 1 ? String(halves[1]) : ""
            longestPiece = max(longestPiece, piece.count)
            payload += piece
            if now["m"] == "1" {
                guard piece.count % 4 == 0, piece.count <= 4096 else {
                    throw NotUnderstood("a piece of \(piece.count)")
                }
                continue
            }
            guard keys["a"] == "T", keys["f"] == "24", let width = Int(keys["s"] ?? ""),
                let height = Int(keys["v"] ?? ""), let id = Int(keys["i"] ?? ""),
                let data = Data(base64Encoded: payload),
                data.count == width * height * 3
            else { throw NotUnderstood(command) }
            var raster = Raster(width: width, height: height)
            raster.bytes = Array(data)
            transmitted.append(raster)
            shown[id] = raster
            payload = ""
        }
    }
}

/// Draws sixels bit by bit.
struct SixelReader {
    private(set) var image: Raster
    private(set) var registers: [Int: [UInt8]] = [:]

    init(_ bytes: [UInt8]) throws {
        guard let text = strings(bytes, "P").first, let start = text.firstIndex(of: "q") else {
            throw NotUnderstood("no sixels")
        }
        var rest = text[text.index(after: start)...]
        func numbers() -> [Int] {
            var result: [Int] = []
            while let first = rest.first, first.isNumber || first == ";" {
                if first == ";" { rest.removeFirst() }
                let digits = rest.prefix { $0.isNumber }
                result.append(Int(digits) ?? 0)
                rest = rest.dropFirst(digits.count)
            }
            return result
        }
        guard rest.popFirst() == "\"" else { throw NotUnderstood("no raster attributes") }
        let size = numbers()
        image = Raster(width: size[2], height: size[3])
        var painted = [Bool](repeating: false, count: size[2] * size[3])
        var (x, top, color) = (0, 0, 0)
        while let letter = rest.popFirst() {
            switch letter {
            case "#":
                let values = numbers()
                color = values[0]
                if values.count == 5 {
                    registers[color] = values[2...].map { UInt8((Double($0) * 2.55).rounded()) }
                }
            case "$": x = 0
            case "-": (x, top) = (0, top + 6)
            case "!", "?"..."~":
                let count = letter == "!" ? numbers()[0] : 1
                guard let sixel = letter == "!" ? rest.popFirst() : letter, let value = sixel.asciiValue,
                    let rgb = registers[color]
                else { throw NotUnderstood("\(letter)") }
                for _ in 0..<count {
                    for row in 0..<6 where (value - 63) >> row & 1 == 1 {
                        guard x < size[2], top + row < size[3] else { throw NotUnderstood("beside the image") }
                        let pixel = (top + row) * size[2] + x
                        painted[pixel] = true
                        for channel in 0..<3 { image.bytes[pixel * 3 + channel] = rgb[channel] }
                    }
                    x += 1
                }
            default: throw NotUnderstood("\(letter)")
            }
        }
        guard !painted.contains(false) else { throw NotUnderstood("a hole") }
    }
}

/// A screen of cells that supports the sequences for half blocks.
struct CellReader {
    private struct Cell {
        var letter: Character = " "
        var front: [UInt8] = []
        var back: [UInt8] = []
    }

    private var cells: [[Cell]]
    private var pen = Cell()

    init(columns: Int, rows: Int) { cells = Array(repeating: Array(repeating: Cell(), count: columns), count: rows) }

    mutating func read(_ bytes: [UInt8]) {
        var rest = Substring(String(decoding: bytes, as: UTF8.self))
        var (x, y) = (0, 0)
        while let letter = rest.popFirst() {
            guard letter == "\u{1B}" else {
                pen.letter = letter
                cells[y][x] = pen
                x += 1
                continue
            }
            rest.removeFirst()
            let body = rest.prefix { !$0.isLetter }
            let numbers = body.split(separator: ";").map { Int($0) ?? 0 }
            rest = rest.dropFirst(body.count)
            let final = rest.popFirst()
            if final == "H" { (y, x) = (numbers[0] - 1, numbers[1] - 1) }
            if final == "m" { paint(numbers) }
        }
    }

    private mutating func paint(_ numbers: [Int]) {
        var at = 0
        while at < numbers.count {
            let color = numbers.dropFirst(at + 2).prefix(3).map { UInt8($0) }
            switch numbers[at] {
            case 38:
                pen.front = color
                at += 5
            case 48:
                pen.back = color
                at += 5
            case 49:
                pen.back = []
                at += 1
            default:
                pen = Cell()
                at += 1
            }
        }
    }

    func image(column: Int, row: Int, width: Int, height: Int) -> Raster {
        var raster = Raster(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                let cell = cells[row + y / 2][column + x]
                let color = cell.letter == "▀" && y % 2 == 0 ? cell.front : cell.back
                for (channel, value) in color.enumerated() { raster.bytes[(y * width + x) * 3 + channel] = value }
            }
        }
        return raster
    }
}
