import CoderHost

/// The commands that need a network, and the program of its own that does them.
///
/// Rationale: what only decodes files is started often, and loads neither HTTP nor TLS for nothing.
package enum NetworkProgram {
    package static let name = "coderhost-fetch"

    /// Its commands, as the overview lists them.
    package static let commands: [(name: String, summary: String)] = [
        ("fetch", "get pictures by their URLs, cached, as they are or converted"),
        ("cache", "look into the cache on disk, check it and tidy it up"),
    ]

    package static func summary(of name: String) -> String { commands.first { $0.name == name }?.summary ?? "" }

    /// Goes on as that program; comes back only when it cannot be started.
    package static func start(_ words: [String]) -> ExitCode {
        guard let program = ProcessImage.companion(name) else {
            Console.error("coderhost: the program \(name) is missing, which fetch and cache need")
            Console.error("  try: make install, or swift build; it stands beside coderhost or in libexec/coderhost")
            return .unavailable
        }
        let error = ProcessImage.replace(with: [program] + words)
        Console.error("coderhost: \(program) cannot be started: \(error)")
        Console.error("  try: coderhost doctor")
        return .unavailable
    }
}
