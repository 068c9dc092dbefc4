internal import CCoderPlugin
internal import ImageModel

/// A decoding session of the host: its state in the sequence of `cpi/decoder.h`, and the author's decoder.
@safe final class ExportedDecoder: ExportedSession {
    private enum State: Int { case opened, sourced, header, frame, decoded }

    private let setup: Setup
    let host: HostServices
    private var state = State.opened
    private var source: ByteSource?
    private var decoder: (any ImageDecoder)?
    private var selection = Selection()
    private var progress = Progress()
    private var blobs: Blobs?
    /// The copy that backs the latest returned blob.
    private var blobMemory: UnsafeMutableBufferPointer<UInt8>?
    /// The strings of the latest described item.
    private var itemStrings: [UnsafeMutablePointer<CChar>] = unsafe []

    /// The parameters of the session.
    private struct Setup {
        let coder: Coder
        let options: CoderOptions
        let limits: DecodeLimits
    }

    /// The selected item.
    private struct Selection {
        /// The index of an item that was selected; nil before.
        var index: Int?
        /// The facts of the item; nil before the header.
        var info: ImageInfo?
        /// The facts of item 0, if another item is selected.
        var primary: ImageInfo?
    }

    /// The metadata of the selected item.
    private struct Blobs {
        var all: [MetadataBlob] = []
        /// Whether the source was complete when it was read.
        var isFinal = true
    }

    /// The progress within the selected item.
    private struct Progress {
        var frame: FrameInfo?
        /// Whether the only frame of a decoder without frames was stepped over.
        var stillIsPassed = false
        /// Whether the decoder has used a surface.
        var decodeHasBegun = false
        /// The part of the surface that the latest decode changed.
        var dirty: PixelRect?
    }

    init(_ coder: Coder, options: CoderOptions, limits: DecodeLimits, host: HostServices) {
        setup = Setup(coder: coder, options: options, limits: limits)
        self.host = host
        super.init(maySuspend: true)
    }

    deinit {
        unsafe blobMemory?.deallocate()
        unsafe itemStrings.forEach { unsafe $0.deallocate() }
    }

    // MARK: Up to the header

    func setSource(_ source: ByteSource) throws(CoderError) {
        guard state == .opened else { throw outOfSequence("set_source") }
        self.source = source
        do throws(CoderError) {
            decoder = try makeDecoder()
        } catch {
            // The contract does not allow a suspension here; read_header tries again.
            if error.code != .needsInput { throw source.failure ?? error }
        }
        state = .sourced
    }

    private func makeDecoder() throws(CoderError) -> any ImageDecoder {
        guard let source, let type = setup.coder.decoder else { throw .unsupported("decoding") }
        return try type.init(DecoderSession(source: source, options: setup.options, limits: setup.limits, host: host))
    }

    func readHeader() throws(CoderError) -> ImageInfo {
        guard state == .sourced else { throw outOfSequence("read_header") }
        let info = try patiently { () throws(CoderError) in
            if let decoder { return try decoder.readHeader() }
            let late = try makeDecoder()
            decoder = late
            return try late.readHeader()
        }
        selection.info = info
        state = .header
        return info
    }

    /// Runs a call that may suspend.
    ///
    /// A call that read missing bytes of a growing source suspends, because its result derives from placeholders.
    /// If the source was complete before the call, a request for more input would never end, so it becomes
    /// `.truncated`.
    private func patiently<Result>(_ call: () throws(CoderError) -> Result) throws(CoderError) -> Result {
        let wasComplete = source?.isComplete ?? true
        do throws(CoderError) {
            let result = try call()
            if let failure = source?.failure { throw failure }
            if source?.takeLackOfInput() == true { throw .needsInput }
            return result
        } catch {
            if let failure = source?.failure { throw failure }
            if source?.takeLackOfInput() == true { throw wasComplete ? .truncated() : .needsInput }
            throw error.code == .needsInput && wasComplete ? .truncated() : error
        }
    }

    /// Returns the decoder and the facts of the image, from the header on.
    private func opened(_ call: String) throws(CoderError) -> (decoder: any ImageDecoder, info: ImageInfo) {
        guard state.rawValue >= State.header.rawValue, let decoder, let info = selection.info else {
            throw outOfSequence(call)
        }
        return (decoder, info)
    }

    // MARK: Contents

    /// Returns metadata number `index`, valid until the next call; nil after the last.
    @unsafe
    func blob(_ index: Int) throws(CoderError) -> cpi_blob? {
        let (decoder, _) = try opened("blob")
        // A listing begins with index 0; the source may have grown since the last one.
        if index == 0, blobs?.isFinal == false { blobs = nil }
        if blobs == nil, isAtThumbnail { blobs = Blobs() }
        if blobs == nil { blobs = try metadata(of: decoder, isFinal: source?.isComplete ?? true) }
        guard let all = blobs?.all, index < all.count else { return nil }
        let blob = all[index]
        let key = blob.key.map { Array($0.utf8) + [0] }
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: blob.bytes.count + (key?.count ?? 0))
        _ = unsafe copy.initialize(fromContentsOf: blob.bytes + (key ?? []))
        unsafe blobMemory?.deallocate()
        unsafe blobMemory = copy

