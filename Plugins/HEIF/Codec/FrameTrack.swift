internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The frames of an image sequence, which this coder counts but does not decode.
///
///     moov ── trak ─┬─ tref ── auxl                      only alpha and depth tracks
///                   └─ mdia ─┬─ hdlr                     pict or vide
///                            └─ minf ── stbl ── stsz     number of frames
///
/// - Source: ISO/IEC 23008-12 section 7 (image sequences); ISO/IEC 14496-12 sections 8.4.3 and 8.7.3.
enum FrameTrack {
    /// Returns the number of frames of the first track of images; nil without one, or while its boxes are missing.
    static func frameCount(in source: ByteSource) -> Int? {
        guard let movie = Container.payload("moov", of: source) else { return nil }
        return BoxCursor(movie).all("trak").lazy.compactMap(frameCount(of:)).first
    }

    private static func frameCount(of track: BoxCursor) -> Int? {
        guard track.first("tref", "auxl") == nil, let media = track.first("mdia"), var handler = media.first("hdlr"),
            handler.skips(8), let kind = handler.number(4).map({ FourCC(UInt32($0)) }),
            kind == "pict" || kind == "vide",
            let table = media.first("minf", "stbl"), var sizes = table.first("stsz") ?? table.first("stz2"),
            sizes.skips(8), let count = sizes.number(4)
        else { return nil }
        return Int(count)
    }
}
