package import CoderHost
package import ImageModel

extension ParsedArguments {
    /// The options that select and retime the frames of an animation.
    package static let frameSpecification: [OptionSpecification] = [
        .frame, .firstFrame,
        OptionSpecification(
            "--trim-frames", value: "A..B", help: "keep frames A to B, from 0; A.. keeps the rest (default: all)"),
        OptionSpecification(
            "--every", value: "N", help: "keep every Nth frame; the others' time goes to it (default: 1)"),
        OptionSpecification(
            "--speed", value: "X", help: "playback speed: 2x halves every duration; also 0.5 or 150% (default: 1x)"),
        OptionSpecification(
            "--fps", value: "N", help: "drop frames above this rate, such as 15 or 30000/1001 (default: all frames)"),
        OptionSpecification("--reverse", help: "write the last frame first"),
    ]

    /// Returns the selection of `--trim-frames`, `--every`, `--speed`, `--fps` and `--reverse`.
    package func frameSelection() throws(UsageError) -> FrameSelection {
        var selection = FrameSelection()
        selection.range = try frameRange("--trim-frames")
        selection.step = try integer("--every", 1...1_000_000) ?? 1
        selection.speed = try speed("--speed") ?? 1
        selection.interval = try frameInterval("--fps")
        selection.isReversed = has("--reverse")
        return selection
    }

    /// Returns the range `A..B`, `A..`, `..B` or `A` of an option, with both ends.
    private func frameRange(_ key: String) throws(UsageError) -> ClosedRange<Int>? {
        guard let text = value(key) else { return nil }
        // "4..9" has three parts, of which the middle one is empty.
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let isValid = parts.count == 1 || parts.count == 3 && parts[1].isEmpty && text != ".."
        let ends = [parts[0], parts[parts.count - 1]].map { $0.isEmpty ? nil : Int($0) ?? -1 }
        let (first, last) = (ends[0] ?? 0, ends[1] ?? .max)
        guard isValid, !text.isEmpty, first >= 0, last >= first else {
            throw UsageError(
                "invalid \(key) value \"\(text)\": expected A..B, counted from 0",
                hint: "for example \(key) 10..49, or 10.. for the rest")
        }
        return first...last
    }

    /// Returns the factor `2x`, `0.5` or `150%` of an option.
    package func speed(_ key: String) throws(UsageError) -> Double? {
        guard let text = value(key) else { return nil }
        let isPercent = text.hasSuffix("%")
        let digits = isPercent || text.lowercased().hasSuffix("x") ? text.dropLast() : text[...]
        guard let number = Double(digits), number > 0, (0.001...1000).contains(isPercent ? number / 100 : number) else {
            throw UsageError(
                "invalid \(key) value \"\(text)\": expected a factor from 0.001 to 1000",
                hint: "for example \(key) 2x, \(key) 0.5 or \(key) 150%")
        }
        return isPercent ? number / 100 : number
    }

    /// Returns the time between frames for a rate such as `25` or `30000/1001`.
    package func frameInterval(_ key: String) throws(UsageError) -> FrameDuration? {
        guard let text = value(key) else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { UInt32($0) }
        if parts.count == 2, let top = parts[0], let bottom = parts[1], top > 0, bottom > 0 {
            return FrameDuration(bottom, over: top)
        }
        // Keeps three decimals, for example of 23.976.
        if let rate = Double(text), rate >= 0.001, rate <= 1_000_000 {
            let whole = UInt32(rate)
            return Double(whole) == rate
                ? FrameDuration(1, over: whole) : FrameDuration(1000, over: UInt32((rate * 1000).rounded()))
        }
        throw UsageError("invalid \(key) value \"\(text)\": expected frames per second, such as 25 or 30000/1001")
    }
}
