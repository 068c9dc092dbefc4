import FuzzTargets

/// Assigns cases to targets: cheap targets have more cases, and the order never changes.
struct Schedule {
    let targets: [FuzzTarget]
    private let rows: [Int]

    init(_ targets: [FuzzTarget]) {
        self.targets = targets
        let dearest = targets.map(\.cost).max() ?? 1
        var rows: [Int] = []
        // A target of half the cost has twice as many rows; they are mixed, so that any part of a run has all targets.
        for round in 0..<dearest {
            for (index, target) in targets.enumerated() where round % target.cost == 0 { rows.append(index) }
        }
        self.rows = rows
    }

    /// Returns the target of a case, and the number within that target.
    subscript(number: Int) -> (target: Int, number: Int) {
        let index = rows[number % rows.count]
        let inRound = rows.count { $0 == index }
        let before = rows[..<(number % rows.count)].count { $0 == index }
        return (index, number / rows.count * inRound + before)
    }
}
