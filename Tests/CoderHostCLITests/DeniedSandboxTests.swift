import Foundation
import TestSupport
import Testing

/// What becomes of pictures where kernel, container or a limit keep parts of the sandbox from the host.
@Suite(.timeLimit(.minutes(40))) struct `A sandbox that is denied in part` {
    let place = TemporaryDirectory()

    /// A word of `deny-calls.c`, and the mechanisms that go with it.
    static let denials = [
        ("seccomp", ["seccomp-load", "seccomp-seal"]), ("listener", ["seccomp-seal"]),
        ("landlock", ["landlock", "landlock-network", "landlock-scope"]),
        (
            "namespaces",
            ["user-namespace", "pid-namespace", "network-namespace", "ipc-namespace", "mount-namespace"]
        ), ("limits", ["limits"]),
    ]

    /// A folder with `deny-calls`, a plugin of a third party and a picture of it.
    private func prepare() throws {
        try PluginBuilder.build("faulty/none.c", flags: ["-lm"], into: place.path, named: "libcoder-faulty.so")
        place.write(Array("flt!".utf8) + [0, 2, 0, 1, 3] + [10, 20, 30, 40, 50, 60], to: "picture.flt")
        let source = "\(Repository.root)/Tests/ThirdParty/isolation/deny-calls.c"
        let built = try run(["cc", "-std=c11", "-O1", source, "-o", place.file("deny-calls")])
        try #require(built.status == 0, "\(built.stderr)")
    }

    private func tool(without word: String, _ arguments: String...) throws -> CommandResult {
        let result = try run(
            [place.file("deny-calls"), word, "--", Tool.path] + arguments + ["--plugin-dir", place.path],
            directory: place.path, environment: Tool.environment)
        #expect(!result.timedOut && result.status >= 0)
        return result
    }

    @Test(arguments: denials)
    func `is refused where it is required, and reported where it is not`(word: String, mechanisms: [String]) throws {
        try prepare()

        let refused = try tool(without: word, "info", "picture.flt", "--isolation", "require", "--json")
        #expect(refused.status == 69)
        let error = Document(refused.stdout)["error"]
        #expect(error["code"].text == "isolationUnavailable")
        #expect(error["message"].text?.contains("the sandbox lacks \(mechanisms[0]) (") == true, "\(refused.stdout)")

        let accepted = try tool(without: word, "info", "picture.flt", "--isolation", "auto", "--json")
        #expect(accepted.status == 0, "\(accepted.stdout)")
        let report = Document(accepted.stdout)["isolation"]
        #expect(report["mode"].text == "worker")
        #expect(report["degraded"].bool == true)
        #expect(Set(report["missing"].list.compactMap(\.text)).isSuperset(of: mechanisms))

        let doctor = Document(try tool(without: word, "doctor", "isolation", "--json").stdout)
        let isolation = doctor["isolation"].exists ? doctor["isolation"] : doctor
        #expect(isolation["sufficient"].bool == false)
    }

    /// What was converted in a worker, against the same in this process.
    private static let convert = """
        "$coderhost" convert photo.png -o plain.pam --isolation off
        "$coderhost" convert photo.png -o isolated.pam --isolation require:limits; echo $?
        [ ! -e isolated.pam ] || cmp plain.pam isolated.pam
        """

    @Test func `gets along with few descriptors`() throws {
        try Tool.copy(Repository.fixture("pictures/photo.png"), to: place.file("photo.png"))
        let result = try Tool.shell("ulimit -n 32\n" + Self.convert, directory: place.path)
        #expect(result.stdout == "0\n", "\(result.stdout)\(result.stderr)")
    }

    @Test(arguments: 6...16)
    func `is refused with a reason when hardly a file can be opened`(count: Int) throws {
        try Tool.copy(Repository.fixture("pictures/photo.png"), to: place.file("photo.png"))
        let result = try run(
            ["prlimit", "--nofile=\(count)", Tool.path, "info", "photo.png", "--isolation", "require:limits"],
            directory: place.path, environment: Tool.environment)
        // 127: the loader itself could not open a library.
        #expect([0, 66, 69, 73, 74, 127].contains(result.status), "\(result.status): \(result.stderr)")
        #expect(!result.timedOut && (result.status == 0) == result.stderr.isEmpty, "\(result.stderr)")
    }

    /// Not over what is tested.
    @Test(
        .enabled(if: Outputs.mayMount),
        arguments: ["/dev/shm", "/tmp"].filter { !Tool.path.hasPrefix("\($0)/") })
    func `needs no room in a file system of memory`(path: String) throws {
        try Tool.copy(Repository.fixture("pictures/photo.png"), to: place.file("photo.png"))
        // The pictures stand below /tmp, too.
        let result = try apart(
            """
            exec 9<.
            mount -t tmpfs -o size=4k none \(path); cat /dev/zero >\(path)/full 2>/dev/null
            cd /proc/self/fd/9 || exit
            """ + "\n" + Self.convert)
        #expect(result.stdout == "0\n", "\(result.stdout)\(result.stderr)")
    }

    @Test(.enabled(if: Outputs.mayMount)) func `works, or is refused with a reason, where there is no proc`() throws {
        try Tool.copy(Repository.fixture("pictures/photo.png"), to: place.file("photo.png"))
        let result = try apart(
            """
            umount -l /proc
            "$coderhost" info photo.png --isolation require:limits --json; echo $?
            """)
        let status = result.lines.last
        #expect(status == "0" || status == "69", "\(result.stdout)\(result.stderr)")
        if status == "69" {
            let error = Document(result.lines.first ?? "")["error"]
            #expect(error["code"].text == "isolationUnavailable", "\(result.stdout)")
        }
    }

    /// The loader finds the Swift runtime of an installed program by `$ORIGIN`, which it reads from `/proc`.
    @Test(.enabled(if: Outputs.mayMount)) func `starts as it is installed, where there is no proc`() throws {
        let script = "\(Repository.root)/.ci/install"
        let installer = String(decoding: try #require(readFile(script)), as: UTF8.self)
            .replacing("build=.build/release", with: "build=\(Repository.products)")
            .replacing(#"cd "$(dirname "$0")/..""#, with: "cd \(Repository.root)")
        place.write(Array(installer.utf8), to: "install")
        try Tool.copy(Repository.fixture("pictures/photo.png"), to: place.file("photo.png"))

        let result = try apart(
            """
            PREFIX=$PWD/usr bash install >log 2>&1 || { cat log; exit; }
            umount -l /proc
            usr/bin/coderhost --version
            usr/bin/coderhost info photo.png --hash --isolation off
            usr/bin/coderhost plugin check $PWD/usr/lib/coderhost/plugins/1/libcoder-farbfeld.so --only manifest >/dev/null 2>&1; echo check $?
            usr/bin/coderhost cache --help | head -n 1
            """)

        #expect(result.lines.first?.hasPrefix("coderhost 0") == true, "\(result.stdout)\(result.stderr)")
        #expect(result.stdout.contains("photo.png: png"), "\(result.stdout)\(result.stderr)")
        #expect(!result.stdout.contains("check 127"), "\(result.stdout)\(result.stderr)")
        #expect(!result.stderr.contains("error while loading shared libraries"), "\(result.stderr)")
    }

    /// Runs a script with mounts of its own, for root only.
    private func apart(_ script: String) throws -> CommandResult {
        let result = try run(
            ["unshare", "-m", "bash", "-uc", script], directory: place.path,
            environment: Tool.environment.merging(["coderhost": Tool.path]) { _, new in new }, timeout: .seconds(120))
        #expect(!result.timedOut)
        return result
    }
}
