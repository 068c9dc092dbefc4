internal import CoderPluginKit
internal import ImageModel

/// The defects that decoding has met, and their consequence.
struct Findings {
    private var intact = 0
    /// Blocks that are damaged.
    private var damaged = 0
    /// Blocks whose bytes are behind the end of the file.
    private var missing = 0
    /// Blocks that the file leaves out on purpose.
    private var absent = 0
    /// The first message of the library.
    private var message: String?
    /// Whether a defect left pixels to show.
    private var hasPixels = false

    mutating func note(intact count: Int) { intact += count }
    mutating func noteAbsent() { absent += 1 }

    mutating func noteDefect(_ text: String, isMissing: Bool, hasPixels: Bool) {
        if isMissing { missing += 1 } else { damaged += 1 }
        if message == nil, !text.isEmpty { message = text }
        self.hasPixels = self.hasPixels || hasPixels
    }

    /// Reports the defects: a warning if the rest of the image is there, an error otherwise.
    func conclude(_ unit: String, _ request: DecodeRequest, _ surface: PixelSize, _ host: HostServices)
        throws(CoderError) -> DecodeOutcome
    {
        let all = intact + damaged + missing + absent
        if absent > 0 { host.warn("\(absent) of \(all) \(unit) are not stored: their samples are 0") }
        guard damaged + missing > 0 else { return .complete }
        let reason = message.map { ": \($0)" } ?? ""
        if intact == 0, !hasPixels {
            var error: CoderError =
                missing > 0 ? .truncated("all \(unit) are missing") : .corrupt("no \(unit) can be decoded\(reason)")
            error.domain = TIFFFile.library
            throw error
        }
        if missing > 0 {
            if request.wantsPartial { return .partial(PixelRect(surface)) }
            throw .truncated("\(missing) of \(all) \(unit) are missing")
        }
        host.warn("\(damaged) of \(all) \(unit) are damaged\(reason)")
        return .complete
    }
}
