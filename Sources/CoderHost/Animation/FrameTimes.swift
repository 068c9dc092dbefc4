import ImageModel

/// The start times and durations of an animation's frames in nanoseconds at normal speed.
struct FrameTimes: Sendable {
    let policy: DurationPolicy
    private var starts: [Int] = []
    private var durations: [Int] = []
    /// The total duration; limited to 36 years to prevent overflow.
    private(set) var total = 0

    init(_ policy: DurationPolicy) { self.policy = policy }

    var count: Int { durations.count }

    mutating func append(_ stored: [FrameDuration]) {
        for duration in stored {
            let nanoseconds = policy.nanoseconds(duration)
            starts.append(total)
            durations.append(nanoseconds)
            total = min(total + nanoseconds, 1 << 60)
        }
    }

    func start(of index: Int) -> Int { starts.indices.contains(index) ? starts[index] : total }
    func duration(of index: Int) -> Int { durations.indices.contains(index) ? durations[index] : 0 }

    /// Returns the frame displayed at a time, clamped to the duration, and how long it has been displayed then.
    func frame(at time: Int) -> (index: Int, inside: Int) {
        let wanted = min(max(0, time), max(0, total - 1))
        // The last frame that starts at or before this time.
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= wanted { low = middle } else { high = middle }
        }
        return (low, wanted - start(of: low))
    }
}
