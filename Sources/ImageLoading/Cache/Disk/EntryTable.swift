/// The entries of a cache during a sweep; about 80 bytes each.
struct EntryTable {
    struct Row {
        var date: Int64
        var modified: Int64
        var inode: UInt64
        var size: Int
        var usage: Int
        fileprivate var nameAt: UInt32
        fileprivate var nameCount: UInt8
        var folder: UInt8
        /// Whether the entry's date is in the future.
        var isFuture: Bool
    }

    private(set) var rows: [Row] = []
    /// All names, concatenated.
    private var names: [UInt8] = []
    private(set) var usage = 0

    mutating func append(_ name: String, folder: UInt8, date: Int64, now: Int64, _ facts: FileFacts) {
        rows.append(
            Row(
                date: min(date, now), modified: facts.dates.modified, inode: facts.inode, size: facts.size,
                usage: facts.usage,
                nameAt: UInt32(truncatingIfNeeded: names.count), nameCount: UInt8(truncatingIfNeeded: name.utf8.count),
                folder: folder, isFuture: date > now &+ 60 * 1_000_000_000))
        names.append(contentsOf: name.utf8)
        usage += facts.usage
    }

    func name(_ row: Row) -> String {
        String(decoding: names[Int(row.nameAt)..<(Int(row.nameAt) + Int(row.nameCount))], as: UTF8.self)
    }

    /// Returns the indices of the entries to remove.
    ///
    /// - Parameters:
    ///   - tooOld: entries with this date or an earlier one are removed; nil keeps them.
    ///   - limit: if the usage exceeds it, the oldest entries are removed until less than half of it is used.
    mutating func choose(tooOld: Int64?, limit: Int?) -> Range<Int> {
        rows.sort { ($0.date, $0.inode) < ($1.date, $1.inode) }
        var end = 0
        var left = usage
        while end < rows.count, let tooOld, rows[end].date <= tooOld {
            left -= rows[end].usage
            end += 1
        }
        if let limit, left > limit {
            while end < rows.count, left >= max(1, limit / 2) {
                left -= rows[end].usage
                end += 1
            }
        }
        return 0..<end
    }
}
