import CoderHost
import ImageProcessing

/// What a file system says of a file.
///
/// - Units: bytes, and nanoseconds since 1970.
struct FileFacts: Sendable, Hashable {
    enum Kind: Sendable, Hashable { case regular, folder, link, other }

    var kind = Kind.regular
    var inode: UInt64 = 0
    var links = 1
    var size = 0
    var allocated = 0
    var accessed: Int64 = 0
    var modified: Int64 = 0
    var changed: Int64 = 0
    /// 0 where the file system does not know it.
    var born: Int64 = 0
    /// Who owns it, and what they and others may do with it.
    var owner: UInt32 = 0
    var group: UInt32 = 0
    var permissions: UInt32 = 0o700

    /// What the file takes on the disk: the one meaning of size in the whole cache.
    ///
    /// A file system that keeps small files in its tables, or does not tell, counts no block for them.
    var usage: Int { allocated > 0 ? allocated : size }

    /// Whether it is the file that these facts were asked of before, not a newer one under its name.
    func isSameFile(as other: FileFacts) -> Bool {
        inode == other.inode && size == other.size && modified == other.modified
    }
}

/// The calls that a disk cache makes; a test puts a disk of its own in their place.
///
/// - Concurrency: any thread; every call may block, but for ``lock(_:_:)``.
protocol DiskSystem: Sendable {
    /// Nanoseconds since 1970.
    func now() -> Int64
    /// Nanoseconds since this machine was started, and which start that was; nil where nobody can tell.
    func running() -> (boot: String, time: Int64)?
    /// Whose files this process makes.
    func user() -> (id: UInt32, group: UInt32)
    /// Waits for a moment, for somebody else to be done.
    func pause()

    /// Opens a file for reading without changing the date of its last use.
    func open(_ path: String) throws(SystemError) -> Int32
    func openFolder(_ path: String) throws(SystemError) -> Int32
    /// Opens for reading and writing a file that exists to be locked; makes it where it is missing.
    func openLock(_ path: String) throws(SystemError) -> Int32
    /// A file of this user alone that has no name yet and is gone with its descriptor.
    func createUnnamed(in folder: String) throws(SystemError) -> Int32
    /// A file of this user alone, under a name that nothing had.
    func create(_ path: String) throws(SystemError) -> Int32
    func close(_ file: Int32)

    /// Reads up to `count` bytes; fewer at the end of the file.
    func read(_ file: Int32, at offset: Int, count: Int) throws(SystemError) -> [UInt8]
    /// Writes some of the bytes; answers how many.
    func write(_ file: Int32, _ bytes: RawSpan, at offset: Int) throws(SystemError) -> Int
    func facts(_ file: Int32) throws(SystemError) -> FileFacts
    func facts(at path: String) throws(SystemError) -> FileFacts
    /// Sets dates; nil keeps one.
    func setDates(_ file: Int32, accessed: Int64?, modified: Int64?) throws(SystemError)
    /// Marks an open file as in use until it is closed, however the process ends; throws `EWOULDBLOCK` at once.
    func lock(_ file: Int32, _ kind: DiskLock) throws(SystemError)
    /// Returns when the bytes of a file, or the names in a folder, are on the disk.
    func synchronize(_ file: Int32, isFolder: Bool) throws(SystemError)

    /// Gives a file without a name one that nothing has.
    func giveName(_ file: Int32, _ path: String) throws(SystemError)
    func rename(_ path: String, to other: String) throws(SystemError)
    func unlink(_ path: String) throws(SystemError)
    func makeFolder(_ path: String) throws(SystemError)
    func removeFolder(_ path: String) throws(SystemError)
    /// What stands in a folder, in any order; what vanishes meanwhile is left out.
    func list(_ folder: String, _ visit: (_ name: String, FileFacts) -> Void) throws(SystemError)
}

enum DiskLock: Sendable, Hashable { case shared, exclusive }

extension DiskSystem {
    /// Tries for a while to get a lock; false where somebody keeps it.
    ///
    /// Where the file system has no locks, everybody gets one.
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

    /// Reads exactly so many bytes.
    ///
    /// - Throws: `EIO` where the file has fewer.
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
