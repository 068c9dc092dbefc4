import Glibc
import TestSupport

/// Runs the manifest tool of the build on files in a separate folder.
struct BuiltTool {
    /// The result of one run.
    struct Outcome {
        var exitStatus: Int32
        var messages: String
        var source: String?
    }

    private let folder: String

    init?() {
        var template = Array("/tmp/manifest-tool-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { return nil }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func run(_ manifest: [UInt8]) -> Outcome? {
        let input = "\(folder)/manifest.json"
        let output = "\(folder)/Exported.swift"
        let messages = "\(folder)/messages"
        unsafe unlink(output)
        guard write(manifest, to: input), let status = spawn([input, output], errorsTo: messages) else { return nil }
        return Outcome(
            exitStatus: status, messages: String(decoding: readFile(messages) ?? [], as: UTF8.self),
            source: readFile(output).map { String(decoding: $0, as: UTF8.self) })
    }

    func remove() {
        for name in ["manifest.json", "Exported.swift", "messages"] { unsafe unlink("\(folder)/\(name)") }
        unsafe rmdir(folder)
    }

    private func write(_ bytes: [UInt8], to path: String) -> Bool {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(descriptor) }
        return unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) } == bytes.count
    }

    private func spawn(_ arguments: [String], errorsTo path: String) -> Int32? {
        // The build gives a tool that a build plugin runs another name.
        let names = ["ManifestTool-tool", "ManifestTool"].map { "\(Repository.products)/\($0)" }
        guard let tool = names.first(where: { unsafe access($0, X_OK) == 0 }) else { return nil }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var words = unsafe ([tool] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var child: pid_t = 0
        var status: Int32 = 0
        guard unsafe posix_spawn(&child, tool, &actions, nil, &words, nil) == 0,
            unsafe waitpid(child, &status, 0) == child
        else { return nil }
        // The exit status is in the second byte; the first byte holds a signal.
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }
}
