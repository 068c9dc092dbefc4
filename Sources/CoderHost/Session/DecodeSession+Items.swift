public import ImageModel
import ImageProcessing
import PluginRuntime

/// An item of a file, or the reason why it cannot be described.
public struct ListedItem: Sendable {
    /// The index from 0, as for ``DecodeSession/select(item:)``.
    public var index: Int
    /// The description, or the error of a damaged item.
    package var item: Result<ImageItem, CoderError>

    /// The properties, if they could be read.
    public var facts: ImageItem? { try? item.get() }
}

extension DecodeSession {
    /// The maximum number of listed items; a hostile file may declare millions.
    static let maxItems = 10_000

    /// Lists every image of the file: pages, thumbnails, auxiliary images. If the format has only one image, lists
    /// that.
    ///
    /// A damaged item is listed with its reason and does not end the session.
    public func items() throws(CoderError) -> [ListedItem] {
        if let listedItems { return listedItems }
        guard coder.roles.contains(.items) else {
            return [ListedItem(index: 0, item: .success(ImageItem(.primary, info: info)))]
        }
        var result: [ListedItem] = []
        do throws(CoderError) {
            try sequence.attempt { decoder throws(CoderError) in
                while result.count < Self.maxItems {
                    do throws(CoderError) {
                        guard let item = try decoder.item(at: result.count) else { break }
                        result.append(ListedItem(index: result.count, item: .success(item)))
                    } catch {
                        guard error.code == .refused else { throw error }
                        result.append(ListedItem(index: result.count, item: .failure(error)))
                    }
                }
            }
        } catch {
            // Damage ends the coder's session, but not the list found so far.
            guard [.corrupt, .truncated, .unsupportedFeature].contains(error.code), !result.isEmpty else { throw error }
            result.append(ListedItem(index: result.count, item: .failure(error)))
        }
        if source.isComplete { listedItems = result }
        return result
    }

    /// Warns about images that are neither `verb` nor a thumbnail of such an image.
    ///
    /// - Parameters:
    ///   - verb: "described", "written" or "extracted".
    ///   - chosen: the items that the caller requested; nil for the selected one.
    package func warnOfOtherItems(_ verb: String, chosen: Set<Int>? = nil) throws(CoderError) {
        guard info.hasItems || hasChosen else { return }
        let selected = selectedItem
        let done = chosen ?? [selected]
        let listed = try items()
        let others = listed.filter { !done.contains($0.index) }
        if chosen == nil { warnOfImages(among: others, verb) }
        if done.count > 1 || chosen == nil { warnOfUnreadable(others) }
        for other in others {
            guard let item = other.facts, item.role == .auxiliary, done.contains(item.owner ?? selected), !item.isAlpha
            else { continue }
            let name = item.isGainMap ? "item \(other.index), a gain map" : "item \(other.index)"
            context.warn("\(name) (\(item.kind ?? "an auxiliary image")) is not \(verb)")
        }
    }

    private func warnOfImages(among others: [ListedItem], _ verb: String) {
        let images = others.filter { [.primary, .page, .alternative].contains($0.facts?.role ?? .page) }
        if images.isEmpty { return }
        context.warn(
            "the file holds \(images.count + 1) images, but only one is \(verb): "
                + "coderhost info --items lists them, convert --item N writes another one, frames extract --items writes all"
        )
    }

    private func warnOfUnreadable(_ others: [ListedItem]) {
        let unreadable = others.filter { $0.facts == nil }
        guard let first = unreadable.first, case .failure(let error) = first.item else { return }
        let more = unreadable.count > 1 ? ", and \(unreadable.count - 1) more" : ""
        let reason = error.code == .refused ? error.message : "item \(first.index) cannot be read (\(error.message))"
        context.warn("\(reason)\(more)")
    }

    // MARK: Thumbnails

    /// Returns the thumbnails of the selected item.
    func thumbnailItems() throws(CoderError) -> [ListedItem] {
        guard info.hasItems else { return [] }
        let selected = selectedItem
        return try items().filter { item in
            item.facts.map { $0.role == .thumbnail && $0.owner ?? selected == selected } == true
        }
    }

    /// Returns the properties of every embedded thumbnail of the selected item.
    package func thumbnails() throws(CoderError) -> [ImageInfo] { try thumbnailItems().compactMap { $0.facts?.info } }

    /// Decodes an embedded thumbnail of the selected item in its native format.
    ///
    /// A damaged thumbnail does not end the session.
    package func decodeThumbnail(_ index: Int) throws(CoderError) -> PixelBuffer {
        let thumbnails = try thumbnailItems()
        guard thumbnails.indices.contains(index) else { throw .invalidArgument("there is no thumbnail \(index)") }
        return try decode(item: thumbnails[index].index)
    }

    /// Decodes another item and returns to the selected one.
    func decode(item index: Int) throws(CoderError) -> PixelBuffer {
        // If this fails, the decoder is not taken back, and the next call opens a new one.
        let decoder = try sequence.lendDecoder()
        do throws(CoderError) {
            let buffer = try decode(item: index, with: decoder)
            try takeBack(decoder)
            return buffer
        } catch {
            // The decoder only waits for bytes.
            if error.code == .needsInput { try takeBack(decoder) }
            throw error
        }
    }

    private func takeBack(_ decoder: any FrameDecoder) throws(CoderError) {
        try decoder.select(item: selectedItem)
        sequence.takeBack(decoder)
    }

    private func decode(item index: Int, with decoder: any FrameDecoder) throws(CoderError) -> PixelBuffer {
        try decoder.select(item: index)
        let facts = try decoder.readHeader()
        try LimitCheck.examine(facts, source, context.limits)
        guard try decoder.nextFrame() != nil else { throw .corrupt("the thumbnail is empty") }
        let format = try decoder.pixelFormats()[0]
        let buffer = try pool.take(facts.size, format, clean: true)
        guard try decoder.decode(FrameRequest(), into: CanvasPlace(buffer)) == .complete else {
            throw source.isComplete ? CoderError.truncated() : .needsInput
        }
        return buffer
    }
}

extension ImageItem {
    /// Whether it is a gain map, which turns its image into one of high dynamic range.
    ///
    /// - Source: ISO 21496-1 annex C; Adobe gain map specification 1.0; Apple's auxiliary images.
    var isGainMap: Bool {
        kind.map {
            $0 == "urn:iso:std:iso:ts:21496:-1" || $0 == "http://ns.adobe.com/hdr-gain-map/1.0/"
                || $0.hasSuffix(":aux:hdrgainmap")
        } ?? false
    }

    /// Whether it is an alpha channel, which is decoded together with its image.
    ///
    /// - Source: ISO/IEC 23008-12 section 6.5.8; ISO/IEC 23000-22 (MIAF) section 7.3.5.2.
    var isAlpha: Bool {
        kind.map { $0.hasSuffix(":alpha") || $0.hasSuffix(":auxid:1") } ?? false
    }
}
