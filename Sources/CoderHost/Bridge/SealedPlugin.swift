import CHostSystem
import Glibc
import ImageProcessing
import Synchronization

/// The bytes of a plugin that were judged, ready for the loader of this process or of another.
///
/// What is judged is a sealed copy in memory that nobody can change any more, and that copy is what gets loaded; so it
/// is harmless to overwrite a plugin that is in use, and a file that is replaced between the check and the load is
/// never run unjudged. Where the kernel forbids such copies, or the plugin has to be loaded from its own place, the file
/// is held open instead, and hashed before and after.
///
/// - Concurrency: any thread.
final class SealedPlugin: Sendable {
    /// What was judged; where the file had changed since the scan, the record of the file as it is now.
    let record: PluginRecord
    /// The copy, or the file itself. Read only, and closed on exec; valid as long as this object.
    let file: File
    /// What this process's loader is given. As long as it may be loaded again, this object has to be kept.
    let path: String
    /// Why there is no sealed copy; nil where there is one.
    let weakness: String?
    private let size: Int
    private let known: Mutex<ContentHash?>

    /// The hash of the bytes; computed when first asked for, 1.4 ms for a plugin of 500 KB.
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

    /// Takes the copy and judges it.
    ///
    /// - Throws: the reason that it must not be loaded; ``PluginRefusal/changed`` when the file is not the one that the
    ///   record tells of.
    convenience init(_ record: PluginRecord) throws(PluginRefusal) {
        try self.init(record, sealing: true) {}
    }

    /// - Parameters:
    ///   - sealing: false stands for a kernel that forbids it.
    ///   - interlude: called between opening the file and taking the copy, for tests.
    init(_ record: PluginRecord, sealing: Bool, _ interlude: () -> Void) throws(PluginRefusal) {
        guard let identity = record.identity else { throw PluginRefusal(record.status) }
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
            record.needsOrigin || !sealing ? .failure(SystemError(EPERM)) : try Self.copy(original, size)
        switch copy {
        case .success(let copy):
            file = copy
            path = Self.name(copy)
            weakness = nil
        case .failure(let error):
            file = original
            // The same file by its descriptor, so that no other can come in its place.
            let held = Self.name(original)
            path = record.needsOrigin || FileStatus.of(held)?.identity != identity ? record.path : held
            weakness =
                record.needsOrigin
                ? "it finds libraries from its own place" : "this system makes no sealed copy (\(error))"
        }
        known = Mutex(nil)
        // In-place writing shows in the time of the file, and a copy may be half old and half new.
        guard (try? original.status().identity) == identity else { throw .changed }
        try judge()
        if weakness != nil { _ = try hash() }
    }

    /// Looks once more, after loading, at what could not be sealed.
    func confirm() throws(PluginRefusal) {
        guard weakness != nil else { return }
        guard FileStatus.of(record.path)?.identity == record.identity,
            (try? ContentHash(of: file, size: size)) == (try hash())
        else { throw .changed }
    }

    /// Whether the bytes are what the record says they are.
    private func judge() throws(PluginRefusal) {
        if case .content(let trusted) = record.grounds, try hash() != trusted { throw .changed }
        guard record.grounds != .none, let image = try? ELFImage(file, size: size),
            PluginScanner.manifestText(image) == record.manifestText
        else { throw .changed }
        var gate = ELFGate()
        if let problem = gate.examine(image, in: parentFolder(record.path), isTrusted: record.grounds == .place) {
            throw PluginRefusal(.unsafeELF, problem.reason, problem.remedy)
        }
    }

    private static func name(_ file: File) -> String { "/proc/self/fd/\(file.descriptor)" }

    /// An immutable copy; a failure where the system makes none.
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
        // Without /proc the loader has no name for it.
        guard FileStatus.of(name(copy))?.identity.inode == (try? copy.status().identity.inode) else {
            return .failure(SystemError(ENOENT))
        }
        return .success(copy)
    }
}

extension SystemError {
    /// A file is not what it was when it was looked at.
    static let stale = SystemError(ESTALE)
}

/// Why a plugin was not loaded.
struct PluginRefusal: Error, Sendable, Hashable {
    var status: PluginStatus
    /// Worth another look: the file changed since it was examined, or the process was short of something.
    var isStale = false

    init(_ status: PluginStatus) { self.status = status }
    init(_ state: PluginStatus.State, _ reason: String, _ remedy: String) {
        status = PluginStatus(state, reason: reason, remedy: remedy)
    }

    static let changed = {
        var refusal = PluginRefusal(.notAPlugin, "it changed since it was examined", "try again")
        refusal.isStale = true
        return refusal
    }()

    static func unreadable(_ error: SystemError) -> PluginRefusal {
        var refusal = PluginRefusal(PluginStatus(unreadable: error))
        refusal.isStale = UnreadPlace.isShortage(error)
        return refusal
    }

    /// What the loader of this process says.
    ///
    /// It names no error numbers, so its words are all there is to tell a shortage from a library that is missing.
    static func notLoaded(_ reason: String, _ path: String) -> PluginRefusal {
        for code in UnreadPlace.shortages where reason.hasSuffix(SystemError(code).description) {
            return .unreadable(SystemError(code))
        }
        return PluginRefusal(.missingLibrary, reason, "install what is missing (ldd \(path))")
    }
}
