/// One of the 14 ways in which a block of BC6H stores its ends.
struct BC6HMode {
    /// The number of pairs of ends: 1 or 2.
    let subsets: Int
    /// The bits of the first end, and of the others.
    let depth: Int
    private let differenceDepths: (Int, Int, Int)
    /// Whether the other ends are differences to the first.
    let isDifference: Bool
    /// For the bits of the block behind the mode: the end, times three, plus the channel; the place of the lowest bit,
    /// and their number.
    private let places: [(end: Int, shift: Int, count: Int)]

    private init(_ subsets: Int, _ depths: [Int], isDifference: Bool = true, _ layout: String) {
        self.subsets = subsets
        self.isDifference = isDifference
        depth = depths[0]
        differenceDepths = (depths[1], depths[2], depths[3])
        var places: [(end: Int, shift: Int, count: Int)] = []
        for field in layout.split(separator: " ") {
            let name = Array(field.utf8)
            let channel = name[0] == UInt8(ascii: "r") ? 0 : name[0] == UInt8(ascii: "g") ? 1 : 2
            let end = 3 * Int(name[1] - UInt8(ascii: "0")) + channel
            let shifts = field.dropFirst(3).split(separator: "-").compactMap { Int($0) }
            let (first, last) = (shifts[0], shifts[shifts.count - 1])
            if first <= last {
                places.append((end, first, last - first + 1))
            } else {
                for shift in stride(from: first, through: last, by: -1) { places.append((end, shift, 1)) }
            }
        }
        self.places = places
    }

    /// Reads the ends: red, green and blue of each.
    func readEnds(_ bits: inout BlockBits) -> InlineArray<12, Int> {
        var ends = InlineArray<12, Int>(repeating: 0)
        for place in places { ends[place.end] |= bits.next(place.count) &<< place.shift }
        return ends
    }

    /// Returns the bits of the other ends of a channel.
    func differenceDepth(_ channel: Int) -> Int {
        channel == 0 ? differenceDepths.0 : channel == 1 ? differenceDepths.1 : differenceDepths.2
    }

    /// The modes by their code, which has up to five bits; nil for reserved ones.
    static let all: [BC6HMode?] = (0..<32).map { known[$0] }

    /// `r0:0-9` is ten bits of the red of end 0, the lowest first.
    private static let known: [Int: BC6HMode] = [
        0: BC6HMode(
            2, [10, 5, 5, 5],
            """
            g2:4 b2:4 b3:4 r0:0-9 g0:0-9 b0:0-9 r1:0-4 g3:4 g2:0-3 g1:0-4 b3:0 g3:0-3 b1:0-4 b3:1 b2:0-3 r2:0-4 b3:2 \
            r3:0-4 b3:3
            """),
        1: BC6HMode(
            2, [7, 6, 6, 6],
            """
            g2:5 g3:4 g3:5 r0:0-6 b3:0 b3:1 b2:4 g0:0-6 b2:5 b3:2 g2:4 b0:0-6 b3:3 b3:5 b3:4 r1:0-5 g2:0-3 g1:0-5 \
            g3:0-3 b1:0-5 b2:0-3 r2:0-5 r3:0-5
            """),
        2: BC6HMode(
            2, [11, 5, 4, 4],
            """
            r0:0-9 g0:0-9 b0:0-9 r1:0-4 r0:10 g2:0-3 g1:0-3 g0:10 b3:0 g3:0-3 b1:0-3 b0:10 b3:1 b2:0-3 r2:0-4 b3:2 \
            r3:0-4 b3:3
            """),
        6: BC6HMode(
            2, [11, 4, 5, 4],
            """
            r0:0-9 g0:0-9 b0:0-9 r1:0-3 r0:10 g3:4 g2:0-3 g1:0-4 g0:10 g3:0-3 b1:0-3 b0:10 b3:1 b2:0-3 r2:0-3 b3:0 \
            b3:2 r3:0-3 g2:4 b3:3
            """),
        10: BC6HMode(
            2, [11, 4, 4, 5],
            """
            r0:0-9 g0:0-9 b0:0-9 r1:0-3 r0:10 b2:4 g2:0-3 g1:0-3 g0:10 b3:0 g3:0-3 b1:0-4 b0:10 b2:0-3 r2:0-3 b3:1 \
            b3:2 r3:0-3 b3:4 b3:3
            """),
        14: BC6HMode(
            2, [9, 5, 5, 5],
            """
            r0:0-8 b2:4 g0:0-8 g2:4 b0:0-8 b3:4 r1:0-4 g3:4 g2:0-3 g1:0-4 b3:0 g3:0-3 b1:0-4 b3:1 b2:0-3 r2:0-4 b3:2 \
            r3:0-4 b3:3
            """),
        18: BC6HMode(
            2, [8, 6, 5, 5],
            """
            r0:0-7 g3:4 b2:4 g0:0-7 b3:2 g2:4 b0:0-7 b3:3 b3:4 r1:0-5 g2:0-3 g1:0-4 b3:0 g3:0-3 b1:0-4 b3:1 b2:0-3 \
            r2:0-5 r3:0-5
            """),
        22: BC6HMode(
            2, [8, 5, 6, 5],
            """
            r0:0-7 b3:0 b2:4 g0:0-7 g2:5 g2:4 b0:0-7 g3:5 b3:4 r1:0-4 g3:4 g2:0-3 g1:0-5 g3:0-3 b1:0-4 b3:1 b2:0-3 \
            r2:0-4 b3:2 r3:0-4 b3:3
            """),
        26: BC6HMode(
            2, [8, 5, 5, 6],
            """
            r0:0-7 b3:1 b2:4 g0:0-7 b2:5 g2:4 b0:0-7 b3:5 b3:4 r1:0-4 g3:4 g2:0-3 g1:0-4 b3:0 g3:0-3 b1:0-5 b2:0-3 \
            r2:0-4 b3:2 r3:0-4 b3:3
            """),
        30: BC6HMode(
            2, [6, 6, 6, 6], isDifference: false,
            """
            r0:0-5 g3:4 b3:0 b3:1 b2:4 g0:0-5 g2:5 b2:5 b3:2 g2:4 b0:0-5 g3:5 b3:3 b3:5 b3:4 r1:0-5 g2:0-3 g1:0-5 \
            g3:0-3 b1:0-5 b2:0-3 r2:0-5 r3:0-5
            """),
        3: BC6HMode(
            1, [10, 10, 10, 10], isDifference: false, "r0:0-9 g0:0-9 b0:0-9 r1:0-9 g1:0-9 b1:0-9"),
        7: BC6HMode(1, [11, 9, 9, 9], "r0:0-9 g0:0-9 b0:0-9 r1:0-8 r0:10 g1:0-8 g0:10 b1:0-8 b0:10"),
        11: BC6HMode(
            1, [12, 8, 8, 8], "r0:0-9 g0:0-9 b0:0-9 r1:0-7 r0:11-10 g1:0-7 g0:11-10 b1:0-7 b0:11-10"),
        15: BC6HMode(
            1, [16, 4, 4, 4], "r0:0-9 g0:0-9 b0:0-9 r1:0-3 r0:15-10 g1:0-3 g0:15-10 b1:0-3 b0:15-10"),
    ]
}
