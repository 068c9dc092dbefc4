import Testing

@testable import CommandLineKit

@Suite struct `A number of bytes` {
    @Test(arguments: [
        ("0", 0), ("12", 12), ("100k", 102_400), ("100K", 102_400), ("100KiB", 102_400), ("100KB", 100_000),
        ("3M", 3 << 20), ("3MB", 3_000_000), ("2G", 2 << 30), ("1T", 1 << 40), ("1TB", 1_000_000_000_000),
    ])
    func `has units of 1024, or of 1000 with a B`(text: String, count: Int) {
        #expect(ParsedArguments.quantity(text) == count)
    }

    @Test(arguments: ["", "k", "+5", "-5", "1.5k", "5B", "5x", "5kiB5", "5kb", "9223372036854775807k", "99999999T"])
    func `is refused in any other form`(text: String) {
        #expect(ParsedArguments.quantity(text) == nil)
    }
}
