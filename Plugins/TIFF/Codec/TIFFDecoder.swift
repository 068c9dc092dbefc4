public import CoderPluginKit
public import ImageModel

/// Decodes TIFF and BigTIFF through libtiff's strips and tiles.
///
/// Pages are items. Smaller versions of a page are levels, which `scaledSize` uses.
///
/// - Source: TIFF 6.0; Adobe's TIFF technical notes; the BigTIFF design of libtiff.
public final class TIFFDecoder: ItemDecoder {
    let session: DecoderSession
    private var opened: Opened?
    private var selected = 0
    /// The page whose directory libtiff has read, with its decoder.
    private var current: (member: Int, reader: PageReader)?
    private var facts: [Int: Facts] = [:]
    private var warned: Set<String> = []

    /// The open file.
    struct Opened {
        let file: TIFFFile
        let reader: DirectoryReader
        let list: PageList
    }

    /// The facts of one directory.
    struct Facts {
        let page: Page
        let form: PageForm
        let map: ColorMap?
        let info: ImageInfo
    }

    public init(_ session: DecoderSession) throws(CoderError) { self.session = session }

    // MARK: Items

    public func readHeader() throws(CoderError) -> ImageInfo {
        let facts = try self.facts(of: selected)
        for loss in facts.form.losses { warn(loss) }
        return facts.info
    }

    public func itemCount() throws(CoderError) -> Int? { try open().list.members.count }

    public func item(at index: Int) throws(CoderError) -> ImageItem? {
        let members = try open().list.members
        guard members.indices.contains(index) else { return nil }
        let member = members[index]
        let info: ImageInfo
        do throws(CoderError) { info = try facts(of: index).info } catch { throw refusal(error, index) }
        // Without a kind of its own: the URN of an alpha plane, which a transparency mask is.
        let kind = member.role == .auxiliary ? "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha" : nil
        return ImageItem(member.role, info: info, owner: member.owner, name: try name(of: member), kind: kind)
    }

    public func select(item index: Int) throws(CoderError) {
        guard try open().list.members.indices.contains(index) else { throw .refused("there is no item \(index)") }
        do throws(CoderError) {
            for loss in try facts(of: index).form.losses { warn(loss) }
        } catch { throw refusal(error, index) }
        selected = index
    }

    private func refusal(_ error: CoderError, _ index: Int) -> CoderError {
        index == 0 || error.code == .needsInput ? error : .refused(error.message)
    }

