import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `A running list --watch` {
    /// Starts the command in the background, with a shell function `expect TEXT` that waits for output.
    private static let start = """
        mkdir plugins
        "$coderhost" list --watch $flags --plugin-dir plugins >out 2>err & watcher=$!
        trap 'kill $watcher 2>/dev/null; wait $watcher 2>/dev/null || true' EXIT
        expect() {
            for _ in $(seq 100); do grep -qF -- "$1" out err && return; sleep 0.05; done
            echo "never came: $1"; cat out err; exit 9
        }

        """

    @Test func `reports added, changed and removed plugins`() throws {
        let place = TemporaryDirectory()
        let result = try Tool.shell(
            Self.start + """
                expect 'press Ctrl-C to stop'
                cp "$plugin" plugins/libcoder-farbfeld.so
                expect 'added libcoder-farbfeld.so: ready (farbfeld)'
                echo 'no plugin' > plugins/.new; mv plugins/.new plugins/libcoder-farbfeld.so
                expect 'changed libcoder-farbfeld.so: not-a-plugin'
                cp "$plugin" plugins/.new; mv plugins/.new plugins/libcoder-farbfeld.so
                expect 'changed libcoder-farbfeld.so: ready (farbfeld)'
                rm plugins/libcoder-farbfeld.so
                expect 'removed libcoder-farbfeld.so'
                kill -0 $watcher
                """,
            directory: place.path,
            environment: ["flags": "", "plugin": "\(Repository.products)/libcoder-farbfeld.so"])

        #expect(result.status == 0, "\(result.stdout)\(result.stderr)")
    }

    @Test func `writes one JSON document per line`() throws {
        let place = TemporaryDirectory()
        let result = try Tool.shell(
            Self.start + """
                expect '"event": "present"'
                cp "$plugin" plugins/libcoder-farbfeld.so
                expect '"event": "added"'
                rm plugins/libcoder-farbfeld.so
                expect '"event": "removed"'
                """,
            directory: place.path,
            environment: ["flags": "--json", "plugin": "\(Repository.products)/libcoder-farbfeld.so"])
        #expect(result.status == 0, "\(result.stdout)\(result.stderr)")

        let text = String(decoding: readFile(place.file("out")) ?? [], as: UTF8.self)
        let events = text.split(separator: "\n").map { Document(String($0)) }
        #expect(events.allSatisfy { $0["event"].exists && $0["plugin"]["status"].exists })
    }

    @Test func `ends when its reader is gone`() throws {
        let place = TemporaryDirectory()
        let result = try Tool.shell(
            """
            mkdir plugins
            ("$coderhost" list --watch --plugin-dir plugins 2>/dev/null || echo $? >end) | head -1 >/dev/null &
            # What comes and goes within the moment that a burst is given is no change: it stays a while.
            for _ in $(seq 50); do
                cp "$plugin" plugins/libcoder-farbfeld.so; sleep 0.3
                rm plugins/libcoder-farbfeld.so; sleep 0.3
                [ -e end ] && exit $(($(cat end) == 74 ? 0 : 8))
            done
            exit 9
            """,
            directory: place.path, environment: ["plugin": "\(Repository.products)/libcoder-farbfeld.so"])

        #expect(result.status == 0)
    }
}
