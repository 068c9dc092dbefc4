internal import AVIFShim
internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// A libavif encoder and the file that it makes.
///
/// - Ownership: libavif copies surfaces and blobs; the writer keeps no reference to them.
@safe final class AVIFWriter {
    private var encoder: OpaquePointer?
    private(set) var frames = 0

    init(_ settings: EncodeSettings, timescale: UInt64) throws(CoderError) {
        var raw = avif_shim_settings(
            lossless: settings.isLossless ? 1 : 0, quality: UInt8(settings.quality), effort: UInt8(settings.effort),
            depth: UInt8(settings.depth), is_single: settings.isSingle ? 1 : 0, chroma: UInt16(settings.chroma),
            threads: UInt16(settings.threads), primaries: UInt16(settings.codePoints.primaries),
            transfer: UInt16(settings.codePoints.transfer), matrix: UInt16(settings.codePoints.matrix),
            key_interval: UInt32(settings.keyInterval), timescale: timescale)
        var error = avif_shim_error()
        if unsafe avif_shim_encoder_new(&raw, &encoder, &error) != 0 { throw .avif(error) }
    }

    deinit { unsafe avif_shim_encoder_free(encoder) }

    func add(_ blob: MetadataBlob) throws(CoderError) {
        let kind: UInt32 = blob.kind == .exif ? 1 : blob.kind == .xmp ? 2 : 3
        var error = avif_shim_error()
        let code = unsafe avif_shim_encoder_blob(encoder, kind, blob.bytes, UInt64(blob.bytes.count), &error)
        if code != 0 { throw .avif(error) }
    }

    func add(_ surface: borrowing Surface, duration: UInt64) throws(CoderError) {
        var error = avif_shim_error()
        var pixels = unsafe avif_shim_pixels(
            bytes: UnsafePointer(surface.baseAddress.assumingMemoryBound(to: UInt8.self)),
            stride: UInt64(surface.stride), width: UInt32(surface.size.width), height: UInt32(surface.size.height),
            channels: surface.format.channels.rawValue, bits: UInt8(surface.format.bits),
            premultiplied: surface.format.alpha == .premultiplied ? 1 : 0)
        if unsafe avif_shim_encoder_add(encoder, &pixels, duration, &error) != 0 { throw .avif(error) }
        frames += 1
    }

    /// Bytes in front of the first `mdat` box; 0 if there is none.
    private static func headerCount(_ file: UnsafeBufferPointer<UInt8>) -> Int {
        var offset = 0
        while file.count - offset >= 8 {
            let (size, type) = (0..<4).reduce((0, UInt32(0))) { sum, index in
                unsafe (sum.0 << 8 | Int(file[offset + index]), sum.1 << 8 | UInt32(file[offset + 4 + index]))
            }
            if FourCC(type) == "mdat" { return offset }
            if size < 8 || size > file.count - offset { break }
            offset += size
        }
        return 0
    }

    /// Makes the file and writes it. `edited` may change the boxes in front of the coded data, whose length it gets.
    func finish(to sink: ByteSink, edited: (inout [UInt8], Int) -> Void) throws(CoderError) {
        var error = avif_shim_error()
        var start: UnsafePointer<UInt8>?
        var count: UInt64 = 0
        let code = unsafe avif_shim_encoder_finish(encoder, frames == 1 ? 1 : 0, &start, &count, &error)
        if code != 0 { throw .avif(error) }
        let file = unsafe UnsafeBufferPointer(start: start, count: Int(count))
        // The data is most of the file and is not copied.
        let headers = unsafe Self.headerCount(file)
        var boxes = unsafe Array(file.prefix(headers))
        edited(&boxes, file.count - headers)
        try sink.write(boxes)
        if let failure = unsafe ByteSink.error(sink.write(UnsafeBufferPointer(rebasing: file.dropFirst(headers)))) {
            throw failure
        }
    }
}