        var raw = unsafe cpi_blob()
        unsafe raw.kind = blob.kind.rawValue
        unsafe raw.length = UInt64(blob.bytes.count)
        if let start = copy.baseAddress {
            unsafe raw.bytes = UnsafePointer(start)
            let end = unsafe UnsafeRawPointer(start + blob.bytes.count)
            if key != nil { unsafe raw.key = end.assumingMemoryBound(to: CChar.self) }
        }
        return unsafe raw
    }

    private func metadata(
        of decoder: any ImageDecoder, isFinal: Bool
    ) throws(CoderError) -> Blobs {
        Blobs(all: try patiently { () throws(CoderError) in try decoder.metadata() }, isFinal: isFinal)
    }

    func offer(_ index: Int) throws(CoderError) -> PixelFormat? {
        let (decoder, info) = try opened("offer")
        let formats = formats(decoder, info)
        return index < formats.count ? formats[index] : nil
    }

    private func formats(_ decoder: any ImageDecoder, _ info: ImageInfo) -> [PixelFormat] {
        let formats = isAtThumbnail ? [] : decoder.pixelFormats
        return formats.isEmpty ? [info.nativeFormat] : formats
    }

    func scaledSize(atLeast wanted: PixelSize) throws(CoderError) -> PixelSize {
        let (decoder, info) = try opened("scaled_size")
        if isAtThumbnail { return info.size }
        let size = progress.frame?.rect.size ?? info.size
        if info.isScalable { return decoder.scaledSize(atLeast: wanted, of: size) }
        let least = PixelSize(min(max(1, wanted.width), size.width), min(max(1, wanted.height), size.height))
        let reduced = decoder.scaledSize(atLeast: least, of: size)
        let fits =
            reduced.width >= least.width && reduced.width <= size.width
            && reduced.height >= least.height && reduced.height <= size.height
        return fits ? reduced : size
    }

    // MARK: Frames

    func nextFrame() throws(CoderError) -> FrameInfo? {
        let (decoder, info) = try opened("next_frame")
        let next: FrameInfo
        if let animation = decoder as? any AnimationDecoder, !isAtThumbnail {
            guard let found = try patiently({ () throws(CoderError) in try animation.nextFrame() }) else { return nil }
            next = found
        } else {
            if progress.stillIsPassed { return nil }
            progress.stillIsPassed = true
            next = FrameInfo(index: 0, rect: PixelRect(info.size), hasAlpha: info.hasAlpha)
        }
        progress.frame = next
        progress.dirty = nil
        state = .frame
        return next
    }

    func seek(toFrame index: Int) throws(CoderError) -> Int {
        let (decoder, _) = try opened("seek_frame")
        var start = 0
        if let animation = decoder as? any AnimationDecoder, !isAtThumbnail {
            start = try patiently { () throws(CoderError) in try animation.seek(toFrame: index) }
            guard start >= 0, start <= index else {
                throw CoderError(.pluginFault, "the decoder chose a frame after the requested one")
            }
        } else {
            if index != 0 { throw .invalidArgument("the image has one frame") }
            if progress.decodeHasBegun, !isAtThumbnail { try startOver() }
            progress.stillIsPassed = false
        }
        progress.frame = nil
        progress.dirty = nil
        state = .header
        return start
    }

    /// Creates a new decoder, because the decoder of a still keeps using its first surface.
    private func startOver() throws(CoderError) {
        let fresh = try makeDecoder()
        _ = try patiently { () throws(CoderError) in
            let info = try fresh.readHeader()
            if let index = selection.index, let items = fresh as? any ItemDecoder { try items.select(item: index) }
            return info
        }
        decoder = fresh
        progress.decodeHasBegun = false
    }

    @unsafe
    func decode(_ pointer: UnsafePointer<cpi_decode_request>) throws(CoderError) -> cpi_status {
        let (decoder, info) = try opened("decode")
        guard let frame = progress.frame else { throw outOfSequence("decode") }
        let raw = unsafe try copyIn(pointer, least: FirstSize.decodeRequest)
        let surface = unsafe try Surface(raw.surface)
        let reduced = unsafe try reduction(to: PixelSize(Int(raw.scaled_width), Int(raw.scaled_height)))
        let request = DecodeRequest(
            region: unsafe try region(raw.region, of: reduced ?? frame.rect.size, info),
            scaledSize: reduced, wantsPartial: unsafe raw.flags.has(CPI_DECODE_WANT_PARTIAL))
        guard surface.size == request.region?.size ?? reduced ?? frame.rect.size else {
            throw CoderError(.misuse, "the surface does not have the size of the decoded pixels")
        }
        guard formats(decoder, info).contains(surface.format) else {
            throw CoderError(.misuse, "the surface has a pixel format that was not offered")
        }

        progress.dirty = PixelRect(.zero)
        progress.decodeHasBegun = true
        if isAtThumbnail { return try decodeThumbnail(into: surface) }
        switch try patiently({ () throws(CoderError) in try decoder.decode(request, into: surface) }) {
        case .complete:
            progress.dirty = PixelRect(surface.size)
            // Metadata may follow the pixels.
            blobs = nil
            state = .decoded
            return CPI_OK
        case .partial(let rect):
            progress.dirty = rect.intersection(PixelRect(surface.size))
            return CPI_PARTIAL
        }
    }

    private func region(_ raw: cpi_rect, of size: PixelSize, _ info: ImageInfo) throws(CoderError) -> PixelRect? {
        let rect = PixelRect(raw)
        if rect == PixelRect(.zero) { return nil }
        let isBand = info.decodesRows && rect.x == 0 && rect.width == size.width
        guard isBand || setup.coder.roles.contains(.region) else {
            throw .refused("this coder decodes whole frames only")
        }
        guard !rect.isEmpty, PixelRect(size).contains(rect) else {
            throw .invalidArgument("the region \(rect) is not within the frame")
        }
        return rect
    }

    private func reduction(to size: PixelSize) throws(CoderError) -> PixelSize? {
        if size == .zero { return nil }
        guard !size.isEmpty else { throw .invalidArgument("the reduced size \(size) is empty") }
        return size
    }

    /// Returns the part of the surface that the latest decode changed.
    func changed() throws(CoderError) -> PixelRect {
        guard let dirty = progress.dirty else { throw outOfSequence("dirty") }
        return dirty
    }

    // MARK: Items

    var hasItems: Bool { setup.coder.decoder is any ItemDecoder.Type || hasThumbnails }
    private var hasThumbnails: Bool { setup.coder.decoder is any ThumbnailDecoder.Type }
    private var isAtThumbnail: Bool { selection.index ?? 0 != 0 && hasThumbnails }

    func itemCount() throws(CoderError) -> Int? {
        guard let decoder = try opened("count").decoder as? any ItemDecoder else { return nil }
        return try patiently { () throws(CoderError) in try decoder.itemCount() }
    }

    func item(_ index: Int) throws(CoderError) -> ImageItem? {
        let (decoder, info) = try opened("describe")
        if let decoder = decoder as? any ItemDecoder {
            return try patiently { () throws(CoderError) in try decoder.item(at: index) }
        }
        guard let decoder = decoder as? any ThumbnailDecoder else { return nil }
        if index == 0 { return ImageItem(.primary, info: selection.primary ?? info) }
        let found = try patiently { () throws(CoderError) in try decoder.thumbnail(at: index - 1) }
        return found.map { ImageItem(.thumbnail, info: $0, owner: 0) }
    }

    /// Returns the item as a C struct; its strings are valid until the next item is described.
    @unsafe
    func hold(_ item: ImageItem) -> cpi_item {
        unsafe itemStrings.forEach { unsafe $0.deallocate() }
        unsafe itemStrings = []
        func hold(_ text: String?) -> UnsafePointer<CChar>? {
            guard let bytes = text?.utf8CString else { return nil }
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
            for (index, byte) in bytes.enumerated() { unsafe copy[index] = byte }
            unsafe itemStrings.append(copy)
            return unsafe UnsafePointer(copy)
        }
        return unsafe cpi_item(
            size: UInt32(MemoryLayout<cpi_item>.size), flags: 0, role: item.role.rawValue,
            of: item.owner.map { UInt32(clamping: $0) } ?? CPI_ITEM_NONE, group: UInt32(clamping: item.group ?? 0),
            reserved: 0, name: hold(item.name), kind: hold(item.kind))
    }

    func select(item index: Int) throws(CoderError) {
        guard let item = try item(index) else { throw .refused("there is no item \(index)") }
        if let decoder = decoder as? any ItemDecoder {
            try patiently { () throws(CoderError) in try decoder.select(item: index) }
        }
        selection = Selection(index: index, info: item.info, primary: selection.primary ?? selection.info)
        progress.frame = nil
        progress.dirty = nil
        progress.stillIsPassed = false
        blobs = nil
        state = .header
    }

    private func decodeThumbnail(into surface: borrowing Surface) throws(CoderError) -> cpi_status {
        guard let decoder = decoder as? any ThumbnailDecoder else { throw outOfSequence("decode") }
        let index = (selection.index ?? 0) - 1
        try patiently { () throws(CoderError) in try decoder.decodeThumbnail(at: index, into: surface) }
        progress.dirty = PixelRect(surface.size)
        state = .decoded
        return CPI_OK
    }
}
