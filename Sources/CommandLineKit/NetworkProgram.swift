import CoderHost

/// The commands that need the network; a separate program runs them.
///
/// Rationale: the main program starts often, and must not load HTTP and TLS libraries without need.
package enum NetworkProgram {
    /// The file name of the program.
    package static let name = "coderhost-fetch"

    /// The commands, as the overview lists them.
    package static let commands: [(name: String, summary: String)] = [
        ("fetch", "download images by URL, with a cache, and convert them"),
        ("cache", "list, check and prune the disk cache"),
    ]

    /// Returns the summary of a command.
    package static func summary(of name: String) -> String { commands.first { $0.name == name }?.summary ?? "" }

    /// Replaces this process by the program; returns only if it cannot be started.
    package static func start(_ words: [String]) -> ExitCode {
        guard let program = ProcessImage.companion(name) else {
            Console.error("coderhost: the program \(name) is missing; fetch and cache need it")
            Console.error("  try: make install, or swift build; it must be beside coderhost or in libexec/coderhost")
            return .unavailable
        }
        let error = ProcessImage.replace(with: [program] + words)
        Console.error("coderhost: cannot start \(program): \(error)")
        Console.error("  try: coderhost doctor")
        return .unavailable
    }
}
