public import CoderPluginKit
public import ImageModel

/// Decodes OpenEXR through OpenEXRCore's chunks.
///
/// Parts and views are items; the smaller levels of a tiled part are levels, which `scaledSize` uses; the preview is a
/// thumbnail. The canvas is the display window: stored pixels beside it are not shown, and pixels that are not stored
/// are transparent.
///
/// - Source: "OpenEXR File Layout" and "Technical Introduction to OpenEXR".
public final class EXRDecoder: ItemDecoder {
    private let session: DecoderSession
    private var opened: Opened?
    private var selected: Int?
    private var forms: [Int: PartForm] = [:]
    private var reader: (member: Int, reader: PartReader)?
    private var warned: Set<String> = []

    /// The open file.
    private struct Opened {
        let file: EXRFile
        let parts: [Part]
        let places: ChunkPlaces?
        let members: Members
    }

    private static let signature: [UInt8] = [0x76, 0x2F, 0x31, 0x01]

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    // MARK: Items

    public func readHeader() throws(CoderError) -> ImageInfo {
        let opened = try open()
        let info = try info(of: opened.members.primary)
        selected = opened.members.primary
        let first = opened.members.all[opened.members.primary].part
        if first > 0 { warn("part \(first) is shown, because the parts before it cannot be decoded") }
        try warnOfLosses(opened.members.primary)
        return info
    }

    public func itemCount() throws(CoderError) -> Int? { try open().members.all.count }

    public func item(at index: Int) throws(CoderError) -> ImageItem? {
        let opened = try open()
        guard opened.members.all.indices.contains(index) else { return nil }
        let member = opened.members.all[index]
        let made: ImageInfo
        do throws(CoderError) { made = try info(of: index) } catch {
            throw error.code == .needsInput || member.role == .primary ? error : .refused(error.message)
        }
        let names = opened.parts[member.part].names
        let name = member.view ?? names.part ?? names.view ?? names.views.first
        return ImageItem(member.role, info: made, owner: member.owner, name: name)
    }

    public func select(item index: Int) throws(CoderError) {
        guard try open().members.all.indices.contains(index) else { throw .refused("there is no item \(index)") }
        do throws(CoderError) {
            _ = try info(of: index)
            try warnOfLosses(index)
        } catch { throw error.code == .needsInput ? error : .refused(error.message) }
        selected = index
    }

    // MARK: Facts

    private func open() throws(CoderError) -> Opened {
        if let opened { return opened }
        try checkSignature()
        // Chunks may be anywhere.
        guard session.source.isComplete else { throw .needsInput }
        let file = try EXRFile(session)
        var parts: [Part] = []
        for index in 0..<file.partCount { parts.append(try file.part(index)) }
        guard !parts.isEmpty else { throw .corrupt("the file has no parts") }
        let limit = session.limits.maxFrames > 0 ? session.limits.maxFrames : 65_535
        let members = Members(parts, limit: limit) { part in
            (try? PartForm(part, view: nil, keepsFloats: false)) != nil
        }
        let made = Opened(
            file: file, parts: parts, places: ChunkPlaces(session.source, parts), members: members)
        opened = made
        return made
    }

    private func checkSignature() throws(CoderError) {
        let start = session.source.bytes(0..<min(session.source.available, 4))
        guard Self.signature.starts(with: start) else { throw .notMine() }
        if start.count < 4 { throw session.source.isComplete ? .truncated() : .needsInput }
    }

    private func form(of index: Int) throws(CoderError) -> PartForm {
        if let form = forms[index] { return form }
        let opened = try open()
        let member = opened.members.all[index]
        let form = try PartForm(
            opened.parts[member.part], view: member.view, keepsFloats: session.options.bool("exr.float") ?? false)
        forms[index] = form
        return form
    }

    private func info(of index: Int) throws(CoderError) -> ImageInfo {
        let opened = try open()
        let member = opened.members.all[index]
        let part = opened.parts[member.part]
        if member.role == .thumbnail, let preview = part.color.preview {
            return ImageInfo(size: preview, nativeFormat: .rgba8, color: ColorDescription(codePoints: .srgb))
        }
        let form = try form(of: index)
        let size = member.level == 0 ? part.display.size : part.storage.levels[member.level]
        guard !size.isEmpty, !part.data.isEmpty, max(part.data.width, part.data.height) < 1 << 31 else {
            throw .corrupt("invalid image size \(size)")
        }
        if session.limits.maxSide > 0, max(part.data.width, part.data.height) > session.limits.maxSide {
            throw .limit(
                "side", allowed: session.limits.maxSide, requested: max(part.data.width, part.data.height))
        }
        return form.info(part, size: size, hasItems: opened.members.all.count > 1)
    }

