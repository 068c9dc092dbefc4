import CHostSystem
import Glibc
import HostSystem
import ImageProcessing
import PluginCatalogue

/// The checked bytes of a plugin, ready for the loader of this process or of a worker.
///
/// The host checks and loads a sealed copy in memory that no process can change. So overwriting a plugin in use is
/// harmless, and a file that is replaced between check and load never runs unchecked. If the kernel does not allow
/// sealed copies, or the plugin must be loaded from its folder, the host keeps the file open and hashes it before and
/// after.
///
/// - Concurrency: any thread.
final class SealedPlugin: Sendable {
    /// The record of the checked file; updated if the file changed after the scan.
    let record: PluginRecord
    /// The copy or the file itself; read-only, closed on exec, valid as long as this object.
    let file: File
    /// The path for this process's loader, valid as long as this object.
    let path: String
    /// Why there is no sealed copy; nil if there is one.
    let weakness: String?
    private let size: Int
    private let known: Mutex<ContentHash?>

    /// Returns the hash of the bytes; computed on first use, 1.4 ms for a plugin of 500 KB.
    func hash() throws(PluginRefusal) -> ContentHash {
        if let known = known.withLock({ $0 }) { return known }
        do throws(SystemError) {
            let hash = try ContentHash(of: file, size: size)
            known.withLock { $0 = hash }
            return hash
        } catch {
            throw error == .stale ? .changed : .unreadable(error)
        }
    }

    /// Copies and checks the file.
    ///
    /// - Throws: the reason for not loading it; ``PluginRefusal/changed`` if the file is not the version in the
    ///   record.
    convenience init(_ record: PluginRecord) throws(PluginRefusal) {
        try self.init(record, sealing: true) {}
    }

    /// Copies and checks the file.
    ///
    /// - Parameters:
    ///   - sealing: false simulates a kernel without sealed copies.
    ///   - interlude: called between opening and copying the file, for tests.
    init(_ record: PluginRecord, sealing: Bool, _ interlude: () -> Void) throws(PluginRefusal) {
        guard let identity = record.examination.identity else { throw PluginRefusal(record.status) }
        let original: File
        do throws(SystemError) {
            original = try File(reading: record.path)
            guard try original.status().identity == identity else { throw SystemError.stale }
            interlude()
        } catch {
            throw error == .stale || error.code == ENOENT ? .changed : .unreadable(error)
        }
        size = identity.size
        self.record = record
        let copy: Result<File, SystemError> =
            record.examination.needsOrigin || !sealing ? .failure(SystemError(EPERM)) : try Self.copy(original, size)
        switch copy {
        case .success(let copy):
            file = copy
            path = Self.name(copy)
            weakness = nil
        case .failure(let error):
            file = original
            // The descriptor's path refers to this file even if its name is reused.
            let held = Self.name(original)
            path = record.examination.needsOrigin || FileStatus.of(held)?.identity != identity ? record.path : held
            weakness =
                record.examination.needsOrigin
                ? "it loads libraries from its own folder" : "this system cannot create a sealed copy (\(error))"
        }
        known = Mutex(nil)
        // In-place writes change the file's times; the copy could be half old and half new.
        guard (try? original.status().identity) == identity else { throw .changed }
        try judge()
        if weakness != nil { _ = try hash() }
    }

    /// Checks a file without a sealed copy again after loading.
    func confirm() throws(PluginRefusal) {
        guard weakness != nil else { return }
        guard FileStatus.of(record.path)?.identity == record.examination.identity,
            (try? ContentHash(of: file, size: size)) == (try hash())
        else { throw .changed }
    }

    /// Checks that the bytes match the record.
    private func judge() throws(PluginRefusal) {
        if case .content(let trusted) = record.examination.grounds, try hash() != trusted { throw .changed }
        guard record.examination.grounds != .none, let image = try? ELFImage(file, size: size),
            PluginScanner.manifestText(image) == record.examination.manifestText
        else { throw .changed }
        var gate = ELFGate()
        if let problem = gate.examine(
            image, in: parentFolder(record.path), isTrusted: record.examination.grounds == .place)
        {
            throw PluginRefusal(.unsafeELF, problem.reason, problem.remedy)
        }
    }

    private static func name(_ file: File) -> String { "/proc/self/fd/\(file.descriptor)" }

    /// Returns a sealed copy, or the error if the system does not support it.
    private static func copy(_ file: File, _ size: Int) throws(PluginRefusal) -> Result<File, SystemError> {
        let descriptor = unsafe host_memfd_executable("plugin")
        if descriptor < 0 { return .failure(.last) }
        let copy = File(descriptor: descriptor)
        var offset = 0
        while offset < size {
            let count = unsafe sendfile(copy.descriptor, file.descriptor, &offset, size - offset)
            if count < 0 { return .failure(.last) }
            if count == 0 { throw .changed }
        }
        if host_seal(copy.descriptor) != 0 { return .failure(.last) }
        // Without /proc, the loader cannot open the copy by path.
        guard FileStatus.of(name(copy))?.identity.inode == (try? copy.status().identity.inode) else {
            return .failure(SystemError(ENOENT))
        }
        return .success(copy)
    }
}
