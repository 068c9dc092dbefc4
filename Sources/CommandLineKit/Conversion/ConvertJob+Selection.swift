import CoderHost
import ImageModel

extension ConvertJob {
    /// The parts of each input to convert.
    struct Selection {
        let frame: Int?
        private let firstFrameOnly: Bool
        let frames: FrameSelection
        let items: ItemChoice?
        /// Whether to write the available part of a truncated image.
        let allowsIncomplete: Bool
        /// The id of the only coder to decode with.
        let coder: String?
        private let metadata: Set<MetadataBlob.Kind>

        /// Parses `--frame`, `--first-frame`, `--item`, `--page`, `--incomplete`, `--coder`, `--keep` and `--strip`.
        init(_ arguments: ParsedArguments, _ target: OutputTarget, _ style: Style) throws(UsageError) {
            if arguments.has("--frame") && arguments.has("--first-frame") {
                throw UsageError(
                    "--frame and --first-frame both select a frame", hint: "choose one", command: style.command)
            }
            frame = try arguments.integer("--frame", 0...1_000_000)
            firstFrameOnly = arguments.has("--first-frame")
            frames = try arguments.frameSelection()
            if !frames.isIdentity, frame != nil || firstFrameOnly {
                throw UsageError(
                    "--frame and --first-frame select one frame: the other frame options have no effect",
                    hint: "choose one", command: style.command)
            }
            items = try ItemChoice(arguments, target, command: style.command)
            allowsIncomplete = arguments.has("--incomplete")
            coder = arguments.value("--coder")
            let known = MetadataBlob.Kind.allCases.map { ("\($0)", $0) }
            let kept = try arguments.set("--keep", of: known, noun: "metadata kind") ?? style.kept
            metadata = kept.subtracting(try arguments.set("--strip", of: known, noun: "metadata kind") ?? [])
        }

        /// Whether only one frame is selected.
        var isOneFrame: Bool { frame != nil || firstFrameOnly }

        /// Whether all frames and all metadata are selected.
        var isEverything: Bool { !isOneFrame && frames.isIdentity && metadata == Set(MetadataBlob.Kind.allCases) }

        /// Returns the metadata that is not selected, as parts of a rewrite; nil if colors would change.
        func removedParts(of info: ImageInfo) -> Set<RewriteOptions.Part>? {
            var parts: Set<RewriteOptions.Part> = []
            for kind in MetadataBlob.Kind.allCases where !metadata.contains(kind) {
                switch kind {
                case .exif: parts.insert(.exif)
                case .xmp: parts.insert(.xmp)
                case .icc where info.color.hasProfile: return nil
                case .icc: parts.insert(.icc)
                case .iptc: parts.insert(.iptc)
                case .text: parts.insert(.comment)
                case .raw: parts.insert(.other)
                }
            }
            return parts
        }

        /// Removes metadata that is not selected.
        func keep(_ blobs: inout [MetadataBlob], _ info: inout ImageInfo) {
            blobs.removeAll { !metadata.contains($0.kind) || $0.kindInText.map { !metadata.contains($0) } ?? false }
            if !metadata.contains(.icc) { info.color.hasProfile = false }
        }
    }

    /// The order of the inputs, and their shares of processors and memory.
    package struct Schedule: Sendable {
        /// How many inputs to convert concurrently.
        package let threads: Int
        /// Whether to convert the inputs in order, one at a time.
        package let isOrdered: Bool
        /// Whether there is only one input.
        package let isAlone: Bool
        let budget: MemoryBudget
    }
}
