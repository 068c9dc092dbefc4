import FuzzTargets

/// Which target has which case: cheap ones have more of them, and the order is the same for ever.
struct Schedule {
    let targets: [FuzzTarget]
    private let rows: [Int]

    init(_ targets: [FuzzTarget]) {
        self.targets = targets
        let dearest = targets.map(\.cost).max() ?? 1
        var rows: [Int] = []
        // A target of half the cost has twice as many rows; they are mixed, so that any part of a run has all of them.
        for round in 0..<dearest {
            for (index, target) in targets.enumerated() where round % target.cost == 0 { rows.append(index) }
        }
        self.rows = rows
    }

    /// The target of a case, and which of its own it is.
    subscript(number: Int) -> (target: Int, number: Int) {
        let index = rows[number % rows.count]
        let inRound = rows.count { $0 == index }
        let before = rows[..<(number % rows.count)].count { $0 == index }
        return (index, number / rows.count * inRound + before)
    }
}
