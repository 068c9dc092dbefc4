internal import ISOBoxes

/// Finds and changes fields in the boxes that libavif 0.11 writes in front of the data.
///
/// libavif writes version 1 of the movie and track headers (64-bit durations), 32-bit offsets, and at most one `meta`
/// and one `moov` box at the top level. The editor finds no other form.
struct BoxEditor {
    private(set) var bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The payload of each `trak` box.
    var tracks: [Range<Int>] { movie.map { boxes(in: $0).filter { $0.type == "trak" }.map(\.payload) } ?? [] }

    /// ISO/IEC 14496-12 section 8.2.2: version and flags 4, two times of 8, time scale 4, duration 8.
    var movieDuration: UInt64? {
        movie.flatMap { place(of: "mvhd", in: $0, at: 24) }.map { word($0) << 32 | word($0 + 4) }
    }

    mutating func setMovieDuration(_ duration: UInt64) {
        if let place = movie.flatMap({ place(of: "mvhd", in: $0, at: 24) }) { set(duration, at: place) }
    }

    /// Clears the creation times: the same frames make the same file.
    ///
    /// Two times of 8 bytes behind version and flags (ISO/IEC 14496-12 sections 8.2.2, 8.3.2, 8.4.2).
    mutating func clearTimes() {
        var places = [movie.flatMap { place(of: "mvhd", in: $0, at: 4) }]
        for track in tracks {
            places.append(place(of: "tkhd", in: track, at: 4))
            places.append(payload("mdia", in: track).flatMap { place(of: "mdhd", in: $0, at: 4) })
        }
        for case let place? in places {
            set(0, at: place)
            set(0, at: place + 8)
        }
    }

    /// The positions of the 32-bit offsets into the data: of items (`iloc`) and of chunks (`stco`).
    ///
    /// - Source: ISO/IEC 14496-12 sections 8.11.3 and 8.7.5.
    var placesOfOffsets: [Int]? {
        var places: [Int] = []
        if let meta = payload("meta", in: bytes.indices) {
            // Version 0, four bytes of offset and of length, no base: libavif writes no other form.
            guard let list = payload("iloc", in: meta.dropFirst(4)), list.count >= 8, word(list.lowerBound) == 0,
                word(list.lowerBound + 4) >> 16 == 0x4400
            else { return nil }
            var cursor = BoxCursor(bytes, list.dropFirst(6))
            for _ in 0..<(cursor.number(2) ?? 0) {
                guard cursor.skips(4), let extents = cursor.number(2) else { return nil }
                for _ in 0..<extents {
                    places.append(cursor.offset)
                    guard cursor.skips(8) else { return nil }
                }
            }
        }
        for track in tracks {
            guard let table = payload("mdia", "minf", "stbl", "stco", in: track) else { return nil }
            var cursor = BoxCursor(bytes, table.dropFirst(4))
            for _ in 0..<(cursor.number(4) ?? 0) {
                places.append(cursor.offset)
                guard cursor.skips(4) else { return nil }
            }
        }
        return places
    }

    mutating func add(_ count: Int, at place: Int) {
        set32(UInt32(truncatingIfNeeded: Int(word(place)) + count), at: place)
    }

    /// Inserts a box behind the header of a track, and stores the duration of the track.
    mutating func insert(_ box: [UInt8], intoTrack index: Int, lasting duration: UInt64) {
        // Section 8.3.2: version and flags 4, two times of 8, number 4, nothing 4, duration 8.
        guard let movie, tracks.indices.contains(index), let header = payload("tkhd", in: tracks[index]),
            let place = place(of: "tkhd", in: tracks[index], at: 28)
        else { return }
        let track = tracks[index]
        set(duration, at: place)
        for outer in [movie, track] { add(box.count, at: outer.lowerBound - 8) }
        bytes.insert(contentsOf: box, at: header.upperBound)
    }

    /// Appends bytes to a box and enlarges all boxes around it; increments the entry count if the box has one.
    ///
    /// - Returns: whether the box exists.
    mutating func append(_ new: [UInt8], to path: FourCC..., countAt place: Int? = nil, of width: Int = 0) -> Bool {
        var range = bytes.indices
        var sizes: [Int] = []
        for type in path {
            // ISO/IEC 14496-12 section 8.11.1: `meta` begins with version and flags, before its boxes.
            let inside = sizes.count == 1 ? range.dropFirst(4) : range
            guard let box = boxes(in: inside).first(where: { $0.type == type }) else { return false }
            sizes.append(box.payload.lowerBound - 8)
            range = box.payload
        }
        if let place {
            let end = range.lowerBound + place + width
            guard end <= range.upperBound else { return false }
            // Only the lowest bytes of the count change; the count stays far below their limit.
            let count = (Int(bytes[end - 2]) << 8 | Int(bytes[end - 1])) + 1
            (bytes[end - 2], bytes[end - 1]) = (UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count))
        }
        for size in sizes { add(new.count, at: size) }
        bytes.insert(contentsOf: new, at: range.upperBound)
        return true
    }

    // MARK: Finding

    private var movie: Range<Int>? { payload("moov", in: bytes.indices) }

    private func boxes(in range: Range<Int>) -> [Box] {
        var cursor = BoxCursor(bytes, range)
        var found: [Box] = []
        while let box = cursor.nextBox() { found.append(box) }
        return found
    }

    private func payload(_ path: FourCC..., in range: Range<Int>) -> Range<Int>? {
        var range = range
        for type in path {
            guard let box = boxes(in: range).first(where: { $0.type == type }) else { return nil }
            range = box.payload
        }
        return range
    }

    /// A 64-bit field of a box of version 1.
    private func place(of type: FourCC, in range: Range<Int>, at offset: Int) -> Int? {
        guard let found = payload(type, in: range), found.count >= offset + 8, bytes[found.lowerBound] == 1 else {
            return nil
        }
        return found.lowerBound + offset
    }

    private func word(_ place: Int) -> UInt64 { bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt64($1) } }

    private mutating func set32(_ value: UInt32, at place: Int) {
        for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * index)) }
    }

    private mutating func set(_ value: UInt64, at place: Int) {
        set32(UInt32(truncatingIfNeeded: value >> 32), at: place)
        set32(UInt32(truncatingIfNeeded: value), at: place + 4)
    }
}
