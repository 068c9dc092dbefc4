package import ImageModel
package import PluginRuntime

/// Defines the total order of coders and explains it.
///
/// 0. the coders that the application prefers, in its order; 1. run-time coders before all others, latest first; 2. the priority set by the administrator or user; 3. an
///   untrusted plugin never precedes a system plugin, unless rule 2 applies; 4. the manifest's priority; 5. the
///   signature score; 6. the newer version; 7. the bytes of the coder id, then of the plugin id. No two coders are
///   equal.
package struct RankedCoder: Sendable {
    /// The coder.
    package let coder: any ImageCoder
    /// The format as named by the coder's manifest.
    package let format: ImageFormat
    /// The signature score; nil if only a hint selects the coder.
    package let score: Int?
    /// The position among run-time coders; higher was added later.
    let position: Int
    /// The place among the coders that the application prefers; nil if it is none of them.
    let preference: Int?

    /// The description of the coder.
    package var descriptor: CoderDescriptor { coder.descriptor }
    /// Whether the bytes match a signature of the format.
    package var isCertain: Bool { score != nil }

    /// The reasons for its position, one phrase per rule.
    package var explanation: String {
        let descriptor = self.descriptor
        var parts: [String] = []
        if let preference { parts.append("preferred at run time, place \(preference + 1)") }
        if descriptor.tier == .runTime { parts.append("added at run time, position \(position)") }
        if let priority = descriptor.administeredPriority { parts.append("administered priority \(priority)") }
        parts.append("\(descriptor.tier.word) tier")
        parts.append("priority \(descriptor.priority)")
        if let score { parts.append("score \(score)") }
        parts.append("version \(descriptor.version)")
        return parts.joined(separator: ", ")
    }

    init(coder: any ImageCoder, format: ImageFormat, score: Int?, position: Int, preference: Int? = nil) {
        self.coder = coder
        self.format = format
        self.score = score
        self.position = position
        self.preference = preference
    }

    /// Creates an entry for an installed coder that cannot be used.
    init(absent descriptor: CoderDescriptor, format: ImageFormat, score: Int?) {
        self.init(coder: PlaceholderCoder(descriptor), format: format, score: score, position: -1)
    }

    /// Whether it precedes a coder that is not installed yet, in an equally trusted place.
    package func precedes(uninstalled id: String, version: String, priority: Int) -> Bool {
        var other = descriptor
        (other.id, other.version, other.priority, other.administeredPriority) = (id, version, priority, nil)
        return CoderRanking.precedes(
            self, RankedCoder(coder: PlaceholderCoder(other), format: format, score: score, position: position))
    }
}

/// A placeholder for a coder that is not installed, with only its descriptor.
private struct PlaceholderCoder: ImageCoder {
    let descriptor: CoderDescriptor
    init(_ descriptor: CoderDescriptor) { self.descriptor = descriptor }

    private var absence: CoderError { CoderError(.noCoder, "\(descriptor.id) is not installed") }
    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        throw absence
    }
    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder { throw absence }
}

enum CoderRanking {
    /// Whether `a` precedes `b`.
    static func precedes(_ a: RankedCoder, _ b: RankedCoder) -> Bool {
        if a.preference != b.preference { return (a.preference ?? .max) < (b.preference ?? .max) }
        let first = a.descriptor
        let second = b.descriptor
        if (first.tier == .runTime) != (second.tier == .runTime) { return first.tier == .runTime }
        if first.tier == .runTime, a.position != b.position { return a.position > b.position }
        let administered = (first.administeredPriority ?? 100, second.administeredPriority ?? 100)
        if administered.0 != administered.1 { return administered.0 > administered.1 }
        // Evidence in the bytes has precedence over a file name.
        if a.isCertain != b.isCertain { return a.isCertain }
        if first.tier != second.tier { return first.tier > second.tier }
        if first.priority != second.priority { return first.priority > second.priority }
        if a.score != b.score { return (a.score ?? -1) > (b.score ?? -1) }
        let order = compareVersions(first.version, second.version)
        if order != 0 { return order > 0 }
        if first.id != second.id { return first.id.utf8.lexicographicallyPrecedes(second.id.utf8) }
        return (first.plugin ?? "").utf8.lexicographicallyPrecedes((second.plugin ?? "").utf8)
    }

    /// Compares dotted versions number by number; below zero if `a` is older.
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
