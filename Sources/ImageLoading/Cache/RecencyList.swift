/// A dictionary that orders its values by their last use.
///
/// The links are stored in an array, so neither a use nor an eviction allocates memory.
/// - Complexity: O(1), except ``removeAll()``.
struct RecencyList<Value> {
    private struct Node {
        var key: ExactKey
        /// Nil for a free place.
        var value: Value?
        var newer: Int32
        var older: Int32
    }

    private static var none: Int32 { -1 }

    private var nodes: ContiguousArray<Node> = []
    private var places: [ExactKey: Int32] = [:]
    private var newest = Self.none
    private var oldest = Self.none
    /// Free places are linked through `older`.
    private var free = Self.none

    var count: Int { places.count }

    func contains(_ key: ExactKey) -> Bool { places[key] != nil }

    /// Returns a value, and makes it the newest.
    mutating func use(_ key: ExactKey) -> Value? {
        guard let place = places[key] else { return nil }
        if place != newest {
            unlink(place)
            linkAsNewest(place)
        }
        return nodes[Int(place)].value
    }

    /// Returns a value without changing the order.
    func peek(_ key: ExactKey) -> Value? { places[key].flatMap { nodes[Int($0)].value } }

    /// Inserts a value as the newest, and returns the value that it replaces.
    mutating func insert(_ value: Value, for key: ExactKey) -> Value? {
        if let place = places[key] {
            let former = nodes[Int(place)].value
            nodes[Int(place)].value = value
            if place != newest {
                unlink(place)
                linkAsNewest(place)
            }
            return former
        }
        let place: Int32
        if free != Self.none {
            place = free
            free = nodes[Int(place)].older
            nodes[Int(place)] = Node(key: key, value: value, newer: Self.none, older: Self.none)
        } else {
            place = Int32(nodes.count)
            nodes.append(Node(key: key, value: value, newer: Self.none, older: Self.none))
        }
        places[key] = place
        linkAsNewest(place)
        return nil
    }

    mutating func remove(_ key: ExactKey) -> Value? {
        guard let place = places.removeValue(forKey: key) else { return nil }
        return vacate(place)
    }

    mutating func removeOldest() -> Value? {
        if oldest == Self.none { return nil }
        places[nodes[Int(oldest)].key] = nil
        return vacate(oldest)
    }

    /// Removes all values and returns them.
    mutating func removeAll() -> [Value] {
        let values = nodes.compactMap(\.value)
        self = RecencyList()
        return values
    }

    /// Removes the values that meet a condition and returns them.
    ///
    /// - Complexity: O(n).
    mutating func removeAll(where condition: (Value) -> Bool) -> [Value] {
        var removed: [Value] = []
        var place = oldest
        while place != Self.none {
            let next = nodes[Int(place)].newer
            if let value = nodes[Int(place)].value, condition(value) {
                places[nodes[Int(place)].key] = nil
                if let value = vacate(place) { removed.append(value) }
            }
            place = next
        }
        return removed
    }

    /// The keys, the newest first.
    ///
    /// - Complexity: O(n).
    var keys: [String] {
        var result: [String] = []
        var place = newest
        while place != Self.none {
            result.append(nodes[Int(place)].key.text)
            place = nodes[Int(place)].older
        }
        return result
    }

    // MARK: Links

    private mutating func vacate(_ place: Int32) -> Value? {
        unlink(place)
        let value = nodes[Int(place)].value
        nodes[Int(place)] = Node(key: ExactKey(""), value: nil, newer: Self.none, older: free)
        free = place
        return value
    }

    private mutating func unlink(_ place: Int32) {
        let (newer, older) = (nodes[Int(place)].newer, nodes[Int(place)].older)
        if newer == Self.none { newest = older } else { nodes[Int(newer)].older = older }
        if older == Self.none { oldest = newer } else { nodes[Int(older)].newer = newer }
    }

    private mutating func linkAsNewest(_ place: Int32) {
        nodes[Int(place)].newer = Self.none
        nodes[Int(place)].older = newest
        if newest == Self.none { oldest = place } else { nodes[Int(newest)].newer = place }
        newest = place
    }
}
