import CoderPluginKit
import ImageModel

/// The runs of PCX: a byte from 192 on is a length, and the value follows.
enum PCXRuns {
    /// Fills a row from runs and returns the number of used bytes; nil if bytes are missing.
    static func fill(_ row: inout [UInt8], from bytes: RawSpan, _ run: inout (value: UInt8, left: Int)) -> Int? {
        let count = row.count
        var target = row.mutableSpan
        var (at, place) = (0, 0)
        while place < count {
            if run.left == 0 {
                guard at < bytes.byteCount else { return nil }
                let code = bytes.byte(at: at)
                at += 1
                if code < 0xc0 {
                    target[place] = code
                    place += 1
                    continue
                }
                guard at < bytes.byteCount else { return nil }
                run = (bytes.byte(at: at), Int(code & 63))
                at += 1
            }
            let length = min(run.left, count - place)
            for index in place..<place + length { target[index] = run.value }
            place += length
            run.left -= length
        }
        return at
    }

    /// Returns the position behind runs of `count` bytes; nil if they do not end before `limit`.
    static func end(
        of count: Int, from start: Int, to limit: Int, isPacked: Bool, _ session: DecoderSession
    ) throws(CoderError) -> Int? {
        if !isPacked { return count <= limit - start ? start + count : nil }
        var (place, found) = (start, 0)
        while found < count {
            try session.host.checkCancellation()
            let end = min(limit, place + (1 << 16))
            guard place < end else { return nil }
            let used = session.source.withBytes(place..<end) { bytes in
                var at = 0
                while found < count, at < bytes.byteCount {
                    let code = bytes.byte(at: at)
                    if code < 0xc0 {
                        found += 1
                        at += 1
                    } else {
                        guard at + 1 < bytes.byteCount else { break }
                        found += Int(code & 63)
                        at += 2
                    }
                }
                return at
            }
            guard used > 0 else { return nil }
            place += used
        }
        return place
    }
}
