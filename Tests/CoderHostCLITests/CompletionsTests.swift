import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Completions and manual pages` {
    let place = TemporaryDirectory()

    private static func isInstalled(_ program: String) -> Bool {
        ["/usr/bin", "/bin", "/usr/local/bin"].contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }

    private static let shells = ["bash", "zsh", "fish"]

    @Test(arguments: shells.filter(isInstalled))
    func `are accepted by the shell`(shell: String) throws {
        let script = try Tool.run("completions", shell)
        #expect(script.status == 0 && script.stderr.isEmpty)
        #expect(writeFile(place.file("script"), Array(script.stdout.utf8)))
        let check = try TestSupport.run([shell, "-n", place.file("script")])

        #expect(check.status == 0 && check.stderr.isEmpty, "\(check.stderr)")
    }

    @Test(arguments: shells)
    func `name every command and every long option`(shell: String) throws {
        let script = try Tool.run("completions", shell).stdout

        for command in Help.commands { #expect(script.contains(command), "\(command)") }
        for command in Help.commands where !["fetch", "cache"].contains(command) {
            let options =
                try Tool.run(command, "--help").stdout.split(separator: "Options:").last?.split(separator: "\n") ?? []
            for line in options {
                let names = line.split(separator: " ").prefix(2).filter { $0.hasPrefix("--") }
                for name in names {
                    // `--trim[=PERCENT]` has an optional value.
                    let own = name.split(separator: "[")[0].filter { $0 != "," }
                    #expect(script.contains(shell == "fish" ? "-l \(own.dropFirst(2))" : own), "\(command) \(own)")
                }
            }
        }
    }

    @Test(arguments: [
        ("coderhost con", "convert"), ("coderhost convert --skip", "--skip-existing"),
        ("coderhost frames ext", "extract"),
        ("coderhost convert -f far", "farbfeld"), ("coderhost help thu", "thumbnail"),
        ("coderhost convert --gravity northe", "northeast"),
        ("coderhost convert --overlay-gravity so", "southeast south southwest"),
        ("coderhost convert --strip th", "thumbnail"), ("coderhost rewrite --keep exif,gp", "exif,gps"),
        ("coderhost metadata --strip ip", "iptc"), ("coderhost compare --metric ps", "psnr"),
        ("coderhost convert -O jpeg.prog", "jpeg.progressive="), ("coderhost info -f far", ""),
        ("coderhost info -f dens", "density"), ("coderhost metadata -f far", ""),
        ("coderhost convert -f webp,far", "webp,farbfeld"),
    ])
    func `complete a word in bash`(line: String, word: String) throws {
        let script = """
            coderhost() { "$coderhost" "$@"; }
            source <("$coderhost" completions bash)
            COMP_WORDS=(\(line)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _coderhost; echo "${COMPREPLY[@]}"
            """
        let result = try Tool.shell(script)

        #expect(result.stdout == "\(word)\n", "\(result.stderr)")
    }

    @Test func `refuse an unknown shell`() throws {
        let result = try Tool.run("completions", "bsh")

        #expect(result.status == 64 && result.stderr.contains("did you mean bash?"))
    }

    @Test(arguments: Help.commands)
    func `of a command have all sections`(command: String) throws {
        let page = try Tool.run("man", command)

        #expect(page.status == 0)
        #expect(page.stdout.hasPrefix(".TH \"CODERHOST-\(command.uppercased())\" \"1\""))
        let sections = page.stdout.split(separator: "\n").filter { $0.hasPrefix(".SH ") }.map { $0.dropFirst(4) }
        #expect(["NAME", "SYNOPSIS", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"].allSatisfy(sections.contains))
    }

    @Test(.enabled(if: isInstalled("mandoc")), arguments: Help.commands + [""])
    func `are accepted by mandoc`(command: String) throws {
        let page = try Tool.run(["man", command].filter { !$0.isEmpty }).stdout
        let check = try TestSupport.run(["mandoc", "-T", "lint", "-W", "error"], input: Array(page.utf8))

        #expect(check.status == 0, "\(check.stdout)\(check.stderr)")
    }

    @Test func `of the version are one line with both spellings`() throws {
        #expect(try Tool.run("-V").stdout == Tool.run("--version").stdout)
    }
}
