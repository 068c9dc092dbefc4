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
        /// Whether to remove the place where an image was taken from kept metadata.
        private let dropsPosition: Bool
        /// Whether to remove the thumbnail from kept Exif metadata.
        private let dropsThumbnail: Bool
        /// Whether the color profile is removed by name, not with everything.
        let namesProfile: Bool

        /// Parses `--frame`, `--first-frame`, `--item`, `--page`, `--incomplete`, `--coder`, `--keep` and `--strip`.
        ///
        /// - Parameter combinesItems: whether one output can hold several images.
        init(
            _ arguments: ParsedArguments, _ target: OutputTarget, _ style: Style, combinesItems: Bool
        ) throws(UsageError) {
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
            items = try ItemChoice(arguments, target, combines: combinesItems, command: style.command)
            allowsIncomplete = arguments.has("--incomplete")
            coder = arguments.value("--coder")
            try arguments.refuseKeepingStripped(all: MetadataParts.choices.filter { $0 != "all" })
            let kept = try MetadataParts.named(by: "--keep", arguments)
            let stripped = try MetadataParts.named(by: "--strip", arguments) ?? []
            let removed = kept.map(MetadataParts.removed).map { $0.union(stripped) } ?? stripped
            let usual = kept == nil ? style.kept : Set(MetadataBlob.Kind.allCases)
            metadata = usual.subtracting(removed.compactMap(\.kind))
            // `--keep xmp` keeps the whole packet: only an answer about Exif removes a place from it.
            dropsPosition = stripped.contains(.gps) || removed.contains(.gps) && metadata.contains(.exif)
            dropsThumbnail = removed.contains(.thumbnail) && metadata.contains(.exif)
            namesProfile = arguments.all("--strip").contains { text in text.split(separator: ",").contains("icc") }
        }

        /// Whether metadata of a kind is written.
        func keeps(_ kind: MetadataBlob.Kind) -> Bool { metadata.contains(kind) }

        /// Whether only one frame is selected.
        var isOneFrame: Bool { frame != nil || firstFrameOnly }

        /// Whether all frames and all metadata are selected.
        var isEverything: Bool {
            !isOneFrame && frames.isIdentity && !dropsPosition && !dropsThumbnail
                && metadata == Set(MetadataBlob.Kind.allCases)
        }

        /// Returns the metadata that is not selected, as parts of a rewrite; nil if colors would change.
        func removedParts(of info: ImageInfo) -> Set<RewriteOptions.Part>? {
            var parts: Set<RewriteOptions.Part> = dropsPosition ? [.gps] : []
            if dropsThumbnail { parts.insert(.thumbnail) }
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
            if dropsThumbnail {
                for index in blobs.indices where blobs[index].kind == .exif {
                    blobs[index].bytes = ExifThumbnail.removing(blobs[index].bytes)
                }
            }
            guard dropsPosition else { return }
            // Metadata in text form is not parsed, so it goes as a whole.
            blobs.removeAll { $0.kindInText == .exif || $0.kindInText == .xmp }
            for index in blobs.indices {
                switch blobs[index].kind {
                case .exif: blobs[index].bytes = ExifPosition.removing(blobs[index].bytes)
                case .xmp: blobs[index].bytes = XMPPosition.removing(blobs[index].bytes)
                default: break
                }
            }
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
