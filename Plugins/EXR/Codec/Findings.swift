internal import CoderPluginKit
internal import ImageModel

/// The defects that decoding has met, and their consequence.
struct Findings {
    private var intact = 0
    private var damaged = 0
    /// Chunks behind the end of the file.
    private var missing = 0
    /// The first message of the library.
    private var message: String?

    mutating func noteIntact() { intact += 1 }

    mutating func note(_ outcome: EXRFile.Outcome, _ text: String) {
        switch outcome {
        case .intact: intact += 1
        case .damaged: damaged += 1
        case .missing: missing += 1
        }
        if outcome != .intact, message == nil, !text.isEmpty { message = text }
    }

    /// Reports the defects: a warning if the rest of the image is there, an error otherwise.
    func conclude(_ unit: String, _ request: DecodeRequest, _ surface: PixelSize, _ host: HostServices)
        throws(CoderError) -> DecodeOutcome
    {
        guard damaged + missing > 0 else { return .complete }
        let all = intact + damaged + missing
        let reason = message.map { ": \($0)" } ?? ""
        if intact == 0 {
            var error: CoderError =
                missing > 0 ? .truncated("all \(unit) are missing") : .corrupt("no \(unit) can be decoded\(reason)")
            error.domain = EXRFile.library
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
