import Glibc
import TestSupport
import Testing

/// A disk cache in separate processes: killed, concurrent, and on a full or read-only disk.
@Suite(.timeLimit(.minutes(40))) struct `Disk cache in processes` {
    private let place = TemporaryDirectory()

    /// Whether this process may mount a small file system; needs root, and some containers forbid it.
    static let mayMount =
        geteuid() == 0 && (try? run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]))?.status == 0

    private func shell(_ script: String, apart: Bool = false) throws -> CommandResult {
        let result = try run(
            (apart ? ["unshare", "-m"] : []) + ["bash", "-uc", script], directory: place.path,
            environment: ["prover": "\(Repository.products)/loading-prover"], timeout: .seconds(600))
        #expect(!result.timedOut)
        #expect(result.stderr == "")
        return result
    }

    /// Parses alternating names and values.
    private func facts(_ line: some StringProtocol) -> [String: String] {
        let words = line.split(separator: " ").map { String($0) }
        return Dictionary(
            stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) }, uniquingKeysWith: { $1 })
    }

    @Test(arguments: ["", "durable"]) func `loses no entry and leaves no file when killed`(manner: String) throws {
        let result = try shell(
            """
            from=0
            for round in {1..20}; do
                : >out
                "$prover" puts cache 1 $from 100000 \(manner) >out &
                want=$((1 + RANDOM % 30))
                while (( $(wc -l <out) < want )); do sleep 0.01; done
                kill -9 $!
                wait $! 2>/dev/null
                sed -n 's/^ok //p' out >>acknowledged
                                # The last ones are stored again, over the existing entries.
                from=$(( $(tail -n 1 acknowledged) - 3 ))
                (( from < 0 )) && from=0
            done
            "$prover" check cache 1 sweep <acknowledged
            wc -l <acknowledged
            """)
        let facts = facts(result.stdout.split(separator: "\n").first ?? "")

        #expect(result.status == 0)
        #expect(facts["lost"] == "0" && facts["wrong"] == "0" && facts["damaged"] == "0", "\(result.stdout)")
        #expect(facts["forsaken"] == "0" && facts["foreign"] == "0", "\(result.stdout)")
        #expect(Int(facts["entries"] ?? "") ?? 0 > 20, "\(result.stdout)")
    }

    @Test func `returns no wrong bytes while several processes change the same entries`() throws {
        let result = try shell(
            """
            for seed in 1 2 3; do "$prover" race cache $seed 1500 >out$seed & done
            wait
            cat out1 out2 out3
            "$prover" check cache 1 sweep </dev/null
            """)
        let lines = result.stdout.split(separator: "\n").map(facts)

        #expect(lines.count == 4, "\(result.stdout)")
        for line in lines.prefix(3) {
            #expect(line["wrong"] == "0" && line["failed"] == "0", "\(result.stdout)")
            #expect(Int(line["hits"] ?? "") ?? 0 > 0)
        }
        #expect(lines.last?["damaged"] == "0" && lines.last?["forsaken"] == "0", "\(result.stdout)")
    }

    @Test(.enabled(if: mayMount)) func `reports a full disk, keeps its entries, and leaves no partial files`() throws {
        let result = try shell(
            """
            mkdir cache
            mount -t tmpfs -o size=400k none cache
            "$prover" puts cache/images 1 0 300 >out
            grep -c ^ok out; grep -m 1 ^failed out; tail -n 1 out
            sed -n 's/^ok //p' out | "$prover" check cache/images 1
            find cache -name '.storing*'
            """, apart: true)
        let lines = result.stdout.split(separator: "\n").map(String.init)

        try #require(lines.count == 4, "\(result.stdout)")
        #expect(Int(lines[0]) ?? 0 > 10)
        #expect(lines[1].contains("inputOutput: cache/images/"))
        #expect(lines[1].contains(".jpg cannot be written: No space left on device; free space on its file system"))
        let facts = facts(lines[3])
        #expect(facts["entries"] == lines[0])
        #expect(facts["lost"] == "0" && facts["wrong"] == "0" && facts["forsaken"] == "0", "\(lines[3])")
    }

    @Test(.enabled(if: mayMount)) func `frees space on a full disk by removing the oldest entries`() throws {
        let result = try shell(
            """
            mkdir cache
            mount -t tmpfs -o size=600k none cache
            "$prover" puts cache/images 1 0 300 maxsize=1000000 >out
            grep -c ^ok out; tail -n 1 out
            sed -n 's/^ok //p' out | tail -n 1 | "$prover" check cache/images 1
            find cache -name '.storing*'
            """, apart: true)
        let lines = result.stdout.split(separator: "\n").map(String.init)

        try #require(lines.count == 3, "\(result.stdout)")
        #expect(lines[0] == "300")
        #expect(lines[1] == "state working")
        #expect(facts(lines[2])["lost"] == "0" && facts(lines[2])["wrong"] == "0")
    }

    @Test(.enabled(if: mayMount)) func `continues to read on a read-only disk`() throws {
        let result = try shell(
            """
            mkdir cache
            mount -t tmpfs none cache
            "$prover" puts cache/images 1 0 5 >out
            mount -o remount,ro cache
            "$prover" puts cache/images 1 5 1
            sed -n 's/^ok //p' out | "$prover" check cache/images 1 sweep
            """, apart: true)
        let lines = result.stdout.split(separator: "\n").map(String.init)

        try #require(lines.count == 3, "\(result.stdout)")
        #expect(lines[0].contains("cannot be written: Read-only file system; the file system is mounted read-only"))
        #expect(lines[1] == "state degraded")
        #expect(facts(lines[2])["entries"] == "5" && facts(lines[2])["lost"] == "0")
    }
}
