import CoderHost
import ImageModel

/// All results of a host for one input, as labeled values.
///
/// Two hosts that decode the same bytes give equal records, whether their plugins run in workers or not.
struct ModeRecord {
    private var entries: [(label: String, value: AnyHashable)] = []
    /// Whether a session reached its time limit: such a record depends on the machine.
    private(set) var isLate = false
    /// Whether the host decoded the pixels of a frame.
    private(set) var hasPixels = false
    /// The place where the sessions ran; nil for the host's own coders.
    private(set) var place: IsolationReport.Place?

    private let manager: CodersManager
    private let bytes: [UInt8]
    private let coder: String?
    private static var limits: DecodeLimits { Decoding.limits }

    /// The ways to decode that a record can include.
    enum Step: CaseIterable { case session, growing, reduced, rawFrames, encoded }

    /// - Parameter coder: the only coder that the host may ask; nil lets the host choose.
    init(_ manager: CodersManager, _ bytes: [UInt8], coder: String?, _ steps: Set<Step>) {
        self.manager = manager
        self.bytes = bytes
        self.coder = coder
        // Equal for every host: the random choices depend only on the length of the input.
        var dice = Dice(UInt64(bytes.count))
        for step in Step.allCases {
            // Each step has its own dice, so that other steps do not change it.
            var own = Dice(dice.next())
            if !steps.contains(step) { continue }
            switch step {
            case .session: addSession()
            case .growing: addGrowing(&own)
            case .reduced: addReduced(&own)
            case .rawFrames: addRawFrames(&own)
            case .encoded: addEncoded(&own)
            }
        }
    }

    /// The first difference, with both values; nil if there is none.
    func difference(from other: ModeRecord) -> (label: String, own: String, other: String)? {
        for (own, other) in zip(entries, other.entries) where own.label != other.label || own.value != other.value {
            return (own.label, Self.text(own), Self.text(other))
        }
        let (own, other) = (entries, other.entries)
        if own.count == other.count { return nil }
        let missing = (label: "nothing", value: AnyHashable(0))
        let shared = min(own.count, other.count)
        let (left, right) = (own.dropFirst(shared).first ?? missing, other.dropFirst(shared).first ?? missing)
        return (left.label, Self.text(left), Self.text(right))
    }

    private static func text(_ entry: (label: String, value: AnyHashable)) -> String {
        let value = entry.value.base
        var text = "\(entry.label) = "
        if let error = value as? CoderError {
            text += "\(error.code): \(error), domain \(error.domain ?? "none"), feature \(error.feature ?? "none"), "
            text += "offset \(error.inputOffset ?? 0), attempts \(error.attempts)"
        } else if let blob = value as? MetadataBlob {
            text += "\(blob.kind) \(blob.key ?? "without a key"), \(blob.bytes.count) bytes \(blob.bytes.prefix(16))"
        } else if let bytes = value as? [UInt8] {
            text += "\(bytes.count) bytes"
        } else {
            text += "\(value)"
        }
        return String(text.prefix(600).map { $0.isNewline ? " " : $0 })
    }

    // MARK: Entries

    private mutating func add(_ label: String, _ value: some Hashable) {
        entries.append((label, AnyHashable(value)))
    }

    private mutating func add(_ label: String, _ error: CoderError) {
        if error.code == .deadlineExceeded { isLate = true }
        entries.append((label, AnyHashable(error)))
    }

    /// Adds the value of a call, or its error.
    @discardableResult
    private mutating func add<T: Hashable>(calling label: String, _ body: () throws(CoderError) -> T) -> T? {
        do throws(CoderError) {
            let value = try body()
            add(label, value)
            return value
        } catch {
            add(label, error)
            return nil
        }
    }

    private mutating func add(_ end: FrameListEnd) {
        if case .failure(let error) = end { return add("end of frames", error) }
        add("end of frames", end)
    }

    private mutating func add(_ blobs: [MetadataBlob]) {
        for (index, blob) in blobs.enumerated() { add("metadata \(index)", blob) }
        add("metadata count", blobs.count)
    }

    private mutating func withSession(_ body: (DecodeSession, inout ModeRecord) throws(CoderError) -> Void) {
        do throws(CoderError) {
            try manager.withSession(ImageSource(bytes), limits: Self.limits, forcing: coder) {
                session throws(CoderError) in
                place = place ?? session.isolation?.place
                do throws(CoderError) { try body(session, &self) } catch { add("failure", error) }
                add("warnings", session.context.warnings)
            }
        } catch {
            add("session", error)
        }
    }

    // MARK: Steps

    /// Information, metadata, all frames in order, thumbnails, warnings.
    private mutating func addSession() {
        withSession { session, record throws(CoderError) in
            record.add("coder", session.coder.id)
            record.add("format", session.format)
            record.add("information", session.info)
            do throws(CoderError) { record.add(try session.metadata()) } catch { record.add("metadata", error) }
            record.add(calling: "pixel formats") { () throws(CoderError) in try session.pixelFormats() }
            record.add(session.findFrames())
            record.add("frames", session.knownFrames)
            for index in 0..<session.knownFrameCount {
                let sum = record.add(calling: "pixels of frame \(index)") { () throws(CoderError) in
                    try session.decodeFrame(index).pixels.byteSum
                }
                if sum == nil { break }
                record.hasPixels = true
            }
            let thumbnails = record.add(calling: "thumbnails") { () throws(CoderError) in try session.thumbnails() }
            for index in (thumbnails ?? []).indices.prefix(2) {
                record.add(calling: "pixels of thumbnail \(index)") { () throws(CoderError) in
                    try session.decodeThumbnail(index).byteSum
                }
            }
        }
    }

