/// Checks one plugin against the contract, each test in a process of its own.
@main
enum ConformanceCommand {
    static func main() {}
}
