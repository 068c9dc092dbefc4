public import ImageModel

/// The total order of coders, and why it is so.
///
/// 1. run-time coders before all others, the later before the earlier; 2. the administrator's or user's priority;
/// 3. an untrusted place never outranks a system one, unless rule 2 says so; 4. the manifest's priority; 5. how well the
/// bytes fit; 6. the newer version; 7. the id's bytes, then those of the plugin's id. No two coders are equal.
public struct RankedCoder: Sendable {
    public let coder: any ImageCoder
    /// The format as the coder's manifest names it.
    public let format: ImageFormat
    /// How well the bytes fit; nil where only a hint speaks for it.
    public let score: Int?
    /// Position among run-time coders; higher was added later.
    let position: Int

    public var descriptor: CoderDescriptor { coder.descriptor }
    public var isCertain: Bool { score != nil }

    /// Why it stands where it stands, one phrase a rule.
    public var explanation: String {
        let descriptor = self.descriptor
        var parts: [String] = []
        if descriptor.tier == .runTime { parts.append("added at run time, position \(position)") }
        if let priority = descriptor.administeredPriority { parts.append("administered priority \(priority)") }
        parts.append("\(descriptor.tier.word) tier")
        parts.append("priority \(descriptor.priority)")
        if let score { parts.append("score \(score)") }
        parts.append("version \(descriptor.version)")
        return parts.joined(separator: ", ")
    }

    init(coder: any ImageCoder, format: ImageFormat, score: Int?, position: Int) {
        self.coder = coder
        self.format = format
        self.score = score
        self.position = position
    }

    /// A coder that is installed and cannot be used.
    init(absent descriptor: CoderDescriptor, format: ImageFormat, score: Int?) {
        self.init(coder: Newcomer(descriptor), format: format, score: score, position: -1)
    }

    /// Whether it comes before a coder that is still to be installed, in a place as trusted as its own.
    package func precedes(newcomer id: String, version: String, priority: Int) -> Bool {
        var other = descriptor
        (other.id, other.version, other.priority, other.administeredPriority) = (id, version, priority, nil)
        return CoderRanking.precedes(
            self, RankedCoder(coder: Newcomer(other), format: format, score: score, position: position))
    }
}

/// A coder of which nothing is there but what it will say of itself.
private struct Newcomer: ImageCoder {
    let descriptor: CoderDescriptor
    init(_ descriptor: CoderDescriptor) { self.descriptor = descriptor }

    private var absence: CoderError { CoderError(.noCoder, "\(descriptor.id) is not installed") }
    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        throw absence
    }
    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder { throw absence }
}

enum CoderRanking {
    /// Whether `a` comes before `b`.
    static func precedes(_ a: RankedCoder, _ b: RankedCoder) -> Bool {
        let first = a.descriptor
        let second = b.descriptor
        if (first.tier == .runTime) != (second.tier == .runTime) { return first.tier == .runTime }
        if first.tier == .runTime, a.position != b.position { return a.position > b.position }
        let administered = (first.administeredPriority ?? 100, second.administeredPriority ?? 100)
        if administered.0 != administered.1 { return administered.0 > administered.1 }
        // What the bytes prove comes before what a name merely suggests.
        if a.isCertain != b.isCertain { return a.isCertain }
        if first.tier != second.tier { return first.tier > second.tier }
        if first.priority != second.priority { return first.priority > second.priority }
        if a.score != b.score { return (a.score ?? -1) > (b.score ?? -1) }
        let order = compareVersions(first.version, second.version)
        if order != 0 { return order > 0 }
        if first.id != second.id { return first.id.utf8.lexicographicallyPrecedes(second.id.utf8) }
        return (first.plugin ?? "").utf8.lexicographicallyPrecedes((second.plugin ?? "").utf8)
    }

    /// Compares dotted versions number by number; below zero when `a` is older.
    static func compareVersions(_ a: String, _ b: String) -> Int {
        func numbers(_ text: String) -> [Int] {
            text.split { !$0.isNumber }.map { Int($0) ?? 0 }
        }
        let (first, second) = (numbers(a), numbers(b))
        for index in 0..<max(first.count, second.count) {
            let x = index < first.count ? first[index] : 0
            let y = index < second.count ? second[index] : 0
            if x != y { return x < y ? -1 : 1 }
        }
        return 0
    }
}