    private func warnOfLosses(_ index: Int) throws(CoderError) {
        let opened = try open()
        let member = opened.members.all[index]
        guard member.role != .thumbnail else { return }
        for loss in try form(of: index).plan.losses { warn(loss) }
        let part = opened.parts[member.part]
        if member.level == 0, !part.display.contains(part.data) {
            warn("pixels beside the display window are not shown: the data window is \(part.data)")
        }
    }

    private func warn(_ text: String) {
        if warned.insert(text).inserted { session.host.warn(text) }
    }

    public var pixelFormats: [PixelFormat] {
        guard let selected, let opened else { return [] }
        if opened.members.all[selected].role == .thumbnail { return [.rgba8] }
        return (try? form(of: selected))?.formats ?? []
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        let opened = try open()
        let member = opened.members.all[selected ?? opened.members.primary]
        guard member.role != .thumbnail, member.level == 0 else { return [] }
        let limit = session.limits.maxMetadataBytes
        var blobs: [MetadataBlob] = []
        for index in 0..<opened.parts[member.part].attributeCount {
            guard let (name, bytes) = opened.file.text(member.part, index), !["name", "type", "view"].contains(name)
            else { continue }
            if limit > 0, bytes.count > limit {
                warn("text \"\(name)\" of \(bytes.count) bytes is left out: the limit is \(limit)")
                continue
            }
            blobs.append(MetadataBlob(.text, Array(String(decoding: bytes, as: UTF8.self).utf8), key: name))
        }
        return blobs
    }

    // MARK: Pixels

    /// Returns the images with the content of the selected one, the smallest first.
    private func sizes() throws(CoderError) -> [(size: PixelSize, member: Int)] {
        let opened = try open()
        let selected = selected ?? opened.members.primary
        let member = opened.members.all[selected]
        let part = opened.parts[member.part]
        guard member.role != .thumbnail else { return [] }
        var sizes = [(try info(of: selected).size, selected)]
        // Levels show the data window, so they replace the canvas only if that is the same.
        if part.isWhole, member.level == 0, member.view == nil {
            for (index, level) in opened.members.all.enumerated() where level.owner == selected && level.level > 0 {
                sizes.append((part.storage.levels[level.level], index))
            }
        }
        return sizes.sorted { ($0.0.area ?? .max) < ($1.0.area ?? .max) }
    }

    public func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        guard let sizes = try? sizes() else { return size }
        return sizes.first { $0.size.width >= wanted.width && $0.size.height >= wanted.height }?.size ?? size
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let opened = try open()
        var index = selected ?? opened.members.primary
        if opened.members.all[index].role == .thumbnail {
            guard request.region == nil || request.region == PixelRect(surface.size) else {
                throw .refused("a preview is decoded whole")
            }
            try opened.file.preview(of: opened.members.all[index].part, into: surface)
            return .complete
        }
        var size = try info(of: index).size
        if let wanted = request.scaledSize, wanted != size {
            guard let found = try sizes().first(where: { $0.size == wanted }) else {
                throw .refused("the image has no level of \(wanted) pixels")
            }
            (size, index) = (found.size, found.member)
        }
        let form = try form(of: index)
        let region = request.region ?? PixelRect(size)
        guard surface.size == region.size, PixelRect(size).contains(region), !region.isEmpty,
            form.formats.contains(surface.format)
        else { throw CoderError(.misuse, "the surface does not have the size or format of the image") }
        return try reader(of: index, form).decode(region, request, into: surface)
    }

    private func reader(of index: Int, _ form: PartForm) throws(CoderError) -> PartReader {
        if let reader, reader.member == index { return reader.reader }
        reader?.reader.release()
        reader = nil
        let opened = try open()
        let member = opened.members.all[index]
        let made = try PartReader(
            PartReader.Source(
                file: opened.file, part: opened.parts[member.part], level: member.level, places: opened.places),
            form, curve: form.keepsFloats ? nil : .shared(hasCurve: form.colors.hasCurve), session)
        reader = (index, made)
        return made
    }
}

extension CodePoints {
    /// The code points of sRGB.
    fileprivate static let srgb = CodePoints(primaries: 1, transfer: 13, matrix: 0, isFullRange: true)
}
