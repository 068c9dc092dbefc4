import Foundation
import TestSupport
import Testing

/// Decoding while kernel, container or limits deny parts of the sandbox.
@Suite(.timeLimit(.minutes(40))) struct `A partly denied sandbox` {
    let place = TemporaryDirectory()

    /// An argument of `deny-calls.c`, and the mechanisms that it disables.
    static let denials = [
        ("seccomp", ["seccomp-load", "seccomp-seal"]), ("listener", ["seccomp-seal"]),
        ("landlock", ["landlock", "landlock-network", "landlock-scope"]),
        (
            "namespaces",
            ["user-namespace", "pid-namespace", "network-namespace", "ipc-namespace", "mount-namespace"]
        ), ("limits", ["limits"]),
    ]

    /// A folder with `deny-calls`, a third-party plugin and an image in its format.
    private func prepare() throws {
        try PluginBuilder.build("faulty/none.c", flags: ["-lm"], into: place.path, named: "libcoder-faulty.so")
        place.write(Array("flt!".utf8) + [0, 2, 0, 1, 3] + [10, 20, 30, 40, 50, 60], to: "image.flt")
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
    func `is refused if required, and reported otherwise`(word: String, mechanisms: [String]) throws {
        try prepare()

        let refused = try tool(without: word, "info", "image.flt", "--isolation", "require", "--json")
        #expect(refused.status == 69)
        let error = Document(refused.stdout)["error"]
        #expect(error["code"].text == "isolationUnavailable")
        #expect(error["message"].text?.contains("the sandbox lacks \(mechanisms[0]) (") == true, "\(refused.stdout)")

        let accepted = try tool(without: word, "info", "image.flt", "--isolation", "auto", "--json")
        #expect(accepted.status == 0, "\(accepted.stdout)")
        let report = Document(accepted.stdout)["isolation"]
        #expect(report["mode"].text == "worker")
        #expect(report["degraded"].bool == true)
        #expect(Set(report["missing"].list.compactMap(\.text)).isSuperset(of: mechanisms))

        let doctor = Document(try tool(without: word, "doctor", "isolation", "--json").stdout)
        let isolation = doctor["isolation"].exists ? doctor["isolation"] : doctor
        #expect(isolation["sufficient"].bool == false)
    }

    /// Compares conversion in a worker with conversion in this process.
    private static let convert = """
        "$coderhost" convert photo.png -o plain.pam --isolation off
        "$coderhost" convert photo.png -o isolated.pam --isolation require:limits; echo $?
        [ ! -e isolated.pam ] || cmp plain.pam isolated.pam
        """

    @Test func `works with few descriptors`() throws {
        try Tool.copy(Repository.fixture("images/photo.png"), to: place.file("photo.png"))
        let result = try Tool.shell("ulimit -n 32\n" + Self.convert, directory: place.path)
        #expect(result.stdout == "0\n", "\(result.stdout)\(result.stderr)")
    }

    @Test(arguments: 6...16)
    func `is refused with a reason with too few descriptors`(count: Int) throws {
        try Tool.copy(Repository.fixture("images/photo.png"), to: place.file("photo.png"))
        let result = try run(
            ["prlimit", "--nofile=\(count)", Tool.path, "info", "photo.png", "--isolation", "require:limits"],
            directory: place.path, environment: Tool.environment)
        // 127: the dynamic loader could not open a library.
        #expect([0, 66, 69, 73, 74, 127].contains(result.status), "\(result.status): \(result.stderr)")
        #expect(!result.timedOut && (result.status == 0) == result.stderr.isEmpty, "\(result.stderr)")
    }

    /// Not over the tested folder.
    @Test(
        .enabled(if: Outputs.mayMount),
        arguments: ["/dev/shm", "/tmp"].filter { !Tool.path.hasPrefix("\($0)/") })
    func `needs no space in tmpfs`(path: String) throws {
        try Tool.copy(Repository.fixture("images/photo.png"), to: place.file("photo.png"))
        // The images are below /tmp as well.
        let result = try apart(
            """
            exec 9<.
            mount -t tmpfs -o size=4k none \(path); cat /dev/zero >\(path)/full 2>/dev/null
            cd /proc/self/fd/9 || exit
            """ + "\n" + Self.convert)
        #expect(result.stdout == "0\n", "\(result.stdout)\(result.stderr)")
    }

    @Test(.enabled(if: Outputs.mayMount)) func `works, or is refused with a reason, without proc`() throws {
        try Tool.copy(Repository.fixture("images/photo.png"), to: place.file("photo.png"))
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
    @Test(.enabled(if: Outputs.mayMount)) func `starts from an installation without proc`() throws {
        let script = "\(Repository.root)/.ci/install"
        let installer = String(decoding: try #require(readFile(script)), as: UTF8.self)
            .replacing("build=.build/release", with: "build=\(Repository.products)")
            .replacing(#"cd "$(dirname "$0")/..""#, with: "cd \(Repository.root)")
        place.write(Array(installer.utf8), to: "install")
        try Tool.copy(Repository.fixture("images/photo.png"), to: place.file("photo.png"))

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

    /// Runs a script with its own mounts; needs root.
    private func apart(_ script: String) throws -> CommandResult {
        let result = try run(
            ["unshare", "-m", "bash", "-uc", script], directory: place.path,
            environment: Tool.environment.merging(["coderhost": Tool.path]) { _, new in new }, timeout: .seconds(120))
        #expect(!result.timedOut)
        return result
    }
}
