internal import CoderPluginKit
internal import EXRShim
internal import ImageModel

/// A file that OpenEXRCore reads.
@safe final class EXRFile {
    static let library = "OpenEXRCore"

    private let file: OpaquePointer
    /// The bytes for a host that reads piece by piece.
    private let reader: Reader
    /// The bytes that the library may hold; 0 without a limit.
    private let limit: Int

    private final class Reader {
        let source: ByteSource
        init(_ source: ByteSource) { self.source = source }
    }

    /// Opens a complete source and reads all headers; its bytes are used in place if they are contiguous.
    ///
    /// - Throws: `.corrupt`, `.truncated`, `.limitExceeded`, `.outOfMemory`.
    init(_ session: DecoderSession) throws(CoderError) {
        reader = Reader(session.source)
        limit = session.limits.maxDecodedBytes
        let mapped = unsafe session.source.isContiguous ? session.source.baseAddress : nil
        var source = unsafe exr_shim_source(
            bytes: mapped, count: UInt64(session.source.available),
            read: { context, offset, target, count in
                let reader = unsafe Unmanaged<Reader>.fromOpaque(context!).takeUnretainedValue()
                let buffer = unsafe UnsafeMutableBufferPointer(start: target, count: Int(count))
                return unsafe UInt64((try? reader.source.read(at: Int(offset), into: buffer)) ?? 0)
            }, context: Unmanaged.passUnretained(reader).toOpaque())
        guard let file = unsafe exr_shim_open(&source, UInt64(limit)) else {
            throw CoderError(.outOfMemory, "there is no memory for the file")
        }
        unsafe self.file = file
        let status = unsafe exr_shim_status(file)
        guard status == EXR_SHIM_OK else { throw failure(status, "the header cannot be read") }
    }

    deinit { unsafe exr_shim_close(file) }

    /// The message of the last failed call.
    var message: String { unsafe String(cString: exr_shim_error(file)) }

    private func failure(_ status: Int32, _ what: String) -> CoderError {
        let text = message
        let reason = text.isEmpty ? what : "\(what): \(text)"
        var error: CoderError
        switch Int(status) {
        case Int(EXR_SHIM_MISSING): error = .truncated(reason)
        case Int(EXR_SHIM_SHORT): error = CoderError(.outOfMemory, "there is no memory for the library")
        case Int(EXR_SHIM_LIMIT):
            let requested = unsafe Int(clamping: exr_shim_requested(file))
            error = .limit("bytes of OpenEXRCore", allowed: limit, requested: requested)
        case Int(EXR_SHIM_UNSUPPORTED): error = .unsupported(reason)
        default: error = .corrupt(reason)
        }
        error.domain = Self.library
        return error
    }

    // MARK: Facts

    var partCount: Int { unsafe Int(exr_shim_part_count(file)) }

