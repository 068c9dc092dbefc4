internal import ImageModel

/// Stores the loop count of a sequence as an edit list in every track; libavif 0.11 cannot write it.
///
///     trak ─┬─ tkhd           duration of all plays
///           └─ edts ── elst   flag 1: repeat; one edit: the whole medium
///
/// All boxes in front of the data grow, so all offsets into the data change.
///
/// - Source: ISO/IEC 14496-12:2022 sections 8.6.5, 8.6.6, 8.3.2, 8.2.2, 8.7.5, 8.11.3.
struct EditList {
    let loopCount: LoopCount

    /// Returns whether the loop count was stored.
    ///
    /// - Parameter boxes: everything in front of the data, as libavif writes it: `ftyp`, `meta`, `moov`.
    func insert(into boxes: inout [UInt8]) -> Bool {
        var editor = BoxEditor(bytes: boxes)
        let tracks = editor.tracks.count
        guard let duration = editor.movieDuration, duration > 0, tracks > 0,
            let places = editor.placesOfOffsets
        else { return false }
        let plays: Int? =
            switch loopCount {
            case .plays(let count): max(1, count)
            case .infinite: nil
            case .unknown: 0
            }
        editor.clearTimes()
        boxes = editor.bytes
        if plays == 0 { return true }
        // All ones: unknown duration.
        let total = plays.map { duration.multipliedReportingOverflow(by: UInt64($0)) }
        if total?.overflow == true { return false }
        for place in places { editor.add(tracks * Self.count, at: place) }
        let box = Self.box(duration, repeats: plays != 1)
        for track in 0..<tracks { editor.insert(box, intoTrack: track, lasting: total?.partialValue ?? .max) }
        editor.setMovieDuration(total?.partialValue ?? .max)
        boxes = editor.bytes
        return true
    }

    private static let count = 44

    private static func box(_ duration: UInt64, repeats: Bool) -> [UInt8] {
        func word(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
        // Version 1: 64 bits; one entry: its duration, from time 0 on, at the rate 1.0.
        return word(UInt32(count)) + Array("edts".utf8) + word(UInt32(count) - 8) + Array("elst".utf8)
            + word(1 << 24 | (repeats ? 1 : 0)) + word(1) + word(UInt32(duration >> 32))
            + word(UInt32(truncatingIfNeeded: duration)) + word(0) + word(0) + word(1 << 16)
    }
}
