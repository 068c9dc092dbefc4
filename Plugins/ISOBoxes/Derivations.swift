internal import CoderPluginKit
package import ImageModel

/// The images of which each image of a file consists; refuses images that are unsafe to decode.
///
/// Visits every item once, even if many images refer to it: a file may derive thousands of images from one, in long
/// chains or in circles.
///
/// libheif 1.15 follows circles until the stack overflows, and decoders trust the sizes in the streams.
package final class Derivations {
    package let table: ItemTable
    package let limits: DecodeLimits
    private var nodes: [UInt32: Node] = [:]
    private var sizes: [UInt32: Result<PixelSize, CoderError>] = [:]
    private var alphas: [UInt32: Result<UInt32?, CoderError>] = [:]

    private struct Node {
        /// The number of levels below this image.
        var height = 0
        /// The pixels of this image and of all images below, each counted as often as it is drawn.
        var cost = 0
        /// The first image with its own samples.
        var coded: UInt32?
        var failure: CoderError?
    }

    package init(_ table: ItemTable, limits: DecodeLimits) {
        self.table = table
        self.limits = limits
    }

    /// Refuses an image that is unsafe to decode.
    ///
    /// - Throws: `.unsupported`, `.corrupt`, `.limitExceeded`.
    package func check(image id: UInt32) throws(CoderError) {
        let size = try size(id)
        _ = try coded(id)
        try checkWhole(size, of: id)
        // An overlay may draw the same image thousands of times.
        let allowed = max(16 * (size.area ?? 0), 64_000_000)
        let cost = node(id).cost
        if cost > allowed { throw .limit("pixels", allowed: allowed, requested: cost) }
    }

    /// Returns the first image with its own samples below `id`.
    package func coded(_ id: UInt32) throws(CoderError) -> UInt32 {
        let node = node(id)
        if let failure = node.failure { throw failure }
        guard let coded = node.coded else { throw .corrupt("a derived image has no source with samples") }
        return coded
    }

    /// Returns the size after the transforms.
    package func size(_ id: UInt32) throws(CoderError) -> PixelSize {
        if let known = sizes[id] { return try known.get() }
        let result: Result<PixelSize, CoderError>
        do throws(CoderError) {
            result = .success(try table.shownSize(of: id))
        } catch {
            result = .failure(error)
        }
        sizes[id] = result
        return try result.get()
    }

    /// Returns the item with the alpha channel of `id`: one of the same size.
    ///
    /// - Source: ISO/IEC 23008-12 sections 6.5.8 and B.2.2; ISO/IEC 23000-22 (MIAF) section 7.3.5.2.
    package func alpha(_ id: UInt32) throws(CoderError) -> UInt32? {
        if let known = alphas[id] { return try known.get() }
        let result: Result<UInt32?, CoderError>
        do throws(CoderError) {
            var found: UInt32?
            for source in table.sources("auxl", to: id) where table.items[source]?.isImage == true {
                guard let kind = table.auxiliaryKind(of: source), Self.alphaKinds.contains(kind) else { continue }
                if try size(source) == size(id) {
                    found = source
                    break
                }
            }
            result = .success(found)
        } catch {
            result = .failure(error)
        }
        alphas[id] = result
        return try result.get()
    }

    /// Whether there is an alpha channel, or an item that declares to be one.
    package func hasAlpha(_ id: UInt32) -> Bool {
        do throws(CoderError) { return try alpha(id) != nil } catch { return true }
    }

    /// Returns the auxiliary images of `id` that declare to be an alpha channel.
    package func alphaCount(_ id: UInt32) -> Int {
        table.sources("auxl", to: id).filter { Self.alphaKinds.contains(table.auxiliaryKind(of: $0) ?? "") }.count
    }

    /// The kinds of auxiliary images and tracks that are an alpha channel.
    package static let alphaKinds: Set<String> = [
        "urn:mpeg:avc:2015:auxid:1", "urn:mpeg:hevc:2015:auxid:1", "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
    ]

    /// Returns the images that decoding `id` reads, itself first.
    package func closure(of id: UInt32) -> [UInt32] {
        var found = [id]
        var seen: Set<UInt32> = [id]
        var next = 0
        while next < found.count {
            for source in sources(of: found[next]) where seen.insert(source).inserted { found.append(source) }
            next += 1
        }
        return found
    }

    private func sources(of id: UInt32) -> [UInt32] {
        table.targets("dimg", from: id) + [(try? alpha(id)) ?? nil].compactMap { $0 }
    }

    // MARK: Walking

    /// Visits `root` and all images below, without recursion: a chain may be as long as the number of items.
    private func node(_ root: UInt32) -> Node {
        if let known = nodes[root] { return known }
        var path: [(id: UInt32, sources: [UInt32], next: Int)] = []
        func enter(_ id: UInt32) {
            // Valid until the image is complete: an image that reaches it before that contains itself.
            nodes[id] = Node(failure: .corrupt("an image contains itself"))
            path.append((id, sources(of: id), 0))
        }
        enter(root)
        while let last = path.indices.last {
            let next = path[last].next
            if next < path[last].sources.count {
                path[last].next += 1
                let source = path[last].sources[next]
                if nodes[source] == nil { enter(source) }
            } else {
                nodes[path[last].id] = finished(path[last].id, path[last].sources)
                path.removeLast()
            }
        }
        return nodes[root] ?? Node()
    }

    private func finished(_ id: UInt32, _ sources: [UInt32]) -> Node {
        var node = Node()
        do throws(CoderError) {
            _ = try alpha(id)
            try checkConfiguration(of: id)
        } catch {
            node.failure = error
        }
        node.cost = table.properties(of: id).reduce(0) {
            if case .extent(let size) = $1 { max($0, size.area ?? .max) } else { $0 }
        }
        for source in sources {
            guard let below = nodes[source] else { continue }
            if node.failure == nil { node.failure = below.failure }
            node.height = max(node.height, below.height + 1)
            let (sum, overflow) = node.cost.addingReportingOverflow(below.cost)
            node.cost = overflow ? .max : sum
        }
        let deepest = limits.maxNesting > 0 ? limits.maxNesting : 100
        if node.height > deepest, node.failure == nil {
            node.failure = .limit("nesting", allowed: deepest, requested: node.height)
        }
        let isDerived = table.items[id]?.isDerived == true
        node.coded = isDerived ? table.targets("dimg", from: id).first.flatMap { nodes[$0]?.coded } : id
        return node
    }

    // MARK: Limits

    /// Checks an image that is decoded completely against the limits.
    package func check(_ size: PixelSize) throws(CoderError) {
        let side = max(size.width, size.height)
        if limits.maxSide > 0, side > limits.maxSide {
            throw .limit("side", allowed: limits.maxSide, requested: side)
        }
        let area = size.area ?? Int.max
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
    }

    /// Does not check the canvas of a grid, whose tiles are decoded one by one; the caller that decodes all of it does.
    private func checkWhole(_ size: PixelSize, of id: UInt32) throws(CoderError) {
        let hasTiles = table.items[id]?.type == "grid" && table.targets("dimg", from: id).count > 1
        if !hasTiles { try check(size) }
    }

    private func checkConfiguration(of id: UInt32) throws(CoderError) {
        if let damage = table.items[id]?.damage { throw damage }
        try checkSupport(of: id)
        for property in table.properties(of: id) {
            switch property {
            case .damaged(let error): throw error
            case .extent(let size): try checkWhole(size, of: id)
            case .hevc(let configuration):
                try checkCoded(configuration.sizes.longest, of: id)
                try checkCoded(configuration.sizes.largest, of: id)
            case .av1(let configuration): if let size = configuration.coded { try checkCoded(size, of: id) }
            default: break
            }
        }
    }

    /// Refuses an item with a property that decides about its pixels in a way that no decoder here implements.
    ///
    /// - Source: ISO/IEC 23008-12 sections 6.4.9 (`pred`) and 9.3 (essential properties).
    private func checkSupport(of id: UInt32) throws(CoderError) {
        for association in table.items[id]?.properties ?? [] where association.isEssential {
            let type = table.propertyBoxes[association.index].type
            if !ItemProperty.understood.contains(type) { throw .unsupported("the essential property '\(type)'") }
        }
        if !table.targets("pred", from: id).isEmpty {
            throw .unsupported("an image predicted from other images ('pred')")
        }
    }

    /// Limits the difference of stream and image size: a coded image is padded to whole blocks and may be cropped, but
    /// not by a large factor.
    package func checkCoded(_ size: PixelSize, of id: UInt32) throws(CoderError) {
        try check(size)
        for property in table.properties(of: id) {
            guard case .extent(let stored) = property, let area = size.area else { continue }
            if area / 8 > (stored.area ?? 0) + 65_536 {
                throw .corrupt("an image of \(stored) has a stream of \(size)")
            }
        }
    }
}
