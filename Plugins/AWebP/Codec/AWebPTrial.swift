import WebPCodec

/// Decides whether coding an image without loss is worth a trial.
struct AWebPTrial {
    /// The largest palette of lossless data.
    ///
    /// - Source: RFC 9649 section 4.4.
    private static let mostColors = 256
    /// After this number of images in a row whose lossless data was far larger, some images have no trial.
    private static let patience = 4
    private static let pause = 7

    private var losses = 0
    private var rest = 0

    /// Whether the current part is also coded without loss.
    mutating func isDue(_ kind: AWebPSettings.Kind, _ frames: WebPFrames) -> Bool {
        switch kind {
        case .lossless, .lossy: return false
        case .mixed: return true
        case .automatic:
            if rest > 0 {
                rest -= 1
                return false
            }
            return frames.hasColors(atMost: Self.mostColors)
        }
    }

    /// Notes the sizes of a trial in bytes.
    mutating func note(lossless: Int, lossy: Int) {
        losses = lossless > 2 * lossy ? losses + 1 : 0
        rest = losses >= Self.patience ? Self.pause : 0
    }
}
