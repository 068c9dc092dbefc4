import Glibc
import TestSupport
import Testing

/// A disk cache in processes of its own: killed, beside each other, on a disk that is full or cannot be written.
@Suite(.timeLimit(.minutes(40))) struct `Disk cache in processes` {
    private let place = TemporaryDirectory()

    /// Root can mount a small file system for one process; nobody else can, and not in every container.
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

    /// Words that follow each other as name and value.
    private func facts(_ line: some StringProtocol) -> [String: String] {
        let words = line.split(separator: " ").map { String($0) }
        return Dictionary(
            stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) }, uniquingKeysWith: { $1 })
    }

    @Test(arguments: ["", "durable"]) func `loses nothing and leaves nothing when it is killed`(manner: String) throws {
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
                # The last ones are written once more, over what is there.
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

    @Test func `serves no wrong bytes while several processes store, change, remove and sweep the same`() throws {
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

    @Test(.enabled(if: mayMount)) func `says that a disk is full, keeps what it has, and leaves no piece`() throws {
        let result = try shell(
            """
            mkdir cache
            mount -t tmpfs -o size=400k none cache
            "$prover" puts cache/pictures 1 0 300 >out
            grep -c ^ok out; grep -m 1 ^failed out; tail -n 1 out
            sed -n 's/^ok //p' out | "$prover" check cache/pictures 1
            find cache -name '.storing*'
            """, apart: true)
        let lines = result.stdout.split(separator: "\n").map(String.init)

        try #require(lines.count == 4, "\(result.stdout)")
        #expect(Int(lines[0]) ?? 0 > 10)
        #expect(lines[1].contains("inputOutput: cache/pictures/"))
        #expect(lines[1].contains(".jpg cannot be written: No space left on device; free space on its file system"))
        let facts = facts(lines[3])
        #expect(facts["entries"] == lines[0])
        #expect(facts["lost"] == "0" && facts["wrong"] == "0" && facts["forsaken"] == "0", "\(lines[3])")
    }

    @Test(.enabled(if: mayMount)) func `makes room on a full disk by letting the oldest go`() throws {
        let result = try shell(
            """
            mkdir cache
            mount -t tmpfs -o size=600k none cache
            "$prover" puts cache/pictures 1 0 300 maxsize=1000000 >out
            grep -c ^ok out; tail -n 1 out
            sed -n 's/^ok //p' out | tail -n 1 | "$prover" check cache/pictures 1
            find cache -name '.storing*'
            """, apart: true)
        let lines = result.stdout.split(separator: "\n").map(String.init)

        try #require(lines.count == 3, "\(result.stdout)")
        #expect(lines[0] == "300")
        #expect(lines[1] == "state working")
        #expect(facts(lines[2])["lost"] == "0" && facts(lines[2])["wrong"] == "0")
    }

    @Test(.enabled(if: mayMount)) func `goes on reading where nothing can be written`() throws {
        let result = try shell(
            """
            mkdir cache
            mount -t tmpfs none cache
            "$prover" puts cache/pictures 1 0 5 >out
            mount -o remount,ro cache
            "$prover" puts cache/pictures 1 5 1
            sed -n 's/^ok //p' out | "$prover" check cache/pictures 1 sweep
            """, apart: true)
        let lines = result.stdout.split(separator: "\n").map(String.init)

        try #require(lines.count == 3, "\(result.stdout)")
        #expect(lines[0].contains("cannot be written: Read-only file system; its file system is mounted read-only"))
        #expect(lines[1] == "state degraded")
        #expect(facts(lines[2])["entries"] == "5" && facts(lines[2])["lost"] == "0")
    }
}