    /// Reads the facts of a part.
    ///
    /// - Throws: `.corrupt`.
    func part(_ index: Int) throws(CoderError) -> Part {
        var facts = unsafe exr_shim_part()
        let status = unsafe exr_shim_read_part(file, Int32(index), &facts)
        guard status == EXR_SHIM_OK else { throw failure(status, "part \(index) is damaged") }
        let data = unsafe Self.window(facts.data)
        let levelCount = unsafe Int(facts.level_mode == 0 ? 1 : min(facts.levels_x, facts.levels_y))
        let hasTiles = unsafe facts.tile_width > 0
        var levels = hasTiles ? [] : [data.size]
        for level in 0..<(hasTiles ? levelCount : 0) {
            var (width, height) = (Int32(0), Int32(0))
            let status = unsafe exr_shim_level(file, Int32(index), Int32(level), &width, &height)
            guard status == EXR_SHIM_OK else { throw failure(status, "level \(level) of part \(index) is damaged") }
            levels.append(PixelSize(Int(width), Int(height)))
        }
        let tile = unsafe PixelSize(Int(facts.tile_width), Int(facts.tile_height))
        let preview = unsafe PixelSize(Int(facts.preview_width), Int(facts.preview_height))
        let points = unsafe facts.chromaticities
        return unsafe Part(
            index: index,
            names: Part.Names(part: Self.text(facts.name), view: Self.text(facts.view), views: views(index)),
            data: data,
            display: Self.window(facts.display), compression: Compression(number: facts.compression),
            isDeep: facts.is_deep == 1,
            storage: Part.Storage(
                tile: hasTiles ? tile : nil, rows: hasTiles ? tile.height : Int(facts.rows_per_chunk), levels: levels,
                chunkCount: max(0, Int(facts.chunk_count)), chunkBytes: Int(clamping: facts.chunk_bytes),
                hasRipLevels: facts.level_mode == 2),
            channels: try channels(index, Int(facts.channel_count)),
            color: Part.Color(
                chromaticities: facts.has_chromaticities == 1
                    ? [points.0, points.1, points.2, points.3, points.4, points.5, points.6, points.7] : nil,
                aspect: facts.pixel_aspect, density: facts.x_density, preview: preview.isEmpty ? nil : preview),
            attributeCount: Int(facts.attribute_count))
    }

    private static func window(_ raw: exr_shim_window) -> PixelRect {
        PixelRect(
            x: Int(raw.min_x), y: Int(raw.min_y), width: Int(raw.max_x) - Int(raw.min_x) + 1,
            height: Int(raw.max_y) - Int(raw.min_y) + 1)
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        unsafe pointer.map { unsafe String(cString: $0) }
    }

    private func channels(_ part: Int, _ count: Int) throws(CoderError) -> [Part.Channel] {
        var all: [Part.Channel] = []
        for index in 0..<count {
            var channel = unsafe exr_shim_channel()
            let status = unsafe exr_shim_read_channel(file, Int32(part), Int32(index), &channel)
            guard status == EXR_SHIM_OK, let sample = unsafe Part.Channel.Sample(rawValue: channel.type) else {
                throw failure(status, "channel \(index) of part \(part) is damaged")
            }
            let sampling = unsafe PixelSize(Int(channel.x_sampling), Int(channel.y_sampling))
            guard !sampling.isEmpty else { throw .corrupt("channel \(index) of part \(part) has no samples") }
            all.append(
                Part.Channel(name: unsafe Self.text(channel.name) ?? "", sample: sample, sampling: sampling))
        }
        return all
    }

    private func views(_ part: Int) -> [String] {
        var all: [String] = []
        while all.count < 64, let view = unsafe exr_shim_view(file, Int32(part), Int32(all.count)) {
            unsafe all.append(String(cString: view))
        }
        return all
    }

