/// The replacement of a range of bytes; an empty range is an insertion.
struct Splice {
    var range: Range<Int>
    var bytes: [UInt8]
}

/// Changes of a sequence of bytes, and the new positions of the bytes that stay.
struct Splices {
    let list: [Splice]
    /// The growth up to the end of each splice.
    private let growth: [Int]

    /// - Parameter splices: disjoint, in any order.
    init(_ splices: [Splice]) {
        list = splices.sorted {
            ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound)
        }
        var sum = 0
        growth = list.map {
            sum += $0.bytes.count - $0.range.count
            return sum
        }
    }

    /// The growth of the whole.
    var total: Int { growth.last ?? 0 }

    /// Returns the new position of a range; nil if a splice changes bytes inside the range.
    ///
    /// - Complexity: logarithmic in the number of splices.
    func moved(_ range: Range<Int>) -> Range<Int>? {
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if list[middle].range.upperBound <= range.lowerBound { low = middle + 1 } else { high = middle }
        }
        if low < list.count, list[low].range.lowerBound < range.upperBound { return nil }
        let start = range.lowerBound + (low > 0 ? growth[low - 1] : 0)
        return start..<start + range.count
    }

    /// Returns the changed bytes.
    func applied(to bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var place = bytes.startIndex
        for splice in list {
            result += bytes[place..<splice.range.lowerBound] + splice.bytes
            place = splice.range.upperBound
        }
        return result + bytes[place...]
    }
}

/// A set of positions, as sorted disjoint ranges.
struct RangeSet {
    private(set) var ranges: [Range<Int>] = []

    init(_ ranges: [Range<Int>]) {
        for range in ranges.filter({ !$0.isEmpty }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = self.ranges.last, range.lowerBound <= last.upperBound {
                self.ranges[self.ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                self.ranges.append(range)
            }
        }
    }

    /// Returns the positions that are not in the other set.
    ///
    /// - Complexity: linear in both sets.
    func subtracting(_ other: RangeSet) -> RangeSet {
        var left: [Range<Int>] = []
        var next = 0
        for range in ranges {
            var start = range.lowerBound
            while next < other.ranges.count, other.ranges[next].upperBound <= start { next += 1 }
            var index = next
            while index < other.ranges.count, other.ranges[index].lowerBound < range.upperBound {
                let hole = other.ranges[index]
                if hole.lowerBound > start { left.append(start..<hole.lowerBound) }
                start = max(start, hole.upperBound)
                index += 1
            }
            if start < range.upperBound { left.append(start..<range.upperBound) }
        }
        return RangeSet(left)
    }

    /// The number of positions.
    var count: Int { ranges.reduce(0) { $0 + $1.count } }
}
