/// Reads that return nil if bytes are missing or a box is invalid, for lists that end early.
extension BoxCursor {
    package mutating func number(_ count: Int) -> UInt64? { try? uint(count) }

    /// Skips bytes; false if they are missing.
    package mutating func skips(_ count: Int) -> Bool { (try? skip(count)) != nil }

    package mutating func nextBox() -> Box? { (try? box()) ?? nil }

    /// Returns all boxes of a type from here on, up to the first unreadable box.
    package func all(_ type: FourCC) -> [BoxCursor] {
        var cursor = self
        var found: [BoxCursor] = []
        while let box = cursor.nextBox() {
            if box.type == type { found.append(inside(box)) }
        }
        return found
    }

    /// Follows a path of boxes, the first of each type.
    package func first(_ path: FourCC...) -> BoxCursor? {
        var found = self
        for type in path {
            var cursor = found
            var next: Box?
            while next == nil, let box = cursor.nextBox() { next = box.type == type ? box : nil }
            guard let next else { return nil }
            found = cursor.inside(next)
        }
        return found
    }

    /// Returns the version of the full box that begins here; nil if no byte is left.
    package var version: UInt8? { isAtEnd ? nil : bytes[offset] }
}