    /// Returns the name and the bytes of a text; nil for other attributes.
    func text(_ part: Int, _ index: Int) -> (name: String, bytes: [UInt8])? {
        var (name, text) = unsafe (UnsafePointer<CChar>?.none, UnsafePointer<CChar>?.none)
        var count: UInt32 = 0
        guard unsafe exr_shim_text(file, Int32(part), Int32(index), &name, &text, &count) == EXR_SHIM_OK,
            let name = unsafe name, let text = unsafe text
        else { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(start: text, count: Int(count))
        return unsafe (String(cString: name), Array(bytes))
    }

    /// Copies the preview image: RGBA, 8 bits.
    func preview(of part: Int, into surface: borrowing Surface) throws(CoderError) {
        var facts = unsafe exr_shim_part()
        let status = unsafe exr_shim_read_part(file, Int32(part), &facts)
        guard status == EXR_SHIM_OK, let pixels = unsafe facts.preview else { throw failure(status, "no preview") }
        let size = unsafe PixelSize(Int(facts.preview_width), Int(facts.preview_height))
        guard surface.size == size, surface.format == .rgba8 else {
            throw CoderError(.misuse, "the surface does not have the size or format of the preview")
        }
        for y in 0..<size.height {
            unsafe (surface.baseAddress + y * surface.stride).copyMemory(
                from: pixels + y * 4 * size.width, byteCount: 4 * size.width)
        }
    }

    // MARK: Pixels

    /// A chunk: a tile of a level, or the rows that begin at `tile.y`.
    struct Chunk {
        let part: Int
        let isTile: Bool
        let x: Int
        let y: Int
        let level: Int
        /// The number of its pixels.
        let size: PixelSize
    }

    /// A place for the samples of one channel.
    struct Plane {
        /// The number of the channel in the part.
        let channel: Int
        /// The first byte.
        let offset: Int
        let pixelStride: Int
        let rowStride: Int
        /// The number of bytes of a sample: 2 for a half, 4 for a float.
        let sampleBytes: Int
    }

    enum Outcome: Equatable {
        case intact
        case damaged
        /// The file ends before the chunk does.
        case missing
    }

    /// Decodes a chunk into memory.
    ///
    /// - Throws: `.limitExceeded` or `.outOfMemory` if the library needs too much memory.
    func decode(_ chunk: Chunk, _ planes: [Plane], into bytes: inout [UInt8]) throws(CoderError) -> Outcome {
        for plane in planes { precondition(Self.end(of: plane, chunk.size) <= bytes.count) }
        let status = unsafe bytes.withUnsafeMutableBufferPointer {
            unsafe decode(chunk, planes, $0.baseAddress!)
        }
        return try outcome(status)
    }

    /// Decodes a chunk into a surface, at a pixel.
    func decode(
        _ chunk: Chunk, _ planes: [Plane], into surface: borrowing Surface, x: Int, y: Int
    ) throws(CoderError) -> Outcome {
        precondition(x >= 0 && y >= 0 && x + chunk.size.width <= surface.size.width)
        precondition(y + chunk.size.height <= surface.size.height)
        for plane in planes {
            precondition(plane.pixelStride == surface.format.bytesPerPixel && plane.rowStride == surface.stride)
            precondition(plane.offset >= 0 && plane.offset + plane.sampleBytes <= plane.pixelStride)
        }
        let start = unsafe surface.baseAddress + y * surface.stride + x * surface.format.bytesPerPixel
        return try outcome(unsafe decode(chunk, planes, start.assumingMemoryBound(to: UInt8.self)))
    }

    private static func end(of plane: Plane, _ size: PixelSize) -> Int {
        precondition(plane.offset >= 0 && plane.pixelStride >= plane.sampleBytes && plane.rowStride >= 0)
        return plane.offset + (size.height - 1) * plane.rowStride + (size.width - 1) * plane.pixelStride
            + plane.sampleBytes
    }

    private func decode(_ chunk: Chunk, _ planes: [Plane], _ start: UnsafeMutablePointer<UInt8>) -> Int32 {
        var block = exr_shim_block(
            part: Int32(chunk.part), is_tile: chunk.isTile ? 1 : 0, x: Int32(chunk.x), y: Int32(chunk.y),
            level_x: Int32(chunk.level), level_y: Int32(chunk.level), width: Int32(chunk.size.width),
            height: Int32(chunk.size.height))
        let targets = unsafe planes.map { plane in
            unsafe exr_shim_target(
                channel: Int32(plane.channel), type: plane.sampleBytes == 2 ? 1 : 2, start: start + plane.offset,
                pixel_stride: Int32(plane.pixelStride), row_stride: Int32(plane.rowStride))
        }
        return unsafe exr_shim_decode(file, &block, targets, UInt32(targets.count))
    }

    private func outcome(_ status: Int32) throws(CoderError) -> Outcome {
        switch Int(status) {
        case Int(EXR_SHIM_OK): return .intact
        case Int(EXR_SHIM_MISSING): return .missing
        case Int(EXR_SHIM_SHORT), Int(EXR_SHIM_LIMIT): throw failure(status, "")
        default: return .damaged
        }
    }
}
