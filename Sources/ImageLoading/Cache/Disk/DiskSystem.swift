import CoderHost
import ImageProcessing

/// The facts that a file system reports about a file.
///
/// - Units: bytes, and nanoseconds since 1970.
struct FileFacts: Sendable, Hashable {
    enum Kind: Sendable, Hashable { case regular, folder, link, other }

    /// The dates of a file.
    struct Dates: Sendable, Hashable {
        var accessed: Int64 = 0
        var modified: Int64 = 0
        var changed: Int64 = 0
        /// 0 if the file system does not report it.
        var born: Int64 = 0
    }

    var kind = Kind.regular
    var inode: UInt64 = 0
    var links = 1
    var size = 0
    var allocated = 0
    var dates = Dates()
    /// The file's owner.
    var owner: UInt32 = 0
    var group: UInt32 = 0
    var permissions: UInt32 = 0o700

    /// Bytes that the file occupies on the disk; every size limit of the cache uses this number.
    ///
    /// Some file systems keep small files in their tables, or report no blocks; then the file's size counts.
    var usage: Int { allocated > 0 ? allocated : size }

    /// Whether both facts describe the same file, rather than a newer one under the same name.
    func isSameFile(as other: FileFacts) -> Bool {
        inode == other.inode && size == other.size && dates.modified == other.dates.modified
    }
}

/// The system calls of a disk cache; tests replace them by a simulated disk.
///
/// - Concurrency: any thread; every call except ``lock(_:_:)`` may block.
protocol DiskSystem: Sendable {
    /// Nanoseconds since 1970.
    func now() -> Int64
    /// Nanoseconds since this machine was started, and the id of that start; nil if the system does not report them.
    func running() -> (boot: String, time: Int64)?
    /// The user and group of new files.
    func user() -> (id: UInt32, group: UInt32)
    /// Waits for a moment, so that another process can finish.
    func pause()

    /// Opens a file for reading without changing its access date.
    func open(_ path: String) throws(SystemError) -> Int32
    func openFolder(_ path: String) throws(SystemError) -> Int32
    /// Opens the lock file for reading and writing; creates it if it is missing.
    func openLock(_ path: String) throws(SystemError) -> Int32
    /// Creates a file without a name for this user alone; it vanishes when its descriptor is closed.
    func createUnnamed(in folder: String) throws(SystemError) -> Int32
    /// Creates a file for this user alone; fails if the name exists.
    func create(_ path: String) throws(SystemError) -> Int32
    func close(_ file: Int32)

    /// Reads up to `count` bytes; fewer at the end of the file.
    func read(_ file: Int32, at offset: Int, count: Int) throws(SystemError) -> [UInt8]
    /// Writes some of the bytes; returns how many.
    func write(_ file: Int32, _ bytes: RawSpan, at offset: Int) throws(SystemError) -> Int
    func facts(_ file: Int32) throws(SystemError) -> FileFacts
    func facts(at path: String) throws(SystemError) -> FileFacts
    /// Sets dates; nil keeps a date.
    func setDates(_ file: Int32, accessed: Int64?, modified: Int64?) throws(SystemError)
    /// Locks an open file until it is closed or the process ends; throws `EWOULDBLOCK` instead of waiting.
    func lock(_ file: Int32, _ kind: DiskLock) throws(SystemError)
    /// Waits until the bytes of a file, or the names in a folder, are on the disk.
    func synchronize(_ file: Int32, isFolder: Bool) throws(SystemError)

    /// Gives a name to an unnamed file; fails if the name exists.
    func giveName(_ file: Int32, _ path: String) throws(SystemError)
    func rename(_ path: String, to other: String) throws(SystemError)
    func unlink(_ path: String) throws(SystemError)
    func makeFolder(_ path: String) throws(SystemError)
    func removeFolder(_ path: String) throws(SystemError)
    /// Lists a folder in any order; leaves out files that vanish meanwhile.
    func list(_ folder: String, _ visit: (_ name: String, FileFacts) -> Void) throws(SystemError)
}

enum DiskLock: Sendable, Hashable { case shared, exclusive }

extension DiskSystem {
    /// Tries to get a lock several times; returns false if another process keeps it.
    ///
    /// If the file system does not support locks, it returns true.
    func lock(_ file: Int32, _ kind: DiskLock, attempts: Int) -> Bool {
        for attempt in 1...attempts {
            do throws(SystemError) {
                try lock(file, kind)
                return true
            } catch {
                if !error.isBusy { return true }
            }
            if attempt < attempts { pause() }
        }
        return false
    }

    /// Reads exactly `count` bytes.
    ///
    /// - Throws: `EIO` if the file has fewer.
    func readAll(_ file: Int32, at offset: Int, count: Int) throws(SystemError) -> [UInt8] {
        var bytes = try read(file, at: offset, count: count)
        while bytes.count < count {
            let more = try read(file, at: offset + bytes.count, count: count - bytes.count)
            if more.isEmpty { throw .tooShort }
            bytes += more
        }
        return bytes
    }

    /// Writes all bytes.
    func writeAll(_ file: Int32, _ bytes: [UInt8], at offset: Int) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let count = try bytes.withSpan { span throws(SystemError) in
                try write(file, span.extracting(droppingFirst: done), at: offset + done)
            }
            if count <= 0 { throw .tooShort }
            done += count
        }
    }
}
