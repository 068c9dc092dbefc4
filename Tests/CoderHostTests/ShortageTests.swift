import Glibc
import Synchronization
import TestSupport
import Testing

@testable import CoderHost

/// Results about plugins while files cannot be opened.
@Suite struct `Too many open files` {
    private func configuration(_ folder: TemporaryDirectory) -> HostConfiguration {
        HostConfiguration(directories: [.init(folder.path, origin: .argument)], trustPolicy: .owned)
    }

    @Test(arguments: [EMFILE, ENFILE, ENOMEM])
    func `is not a verdict about an unreadable plugin`(code: Int32) {
        let refusal = PluginRefusal.unreadable(SystemError(code))

        #expect(refusal.isStale)
        #expect(refusal.status.remedy != PluginRefusal.unreadable(SystemError(EACCES)).status.remedy)
        #expect(!PluginRefusal.unreadable(SystemError(EACCES)).isStale)
    }

    @Test func `is not a missing library`() {
        let short = PluginRefusal.notLoaded(
            "libz.so.1: cannot open shared object file: Too many open files", "/p/libcoder-x.so")
        let missing = PluginRefusal.notLoaded(
            "libz.so.1: cannot open shared object file: No such file or directory", "/p/libcoder-x.so")

        #expect(short.isStale && short.status.remedy.contains("ulimit -n"))
        #expect(!missing.isStale && missing.status.state == .missingLibrary)
    }

    @Test func `repeats the check of a refused plugin`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", into: folder)
        folder.write(Array("no plugin".utf8), to: "libcoder-text.so")
        let scanner = PluginScanner(configuration(folder).search)

        // As in a failed read of a library list, a signature or the user's settings.
        File.shortages.add(1, ordering: .relaxed)
        let (records, unread) = scanner.scan()

        #expect(records.map(\.status.state) == [.ready, .notAPlugin])
        #expect(unread.count == 1 && unread.first?.isTransient == true)
        #expect(unread.first?.message.contains("libcoder-text.so") == true)
    }
}