    /// Returns the name of a page (tag 285).
    private func name(of member: PageList.Member) throws(CoderError) -> String? {
        guard let directory = try open().reader.directory(at: member.offset), let entry = directory[285],
            entry.type == 2, entry.count <= 1024
        else { return nil }
        let name = String(decoding: session.source.bytes(entry.value).prefix { $0 != 0 }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }

    // MARK: Facts

    private func open() throws(CoderError) -> Opened {
        if let opened { return opened }
        let reader = try DirectoryReader(session.source)
        // A directory may be anywhere; most writers append it.
        guard session.source.isComplete else { throw .needsInput }
        let limit = session.limits.maxFrames > 0 ? session.limits.maxFrames : 65_535
        let list = PageList(reader, limit: limit)
        guard !list.members.isEmpty else { throw .truncated("the first directory is missing") }
        if let damage = list.damage { session.host.warn(damage) }
        let made = Opened(file: try TIFFFile(session), reader: reader, list: list)
        opened = made
        return made
    }

    func facts(of index: Int) throws(CoderError) -> Facts {
        if let known = facts[index] { return known }
        let opened = try open()
        current = nil
        let page = try opened.file.select(opened.list.members[index].offset)
        try check(page)
        var form =
            page.storage.needsConversion
            ? .rgb : try PageForm(page.meaning, keepsFloats: session.options.bool("tiff.float") ?? false)
        var map: ColorMap?
        if form.color == .palette {
            guard let stored = opened.file.colorMap(bits: form.bits) else { throw .corrupt("the color map is missing") }
            let made = ColorMap(stored)
            (map, form) = (made, form.with(made))
        }
        let directory = opened.reader.directory(at: opened.list.members[index].offset)
        let made = Facts(
            page: page, form: form, map: map,
            info: PageInfo(page, form, hasProfile: directory?[34_675] != nil, hasItems: opened.list.members.count > 1)
                .info)
        facts[index] = made
        opened.file.reportWarnings()
        return made
    }

    private func check(_ page: Page) throws(CoderError) {
        guard !page.size.isEmpty, page.size.width < 1 << 31, page.size.height < 1 << 31 else {
            throw .corrupt("invalid image size \(page.size)")
        }
        guard page.meaning.samples > 0, page.meaning.bits > 0 else { throw .corrupt("a pixel without samples") }
        let compression = page.storage.compression
        let name = PageInfo.compression(compression)
        if page.storage.isCodecMissing { throw .unsupported("TIFF compression \(name)") }
        if PageInfo.rare.contains(compression), session.options.bool("tiff.rare-codecs") == false {
            throw CoderError(
                .unsupportedFeature, "TIFF compression \(name) is off", hint: "set tiff.rare-codecs=true to decode it")
        }
    }

    private func warn(_ text: String) {
        if warned.insert(text).inserted { session.host.warn(text) }
    }

    public func metadata() throws(CoderError) -> [MetadataBlob] {
        let opened = try open()
        guard let directory = opened.reader.directory(at: opened.list.members[selected].offset) else { return [] }
        return TIFFMetadata(opened.reader, session).blobs(of: directory)
    }

    // MARK: Pixels

    /// Smaller forms of the selected page: its levels, and reductions of JPEG strips or tiles.
    private struct Scaled {
        let size: PixelSize
        let member: Int
        let eighths: Int
    }

    private func scaledForms() throws(CoderError) -> [Scaled] {
        let members = try open().list.members
        let whole = try facts(of: selected)
        var forms: [Scaled] = []
        for (index, member) in members.enumerated()
        where index == selected || member.role == .level && member.owner == selected {
            // A damaged level, or one with other colors, is left out.
            guard let level = try? facts(of: index), level.info.nativeFormat == whole.info.nativeFormat else {
                continue
            }
            forms.append(Scaled(size: level.info.size, member: index, eighths: 8))
            guard JPEGBlocks(try open().file, level.page, level.form, session) != nil else { continue }
            for eighths in [4, 2, 1] {
                forms.append(
                    Scaled(size: JPEGBlocks.size(level.page, eighths: eighths), member: index, eighths: eighths))
            }
        }
        // The smallest first; of equal ones a stored level, which takes the least time.
        return forms.sorted { ($0.size.area ?? .max, -$0.eighths) < ($1.size.area ?? .max, -$1.eighths) }
    }

    public func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        guard let forms = try? scaledForms() else { return size }
        return forms.first { $0.size.width >= wanted.width && $0.size.height >= wanted.height }?.size ?? size
    }

    public func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        var form = Scaled(size: try facts(of: selected).info.size, member: selected, eighths: 8)
        if let wanted = request.scaledSize, wanted != form.size {
            guard let found = try scaledForms().first(where: { $0.size == wanted }) else {
                throw .refused("the image has no form of \(wanted) pixels")
            }
            form = found
        }
        let region = request.region ?? PixelRect(form.size)
        let facts = try facts(of: form.member)
        guard surface.size == region.size, PixelRect(form.size).contains(region), !region.isEmpty,
            surface.format == facts.form.format
        else { throw CoderError(.misuse, "the surface does not have the size or format of the image") }
        let file = try open().file
        if form.eighths < 8 {
            try enter(form.member, facts)
            guard let blocks = JPEGBlocks(file, facts.page, facts.form, session) else {
                throw .refused("the image is not reduced")
            }
            return try blocks.decode(region, eighths: form.eighths, request, into: surface)
        }
        return try enter(form.member, facts).decode(region, request, into: surface)
    }

    /// Lets libtiff read the directory again if another one was read since.
    @discardableResult
    private func enter(_ member: Int, _ facts: Facts) throws(CoderError) -> PageReader {
        if let current, current.member == member { return current.reader }
        current?.reader.release()
        current = nil
        let opened = try open()
        let page = try opened.file.select(opened.list.members[member].offset)
        let reader = try PageReader(opened.file, page, facts.form, map: facts.map, session)
        current = (member, reader)
        return reader
    }
}
