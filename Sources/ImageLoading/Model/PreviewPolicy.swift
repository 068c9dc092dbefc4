/// The previews that are decoded while the bytes of an image arrive.
///
/// A preview uses all bytes that have arrived. An embedded thumbnail is the first preview, if the format has one. An
/// animation is a preview as soon as its first frame is complete, and again after each further frame.
public enum PreviewPolicy: Sendable, Hashable {
    /// No previews.
    case none
    /// One preview in each interval, if something new has arrived; the first one appears at once.
    case paced(every: Duration = .milliseconds(300))
    /// A preview for each scan, and for each part that arrives.
    case everyScan
}
