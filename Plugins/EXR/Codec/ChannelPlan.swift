internal import ImageModel

/// The channels of a part that become the image, and those that are left out.
struct ChannelPlan {
    enum Meaning {
        case gray, rgb
        /// Luminance with the differences of red and blue from it.
        case luminance
    }

    let meaning: Meaning
    /// The number of the channel of each sample in a pixel; nil for a color that is not stored, which is 0.
    let colors: [Int?]
    let alpha: Int?
    /// The channels that are left out or replaced, for warnings.
    let losses: [String]

    /// - Parameters:
    ///   - channels: those of the part.
    ///   - view: the view to show; nil for the channels without a view in their name.
    ///   - views: the views that are images of their own.
    init?(_ channels: [Part.Channel], view: String? = nil, views: [String] = []) {
        let prefix = view.map { "\($0)." } ?? ""
        let channels = view == nil ? channels.map { Self.renamed($0, without: views) } : channels
        var losses: [String] = []
        func find(_ name: String, _ layer: String = "") -> Int? {
            channels.firstIndex { $0.name == prefix + layer + name }
        }
        var layer = ""
        if ["R", "G", "B", "Y"].allSatisfy({ find($0) == nil }) {
            guard let first = Self.layers(channels, prefix).first else {
                // Depth and the like have no color; one of them is better than nothing.
                guard
                    let index = channels.firstIndex(where: {
                        $0.name.hasPrefix(prefix) && $0.name != "A" && $0.name != Self.elsewhere
                    })
                else { return nil }
                let others = Self.others(channels, prefix, [index])
                (meaning, colors, alpha) = (.gray, [index], nil)
                self.losses =
                    ["there is no channel R, G, B or Y: channel \"\(channels[index].name)\" is shown as gray"] + others
                return
            }
            layer = first
            losses.append("there is no default layer: layer \"\(layer.dropLast())\" is shown")
        }
        let rgb = [find("R", layer), find("G", layer), find("B", layer)]
        let alpha = find("A", layer)
        if rgb.contains(where: { $0 != nil }) {
            (meaning, colors) = (.rgb, rgb)
            let missing = zip(["R", "G", "B"], rgb).filter { $0.1 == nil }.map { $0.0 }
            if !missing.isEmpty { losses.append("channel \(missing.joined(separator: ", ")) is not stored: it is 0") }
        } else if let y = find("Y", layer), let red = find("RY", layer), let blue = find("BY", layer) {
            (meaning, colors) = (.luminance, [y, red, blue])
        } else {
            (meaning, colors) = (.gray, [find("Y", layer)])
        }
        self.alpha = alpha
        self.losses = losses + Self.others(channels, prefix, Set((colors + [alpha]).compactMap { $0 }))
    }

    /// The channels that are used, colors first.
    var used: [Int] { (colors + [alpha]).compactMap { $0 } }

    /// The prefix of a channel that no warning mentions.
    private static let elsewhere = "\0"

    /// Returns a channel that is no layer of this image if its name begins with another view.
    private static func renamed(_ channel: Part.Channel, without views: [String]) -> Part.Channel {
        guard views.contains(where: { channel.name.hasPrefix("\($0).") }) else { return channel }
        return Part.Channel(name: elsewhere, sample: channel.sample, sampling: channel.sampling)
    }

    /// Returns the layers with colors, each with its dot.
    private static func layers(_ channels: [Part.Channel], _ prefix: String) -> [String] {
        channels.compactMap { channel in
            guard channel.name.hasPrefix(prefix), let dot = channel.name.lastIndex(of: ".") else { return nil }
            let (layer, name) = (channel.name[...dot], channel.name[channel.name.index(after: dot)...])
            guard ["R", "G", "B", "Y"].contains(name) else { return nil }
            return String(layer.dropFirst(prefix.count))
        }
    }

    /// Returns the loss of all channels that are not used.
    private static func others(_ channels: [Part.Channel], _ prefix: String, _ used: Set<Int>) -> [String] {
        let names = channels.indices.filter {
            !used.contains($0) && channels[$0].name.hasPrefix(prefix) && channels[$0].name != elsewhere
        }
        .map { channels[$0].name }
        guard !names.isEmpty else { return [] }
        let shown = names.prefix(8).joined(separator: ", ") + (names.count > 8 ? " and others" : "")
        return ["\(names.count) channel\(names.count == 1 ? " is" : "s are") left out: \(shown)"]
    }
}
