import Foundation
import TestSupport
import Testing

/// An interrupted command leaves its output absent, old or complete, and no temporary files.
@Suite(.timeLimit(.minutes(40))) struct `Outputs` {
    let place = TemporaryDirectory()

    /// Whether the test can mount file systems: it needs root, and not all containers allow it.
    static let mayMount =
        geteuid() == 0 && (try? run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]))?.status == 0

    /// All commands that write files, as arguments of `"$coderhost"`; `$o` is the output folder beside the inputs.
    static let writers = [
        "convert photo.png -o $o/out.pam", "convert photo.png -o $o/out.png", "thumbnail photo.png -s 150 -o $o/t.pam",
        "frames extract photo.png -o $o/f{n}.pam --timing $o/f.json", "frames assemble photo.png -o $o/a.apng",
        "compare photo.png photo.jpg --diff $o/d.pam", "progressive photo.jpg -o $o/p{n}.pam",
        "plugin new toy -o $o/toy", "plugin new toy --lang rust -o $o/toy",
    ]

    private func names(_ folder: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: place.file(folder)).sorted()
    }

    private func bring(_ images: String...) throws {
        for name in images { try Tool.copy(Repository.fixture("images/\(name)"), to: place.file(name)) }
    }

    /// Runs a script with its own mounts; needs root.
    private func apart(_ script: String) throws -> CommandResult {
        let result = try run(
            ["unshare", "-m", "bash", "-uc", script], directory: place.path,
            environment: Tool.environment.merging(["coderhost": Tool.path, "o": place.file("o")]) { _, new in new },
            timeout: .seconds(120))
        #expect(!result.timedOut)
        return result
    }

    // MARK: Killed

    private static let killing = """
        for i in $(seq 40); do
            "$coderhost" convert $((i % 2)).pam -o out.$suffix 2>/dev/null & child=$!
            sleep 0.0$((RANDOM % 10))$((RANDOM % 10))
            kill -9 $child 2>/dev/null; wait $child 2>/dev/null
            if [ -e out.$suffix ]; then sha256sum <out.$suffix; else echo absent; fi
        done
        "$coderhost" convert 0.pam -o out.$suffix; sha256sum <out.$suffix
        """

    /// Two images and their outputs.
    private func prepare(_ suffix: String) throws -> Set<String> {
        try bring("photo.png", "photo.jpg")
        var known: Set<String> = ["absent"]
        for (index, source) in ["photo.png", "photo.jpg"].enumerated() {
            let words = ["convert", source, "-o", "\(index).pam"]
            let result = try Tool.run(words, directory: place.path)
            let expected = try Tool.run("convert", "\(index).pam", "-o", "whole.\(suffix)", directory: place.path)
            try #require(result.status == 0 && expected.status == 0, "\(result.stderr)\(expected.stderr)")
            known.formUnion(try run(["sh", "-c", "sha256sum <whole.\(suffix)"], directory: place.path).lines)
        }
        try FileManager.default.removeItem(atPath: place.file("whole.\(suffix)"))
        return known
    }

    @Test(arguments: ["png", "pam"]) func `are old or complete if the process is killed`(suffix: String) throws {
        let known = try prepare(suffix)

        let result = try run(
            ["bash", "-c", Self.killing], directory: place.path,
            environment: Tool.environment.merging(["coderhost": Tool.path, "suffix": suffix]) { _, new in new })

        #expect(result.lines.count == 41 && known.isSuperset(of: result.lines), "\(result.lines)")
        #expect(try names() == ["0.pam", "1.pam", "out.\(suffix)", "photo.jpg", "photo.png"])
    }

    /// Without `/proc`, unnamed files cannot be linked, as on a file system without O_TMPFILE.
    @Test(.enabled(if: mayMount)) func `leave only temporary files that the next process removes`() throws {
        let known = try prepare("pam")

        let result = try apart("umount -l /proc; suffix=pam\n" + Self.killing)

        #expect(result.lines.count == 41 && known.isSuperset(of: result.lines), "\(result.lines)\(result.stderr)")
        #expect(try names() == ["0.pam", "1.pam", "out.pam", "photo.jpg", "photo.png"])
    }

    @Test func `remove temporary files of killed processes, but not of running ones`() throws {
        try bring("photo.ppm")
        place.write([1], to: "out.pam")
        place.write([2], to: ".out.pam.coderhost-0.tmp")
        place.write([3], to: ".out.pam.coderhost-1.tmp")
        place.folder(".toy.coderhost-0.tmp")
        place.folder(".toy.coderhost-0.tmp/test")
        place.write([4], to: ".toy.coderhost-0.tmp/test/selftest.c")
        place.write([5], to: ".other.coderhost-0.tmp")

        let busy = try Tool.shell(
            """
            exec 9<.out.pam.coderhost-0.tmp; flock 9
            "$coderhost" convert photo.ppm -o out.pam 9<&-
            ls -A
            """, directory: place.path)
        #expect(busy.stdout.contains(".out.pam.coderhost-0.tmp\n"))
        #expect(!busy.stdout.contains(".out.pam.coderhost-1.tmp"), "\(busy.stdout)")

        let result = try Tool.shell(
            #""$coderhost" convert photo.ppm -o out.pam; "$coderhost" plugin new toy -o toy"#, directory: place.path)
        #expect(result.status == 0, "\(result.stderr)")
        #expect(try names() == [".other.coderhost-0.tmp", "out.pam", "photo.ppm", "toy"])
    }

    /// Ends the process between write and rename, by blocking the call in between.
    @Test func `of small files leave temporary files that the next process removes`() throws {
        let stop = "#include <signal.h>\nint fsync(int file) { return raise(SIGKILL) + file; }\n"
        place.write(Array(stop.utf8), to: "end.c")
        let result = try Tool.shell(
            """
            cc -shared -fPIC end.c -o end.so; rm end.c
            for i in 1 2 3; do LD_PRELOAD=./end.so "$coderhost" plugin keygen -o key 2>/dev/null || echo $?; done
            ls -A | wc -l
            "$coderhost" plugin keygen -o key; rm end.so
            """, directory: place.path)

        #expect(result.lines.prefix(4) == ["137", "137", "137", "2"], "\(result.stdout)\(result.stderr)")
        #expect(try names() == ["key", "key.pub"])
    }

    @Test func `of a killed benchmark are removed by the next one`() throws {
        try bring("photo.png")
        place.folder("tmp")
        place.folder("tmp/coderhost-temporary-mine")
        place.write([1], to: "tmp/coderhost-backup")
        let script = """
            for i in $(seq 6); do
                "$coderhost" bench photo.png --runs 3 >/dev/null 2>&1 & child=$!
                sleep 0.$((RANDOM % 6))
                kill -9 $child 2>/dev/null || true; wait $child 2>/dev/null || true
            done
            "$coderhost" bench photo.png --ops info --runs 1
            """

        let result = try Tool.shell(script, directory: place.path, environment: ["TMPDIR": place.file("tmp")])

        #expect(result.status == 0, "\(result.stderr)")
        #expect(try names("tmp") == ["coderhost-backup"])
    }

    // MARK: Full disk, missing permissions

    @Test(.enabled(if: mayMount), arguments: writers) func `are absent if the disk is full`(words: String) throws {
        try bring("photo.png", "photo.jpg")
        place.folder("o")

        let result = try apart(
            "mount -t tmpfs -o size=8k none $o; \"$coderhost\" \(words) >/dev/null; echo $?; ls -A $o")

        // Smaller images could be written, but none fits.
        #expect(result.stdout == "74\n", "\(result.stdout)\(result.stderr)")
        #expect(result.stderr.contains("No space left on device"), "\(result.stderr)")
    }

    @Test(arguments: writers) func `are absent above the file size limit`(words: String) throws {
        try bring("photo.png", "photo.jpg")
        place.folder("o")

        let result = try Tool.shell(
            "ulimit -f 4; \"$coderhost\" \(words) >/dev/null && echo 0 || echo $?; ls -A $o", directory: place.path,
            environment: ["o": place.file("o")])

        #expect(result.stdout == "74\n", "\(result.stdout)\(result.stderr)")
        #expect(result.stderr.contains("File too large"), "\(result.stderr)")
    }

    @Test(.enabled(if: mayMount), arguments: writers)
    func `are refused in an unwritable folder`(words: String) throws {
        try bring("photo.png", "photo.jpg")
        place.folder("o")

        let result = try apart(
            "mount -o bind $o $o; mount -o remount,bind,ro $o; \"$coderhost\" \(words) >/dev/null; echo $?; ls -A $o")

        #expect(result.stdout == "73\n", "\(result.stdout)\(result.stderr)")
        #expect(result.stderr.contains("Read-only file system"), "\(result.stderr)")
        #expect(result.stderr.contains("  try: "))
    }

    // MARK: Missing resources

    @Test func `never use the descriptor of a closed standard stream`() throws {
        try bring("photo.png")
        place.folder("plain")
        let script = """
            "$coderhost" convert photo.png -o plain/o.pam
            mkfifo pipe; exec 9<>pipe
            "$coderhost" info - <&9 >&- 2>&- & child=$!
            for i in $(seq 200); do [ -e /proc/$child/fd/2 ] && [ ! -e /proc/$child/fd/9 ] && break; sleep 0.02; done
            readlink /proc/$child/fd/1 /proc/$child/fd/2; kill $child; wait $child || true
            for closed in '>&-' '2>&-' '<&-' '<&- >&- 2>&-'; do
                eval "\\"\\$coderhost\\" convert photo.png -o o.pam $closed"; echo $?
                cmp o.pam plain/o.pam; rm o.pam
            done
            "$coderhost" info photo.png >&- 2>/dev/null || echo $?
            """

        let result = try Tool.shell(script, directory: place.path)

        #expect(result.lines == ["/dev/null", "/dev/null", "0", "0", "0", "0", "74"], "\(result.stderr)")
    }

    @Test func `are written with sixteen descriptors`() throws {
        try bring("photo.png", "photo.jpg", "three-frames.gif")
        place.folder("o")
        let script =
            "ulimit -n 16\n"
            + (Self.writers + [
                "thumbnail photo.png photo.jpg three-frames.gif -s 20 -o $o/", "info --hash photo.png photo.jpg",
                "convert three-frames.gif -o $o/x.webp", "list", "doctor",
            ]).map { "rm -rf $o/toy; \"$coderhost\" \($0) >/dev/null || [ $? = 1 ] || echo \"\($0): $?\"" }
            .joined(separator: "\n")

        let result = try Tool.shell(script, directory: place.path, environment: ["o": place.file("o")])

        // compare exits with 1 if images differ.
        #expect(result.stdout == "", "\(result.stdout)\(result.stderr)")
        #expect(!result.stderr.contains("Too many open files"), "\(result.stderr)")
        #expect(try names("o").count >= 12)
    }

    @Test(arguments: 3...9)
    func `are written, or refused with a reason, with too few descriptors`(count: Int) throws {
        try bring("photo.png", "photo.ppm")
        place.folder("o")
        let result = try run(
            ["prlimit", "--nofile=\(count)", Tool.path, "convert", "photo.png", "-o", "o/x.pam"], directory: place.path,
            environment: Tool.environment)

        // 127: the dynamic loader could not open a library.
        #expect([0, 66, 69, 73, 74, 127].contains(result.status), "\(result.status): \(result.stderr)")
        // With four descriptors, the plugin folder is unreadable, so no plugin is installed.
        let reasons = count == 4 ? /Too many open files|Error 24|not installed/ : /Too many open files|Error 24/
        #expect(result.status == 0 ? result.stderr.isEmpty : result.stderr.contains(reasons))
        #expect(try names("o") == (result.status == 0 ? ["x.pam"] : []))
    }

    @Test(.enabled(if: mayMount)) func `are written, or refused with a reason, without proc`() throws {
        try bring("photo.png", "photo.ppm")
        place.folder("o")
        let script = """
            umount -l /proc
            "$coderhost" list | grep -c ready
            "$coderhost" doctor | grep executable
            "$coderhost" convert photo.ppm -o o/x.pam; echo $?
            "$coderhost" convert photo.ppm -o o/x.pam; echo $?
            "$coderhost" convert photo.ppm -o - -f pam | cmp - o/x.pam; echo $?
            "$coderhost" plugin new toy -o o/toy >/dev/null; echo $?
            "$coderhost" info --hash photo.png >/dev/null 2>&1; [ $? = 0 -o $? = 69 ]; echo $?
            ls -A o
            """

        let result = try apart(script)

        #expect(try #require(Int(result.lines.first ?? "")) >= 9, "\(result.stderr)")
        #expect(result.lines.dropFirst().first == "executable \(Tool.path)")
        #expect(result.lines.dropFirst(2) == ["0", "0", "0", "0", "0", "toy", "x.pam"], "\(result.stderr)")
    }

    @Test func `never replace another input that is not yet converted`() throws {
        try bring("photo.jpg", "f.png")
        try Tool.copy(place.file("f.png"), to: place.file("photo.png"))
        let before = readFile(place.file("photo.png"))

        let result = try Tool.run(
            ["convert", "photo.jpg", "photo.png", "-o", "./", "-f", "png", "--overwrite"], directory: place.path)

        #expect(result.status == 1 && result.stderr.contains("is another input, photo.png"), "\(result.stderr)")
        // The second input may replace itself, with the same pixels.
        let pixels = try [place.file("photo.png"), place.file("f.png")].map {
            try Tool.run("info", "-f", "pixel_sha256", $0).stdout
        }
        #expect(before != nil && pixels[0] == pixels[1])
    }
}
