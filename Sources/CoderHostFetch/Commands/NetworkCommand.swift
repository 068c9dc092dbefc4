import CommandLineKit

/// A command of this program.
protocol NetworkCommand: SendableMetatype {
    /// The operands, options and help text.
    static var specification: CommandSpecification { get }
    /// Runs the command.
    ///
    /// It begins on the main thread: a system without resources for other threads is reported, not waited for.
    @MainActor static func run(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode
}
