/// Reads that answer nil where bytes are missing or no box can be, for lists that end early.
extension BoxCursor {
    package mutating func number(_ count: Int) -> UInt64? { try? uint(count) }

    /// Steps over bytes; false where they are missing.
    package mutating func skips(_ count: Int) -> Bool { (try? skip(count)) != nil }

    package mutating func nextBox() -> Box? { (try? box()) ?? nil }

    /// All boxes of a type from here on, up to the first that cannot be read.
    package func all(_ type: FourCC) -> [BoxCursor] {
        var cursor = self
        var found: [BoxCursor] = []
        while let box = cursor.nextBox() {
            if box.type == type { found.append(inside(box)) }
        }
        return found
    }

    /// Steps down a path of boxes, the first of each type.
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

    /// The version of a full box that begins here; nil where no byte is left.
    package var version: UInt8? { isAtEnd ? nil : bytes[offset] }
}