    private struct Part: Hashable {
        var changed: PixelRect
        var isComplete: Bool
        var sum: UInt64
    }

    /// The visible pixels while the bytes arrive; half of the time the last bytes never arrive.
    private mutating func addGrowing(_ dice: inout Dice) {
        var cuts = (0..<3).map { _ in dice.below(bytes.count + 1) }.sorted()
        if dice.once(in: 2) { cuts.append(bytes.count) }
        do throws(CoderError) {
            let source = try ImageSource(growingTo: max(1, bytes.count))
            var session: DecodeSession?
            var from = 0
            for (number, cut) in cuts.enumerated() {
                try source.append(Array(bytes[from..<cut]))
                from = cut
                if number == cuts.count - 1 { source.finish() }
                do throws(CoderError) {
                    if session == nil {
                        session = try manager.openSession(source, limits: Self.limits, forcing: coder)
                    }
                    guard let session else { continue }
                    let part = try session.decodeAvailable()
                    add(
                        "part \(number)",
                        part.map { Part(changed: $0.changed, isComplete: $0.isComplete, sum: $0.pixels.byteSum) })
                    add(session.findFrames())
                } catch {
                    add("part \(number)", error)
                    if error.code != .needsInput { break }
                }
            }
            if let session {
                add("frames that arrived", session.knownFrames)
                add("warnings while growing", session.context.warnings)
            }
        } catch {
            add("growing", error)
        }
    }

    /// A smaller version, half of the time upright and in sRGB.
    private mutating func addReduced(_ dice: inout Dice) {
        var options = DecodeOptions.thumbnail(PixelSize(1 + dice.below(24), 1 + dice.below(24)))
        options.appliesOrientation = dice.once(in: 2)
        if dice.once(in: 2) { options.colors = .sRGB }
        options.usesEmbeddedThumbnail = dice.once(in: 2)
        withSession { session, record throws(CoderError) in
            let image = try session.decodeImage(options)
            record.add("reduced information", image.info)
            record.add("reduced pixels", image.pixels.byteSum)
            record.add(image.metadata)
            record.add("reduced warnings", image.warnings)
        }
    }

    /// Frames as stored and as composited, in any order.
    private mutating func addRawFrames(_ dice: inout Dice) {
        let order = (0..<4).map { _ in (number: dice.below(64), isRaw: dice.once(in: 2)) }
        withSession { session, record throws(CoderError) in
            record.add(session.findFrames())
            for (number, isRaw) in order where session.knownFrameCount > 0 {
                let index = number % session.knownFrameCount
                record.add(calling: "frame \(index) at random") { () throws(CoderError) in
                    isRaw
                        ? try session.decodeRawFrame(index)?.byteSum
                        : try session.decodeFrame(index).pixels.byteSum
                }
            }
        }
    }

    /// The image as written by an encoder, with metadata; several frames as an animation.
    private mutating func addEncoded(_ dice: inout Dice) {
        let others: [ImageFormat] = ["png", "jpeg", "gif", "webp", "apng", "farbfeld", "heic", "avif"]
        let other = dice.pick(others)
        let keepsFormat = dice.once(in: 2)
        let seed = dice.next()
        withSession { session, record throws(CoderError) in
            let wanted = keepsFormat ? session.format : other
            let isAnimation =
                session.knownFrameCount > 1 && record.manager.animationFormats.contains(wanted.id)
            let format = isAnimation || record.manager.canEncode(to: wanted) ? wanted : "png"
            // HEIC and AVIF are slow to write.
            if ["heic", "avif"].contains(format), session.info.size.area ?? .max > 4096 { return }
            let first = try session.decodeFrame(0).pixels
            var dice = Dice(seed)
            record.add("encoded as", format)
            let sink = MemorySink(limits: Self.limits)
            let metadata = try session.metadata()
            if isAnimation {
                let options = FuzzTarget.options(
                    of: record.manager.animationEncoders(for: format).first?.descriptor, &dice)
                let encoder = try record.manager.makeAnimationEncoder(
                    to: format, of: session.info, metadata: metadata, options: options, into: sink)
                for index in 0..<min(3, session.knownFrameCount) {
                    let (frame, pixels) = try session.decodeFrame(index)
                    try encoder.add(pixels, duration: frame.duration)
                }
                record.add("encoder warnings", try encoder.finish().warnings)
            } else {
                let options = FuzzTarget.options(of: record.manager.encoders(for: format).first?.descriptor, &dice)
                let image = DecodedImage(
                    info: session.info, pixels: first, metadata: metadata, format: session.format,
                    coder: session.coder.id)
                let report = try record.manager.encode(image, to: format, options: options, into: sink)
                record.add("encoder warnings", report.warnings)
            }
            record.add("encoded bytes", sink.bytes)
        }
    }
}
