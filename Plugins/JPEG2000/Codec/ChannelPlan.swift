internal import CoderPluginKit
internal import ImageModel

/// How the components of a file become the channels of pixels.
struct ChannelPlan {
    /// The origin of a channel.
    struct Source: Equatable {
        let component: Int
        /// The column of the palette; nil for the samples themselves.
        let column: Int?
    }

    /// A conversion of the first three channels.
    enum Conversion: Equatable {
        case none
        /// Luma and two color differences.
        case lumaChroma
        case lab(LabRange)
    }

    /// The channels in memory order: colors, then alpha.
    let sources: [Source]
    let format: PixelFormat
    /// The number of bits of a color sample in the file.
    let bits: Int
    let conversion: Conversion
    let color: ColorDescription
    let profile: [UInt8]?
    /// Warnings about content that is not decoded.
    let losses: [String]

    /// The components to decode, ascending.
    var components: [Int] { Set(sources.map(\.component)).sorted() }
}

/// Derives the plan from the header box and the components.
struct ChannelPlanner {
    private let codestream: Codestream
    private let header: ImageHeader
    private var losses: [String] = []

    private typealias Source = ChannelPlan.Source

    init(_ codestream: Codestream, _ container: Container) {
        self.codestream = codestream
        header = container.header
    }

    /// - Throws: `.corrupt`, `.unsupportedFeature`.
    mutating func plan() throws(CoderError) -> ChannelPlan {
        let channels = try self.channels()
        var space = ColorSpace(header.colors, channelCount: channels.count)
        if case .unknown(let reason) = space.kind, let reason { losses.append(reason) }
        // Smaller second and third components are color differences even if the header states RGB.
        if space.profile == nil, space.kind != .lumaChroma, channels.count == 3, !codestream.mixesColors,
            hasSmallDifferences(channels)
        {
            space.kind = .lumaChroma
        }
        let (colors, alpha) = try sort(channels, space)
        let layout = try layout(colors, hasAlpha: alpha != nil, space)
        let sources = colors + (alpha.map { [$0.source] } ?? [])
        let bits = colors.map(bits).max() ?? 8
        if bits > 16 { losses.append("samples of \(bits) bits are decoded to 16 bits") }
        let isDeep = bits > 8 || space.isLab
        let mode: PixelFormat.Alpha? = alpha.map { $0.isPremultiplied ? .premultiplied : .straight }
        let format = PixelFormat(layout, bits: isDeep ? 16 : 8, alpha: mode)
        let profile = space.profile
        return ChannelPlan(
            sources: sources, format: format, bits: bits, conversion: try conversion(space, colors),
            color: ColorDescription(codePoints: space.codePoints, hasProfile: profile != nil), profile: profile,
            losses: losses)
    }

    private func bits(_ source: Source) -> Int {
        guard let column = source.column, let palette = header.palette else {
            return codestream.components[source.component].bits
        }
        return palette.bits[column]
    }

    private func isSigned(_ source: Source) -> Bool {
        guard let column = source.column, let palette = header.palette else {
            return codestream.components[source.component].isSigned
        }
        return palette.isSigned[column]
    }

    // MARK: Channels

    private mutating func channels() throws(CoderError) -> [Source] {
        let components = codestream.components
        guard let palette = header.palette else {
            return components.indices.map { Source(component: $0, column: nil) }
        }
        guard !header.mappings.isEmpty else {
            losses.append("the file does not map its palette to a component; the first one is used")
            return palette.bits.indices.map { Source(component: 0, column: $0) }
        }
        var sources: [Source] = []
        for mapping in header.mappings {
            guard components.indices.contains(mapping.component),
                mapping.column.map({ palette.bits.indices.contains($0) }) ?? true
            else { throw .corrupt("a channel of the palette has no component or column") }
            sources.append(Source(component: mapping.component, column: mapping.column))
        }
        return sources
    }

    private func hasSmallDifferences(_ channels: [Source]) -> Bool {
        let parts = channels.map { codestream.components[$0.component] }
        return channels.allSatisfy { $0.column == nil } && parts[1].dx == parts[2].dx && parts[1].dy == parts[2].dy
            && (parts[1].dx > parts[0].dx || parts[1].dy > parts[0].dy)
    }

    // MARK: Meaning

    private struct Alpha {
        let source: Source
        let isPremultiplied: Bool
    }

    /// Puts the colors into their order, and finds alpha.
    private mutating func sort(
        _ channels: [Source], _ space: ColorSpace
    ) throws(CoderError) -> (colors: [Source], alpha: Alpha?) {
        var colors: [Int: Source] = [:]
        var alpha: Alpha?
        var rest: [Source] = []
        if header.definitions.isEmpty {
            let count = min(channels.count, space.colorCount ?? (channels.count < 3 ? 1 : 3))
            for index in 0..<count { colors[index] = channels[index] }
            rest = Array(channels[count...])
            if rest.count == 1, space.kind != .cmyk {
                losses.append("the last component has no stated meaning; it is decoded as alpha")
                alpha = Alpha(source: rest.removeFirst(), isPremultiplied: false)
            }
        } else {
            for (index, channel) in channels.enumerated() {
                let definition = header.definitions.first { $0.channel == index }
                switch (definition?.kind, definition?.association) {
                case (0, let color?) where color > 0 && color < 65_535 && colors[color - 1] == nil:
                    colors[color - 1] = channel
                // Old writers associate the only color with the whole image.
                case (0, 0) where colors.isEmpty: colors[0] = channel
                case (1, 0) where alpha == nil: alpha = Alpha(source: channel, isPremultiplied: false)
                case (2, 0) where alpha == nil: alpha = Alpha(source: channel, isPremultiplied: true)
                default: rest.append(channel)
                }
            }
            // Such definitions are defects: the order of the channels decides.
            if colors.isEmpty || colors.keys.max() != colors.count - 1 {
                losses.append("the meaning of the channels is damaged; their order decides")
                let all = channels.filter { $0 != alpha?.source }
                let count = min(all.count, space.colorCount ?? (all.count < 3 ? 1 : 3))
                colors = Dictionary(uniqueKeysWithValues: all.prefix(count).enumerated().map { ($0, $1) })
                rest = Array(all.dropFirst(count))
            }
        }
        if !rest.isEmpty { losses.append("\(rest.count) further components are not decoded") }
        return (colors.sorted { $0.key < $1.key }.map(\.value), alpha)
    }

    private mutating func layout(
        _ colors: [Source], hasAlpha: Bool, _ space: ColorSpace
    ) throws(CoderError) -> PixelFormat.Channels {
        switch (colors.count, space.kind) {
        case (1, _): return hasAlpha ? .grayAlpha : .gray
        case (3, _): return hasAlpha ? .rgba : .rgb
        case (4, .cmyk): return .cmyk
        default: throw .unsupported("JPEG 2000 with \(colors.count) colors")
        }
    }

    private func conversion(_ space: ColorSpace, _ colors: [Source]) throws(CoderError) -> ChannelPlan.Conversion {
        guard colors.count == 3 else { return .none }
        switch space.kind {
        case .lumaChroma:
            guard Set(colors.map(bits)).count == 1, Set(colors.map(isSigned)).count <= 2, bits(colors[0]) <= 16 else {
                throw .unsupported("JPEG 2000 with color differences of other widths")
            }
            return .lumaChroma
        case .lab(let range): return .lab(range)
        default: return .none
        }
    }
}
