import Foundation
import TestSupport
import Testing

/// Ctrl-C in a batch.
@Suite(.timeLimit(.minutes(40))) struct `An interrupted batch` {
    private let place = TemporaryDirectory()
    private static let count = 60

    /// Interrupts a conversion of many images after its first output.
    private func interrupt(_ words: String) throws -> CommandResult {
        try Tool.copy(Repository.fixture("images/photo.png"), to: place.file("photo.png"))
        // A background process of a script would ignore the signal; the program `env` restores its default.
        return try Tool.shell(
            """
            mkdir in out; for i in $(seq \(Self.count)); do cp photo.png in/$i.png; done
            env --default-signal=INT "$coderhost" convert in/*.png -o out/ -f avif --effort 8 \(words) & child=$!
            while [ -z "$(ls out)" ]; do sleep 0.01; done
            kill -INT $child
            wait $child || echo "status $?"
            """, directory: place.path)
    }

    private func written() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: place.file("out")).count
    }

    @Test(arguments: ["", "-j 1", "-v", "--isolation require"])
    func `states the numbers of written and left inputs, and the way to go on`(words: String) throws {
        let result = try interrupt(words)

        #expect(result.stdout == "status 130\n", "\(result.stderr)")
        let lines = result.stderr.split(separator: "\n")
        let summary = try #require(lines.first { $0.hasPrefix("coderhost: interrupted: ") })
        let numbers = summary.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        #expect(numbers.count == 2 && numbers.reduce(0, +) == Self.count, "\(summary)")
        // An output that was complete when the signal came may not be counted.
        #expect(try numbers[1] >= 1 && numbers[1] <= written() && written() < Self.count)
        #expect(lines.last == "  try: the same command with --skip-existing writes the rest")
        #expect(!result.stderr.contains("worker") && !result.stderr.contains("failed"), "\(result.stderr)")
    }

    @Test func `ends with a summary in JSON`() throws {
        let result = try interrupt("--json")

        let lines = result.lines.filter { $0.hasPrefix("{") }.map(Document.init)
        let summary = try #require(lines.last?["summary"])
        let (written, left) = (summary["written"].integer ?? 0, summary["left"].integer ?? 0)
        #expect(written == lines.count - 1 && written + left == Self.count, "\(result.stdout)")
        #expect(summary["failed"].integer == 0)
    }
}
