import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Playing in a terminal` {
    static let variables = [
        "PATH": "/usr/bin:/bin", "HOME": Tool.nowhere.path, "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "COLORTERM": "truecolor",
    ]
    private let animation = Repository.fixture("images/three-frames.gif")
    private let still = Repository.fixture("images/f.png")

    static let terminals: [(name: String, answer: String, environment: [String: String], wanted: String)] = [
        ("kitty", "\u{1B}_Gi=31;OK\u{1B}\\\u{1B}P>|kitty(0.36.4)\u{1B}\\\u{1B}[6;20;10t\u{1B}[?62;c", [:], "kitty"),
        ("WezTerm", "\u{1B}P>|WezTerm 20240203\u{1B}\\\u{1B}[6;20;10t\u{1B}[?65;4;6;18;22c", [:], "iterm2"),
        ("xterm with sixel", "\u{1B}P>|XTerm(370)\u{1B}\\\u{1B}[?1;0;256S\u{1B}[?63;1;2;4;6;9;15;22c", [:], "sixel"),
        ("xterm without", "\u{1B}P>|XTerm(370)\u{1B}\\\u{1B}[?63;1;2;6;9;15;22c", [:], "blocks"),
        ("one that refuses", "\u{1B}_Gi=31;ENOTSUP:no\u{1B}\\\u{1B}[?62;c", [:], "blocks"),
        ("tmux 3.4", "\u{1B}P>|tmux 3.4\u{1B}\\\u{1B}[?1;2;4c", ["TMUX": "/tmp/x,1,0"], "sixel"),
        ("tmux in iTerm2", "\u{1B}[?1;2c", ["TMUX": "/tmp/x,1,0", "LC_TERMINAL": "iTerm2"], "blocks"),
        ("one of letters", "\u{1B}[?1;2c", ["LANG": "C"], "ascii"),
    ]

    @Test(arguments: terminals.indices)
    func `selects the best protocol that the terminal supports`(index: Int) throws {
        let terminal = Self.terminals[index]
        let screen = try PseudoTerminal()
        try screen.start(
            [Tool.path, "play", "--loop", "1", "--json", animation],
            environment: Self.variables.merging(terminal.environment) { _, new in new },
            answer: Array(terminal.answer.utf8))

        #expect(screen.wait() == 0, "\(terminal.name)")
        #expect(screen.text.contains("\"protocol\": \"\(terminal.wanted)\""), "\(terminal.name)")
        #expect(screen.text.contains("\"plays\": 1"))
        #expect(screen.isCooked)
        // tmux would use it as a title.
        #expect(screen.text.contains("a=q") == (terminal.environment["TMUX"] == nil))
    }

    @Test func `plays with blocks if the terminal never answers`() throws {
        let screen = try PseudoTerminal()
        try screen.start([Tool.path, "play", "--loop", "1", "--json", animation], environment: Self.variables)

        #expect(screen.wait() == 0)
        #expect(screen.text.contains("\"protocol\": \"blocks\""))
    }

    @Test func `keeps keys typed before the answer`() throws {
        let screen = try PseudoTerminal()
        try screen.start(
            [Tool.path, "play", animation, "--loop", "forever"], environment: Self.variables,
            answer: Array("q\u{1B}[?1;2c".utf8))

        #expect(screen.wait() == 0)
    }

    static let ends: [(how: String, signal: Int32, key: String, status: Int32)] = [
        ("q", 0, "q", 0), ("Escape", 0, "\u{1B}", 0), ("Ctrl-C", 0, "\u{3}", -SIGINT), ("SIGINT", SIGINT, "", -SIGINT),
        ("SIGTERM", SIGTERM, "", -SIGTERM), ("SIGHUP", SIGHUP, "", -SIGHUP), ("a crash", SIGSEGV, "", -SIGSEGV),
        ("SIGUSR1", SIGUSR1, "", -SIGUSR1), ("SIGUSR2", SIGUSR2, "", -SIGUSR2), ("SIGALRM", SIGALRM, "", -SIGALRM),
        ("SIGXCPU", SIGXCPU, "", -SIGXCPU), ("a signal of real time", 40, "", -40),
    ]

    @Test(arguments: ends.indices)
    func `restores the terminal in every case`(index: Int) throws {
        let end = Self.ends[index]
        let screen = try PseudoTerminal()
        try screen.start(
            [Tool.path, "play", animation, "--loop", "forever", "--protocol", "blocks"], environment: Self.variables)
        #expect(screen.read { $0.contains("3/3") }, "it does not play")
        let wasCooked = screen.isCooked

        if end.signal > 0 { screen.signal(end.signal) } else { screen.type(end.key) }

        #expect(screen.wait() == end.status, "\(end.how)")
        #expect(!wasCooked)
        #expect(screen.isCooked, "\(end.how)")
        for (taken, given) in [
            ("\u{1B}[?1049h", "\u{1B}[?1049l"), ("\u{1B}[?25l", "\u{1B}[?25h"),
            ("\u{1B}[?7l", "\u{1B}[?7h"),
        ] {
            #expect(screen.text.ranges(of: taken).count == 1)
            #expect(screen.text.ranges(of: given).count == 1, "\(end.how)")
        }
    }

    @Test func `restores the terminal while stopped, and enters it again`() throws {
        let screen = try PseudoTerminal()
        try screen.start(
            [Tool.path, "play", animation, "--loop", "forever", "--protocol", "blocks"], environment: Self.variables)
        #expect(screen.read { $0.contains("3/3") })

        // A session without shell cannot be stopped; it continues at once through the same steps.
        screen.signal(SIGTSTP)
        let came = screen.read { $0.ranges(of: "\u{1B}[?1049h").count == 2 }
        screen.type("q")

        #expect(came)
        #expect(screen.wait() == 0)
        #expect(screen.text.ranges(of: "\u{1B}[?1049l").count == 2)
        #expect(screen.isCooked)
    }

    @Test func `enters the terminal again after an external stop`() throws {
        let screen = try PseudoTerminal()
        try screen.start(
            [Tool.path, "play", animation, "--loop", "forever", "--protocol", "blocks"], environment: Self.variables)
        #expect(screen.read { $0.contains("3/3") })

        screen.signal(SIGSTOP)
        #expect(screen.waitForStop())
        screen.cook()
        screen.signal(SIGCONT)
        let isRaw = screen.read { _ in !screen.isCooked }
        screen.type("q")

        #expect(isRaw, "keys wait for Return")
        #expect(screen.wait() == 0)
        #expect(screen.isCooked)
    }

    @Test func `escapes control sequences in names`() throws {
        let place = TemporaryDirectory()
        let name = "a\u{202E}fig\u{1B}[31m\u{2066}.gif"
        place.write(try #require(readFile(animation)), to: name)
        let screen = try PseudoTerminal(columns: 200)
        try screen.start(
            [Tool.path, "play", place.file(name), "--loop", "1", "--protocol", "ascii"], environment: Self.variables)

        #expect(screen.wait() == 0)
        #expect(screen.text.contains("a\\u{202e}fig\\u{1b}[31m\\u{2066}.gif"))
        #expect(!screen.text.unicodeScalars.contains { $0 == "\u{202E}" || $0 == "\u{2066}" })
    }

    @Test func `ends on a signal even if the terminal accepts no output`() throws {
        let screen = try PseudoTerminal(columns: 200, rows: 80)
        try screen.start(
            [Tool.path, "play", animation, "--loop", "forever", "--protocol", "sixel", "--zoom", "50"],
            environment: Self.variables, answer: Array("\u{1B}[?62;4c".utf8))
        #expect(screen.read { $0.contains("\u{1B}P0;1;0q") })
        // The test stops reading, so that the program soon blocks in a write.
        usleep(500_000)

        screen.signal(SIGTERM)

        #expect(screen.wait(reads: false) == -SIGTERM)
        #expect(screen.isCooked)
    }

    @Test func `redraws when the window changes`() throws {
        let screen = try PseudoTerminal()
        try screen.start([Tool.path, "play", still, "--protocol", "blocks"], environment: Self.variables)
        #expect(screen.read { $0.contains("\u{1B}[24;1H") })

        screen.resize(columns: 30, rows: 10)
        let came = screen.read { $0.contains("\u{1B}[10;1H") }
        screen.type(" ")

        #expect(came)
        #expect(screen.wait() == 0)
    }

    @Test func `plays without keys when standard input is a file`() throws {
        let screen = try PseudoTerminal()
        try screen.start(
            [Tool.path, "play", "-", "--loop", "2", "--json"], environment: Self.variables, input: animation)

        #expect(screen.wait() == 0)
        #expect(screen.text.contains("\"plays\": 2"))
        #expect(!screen.text.contains("\u{1B}[c"), "it asks where it cannot hear")
    }

    @Test func `continues after an unplayable file, and reports it at the end`() throws {
        let screen = try PseudoTerminal()
        try screen.start(
            [Tool.path, "play", "/nowhere.gif", animation, "--loop", "1", "--protocol", "ascii"],
            environment: Self.variables)

        #expect(screen.wait() == 1)
        let after = screen.text.ranges(of: "\u{1B}[?1049l").first.map { screen.text[$0.upperBound...] } ?? ""
        #expect(after.contains("coderhost: /nowhere.gif: there is no such file"))
        #expect(screen.text.contains("3/3"))
    }

    // MARK: Refusals

    @Test func `refuses to write to a pipe`() throws {
        let result = try Tool.run("play", animation)

        #expect(result.status == 64)
        #expect(result.stdout.isEmpty)
        #expect(result.stderr.contains("standard output is not a terminal"))
        #expect(result.stderr.contains("coderhost frames extract"))
    }

    static let mistakes = [
        ["--speed", "0"], ["--speed", "fast"], ["--zoom", "-1"], ["--background", "red"], ["--protocol", "sixl"],
        ["--loop", "0"],
    ]

    @Test(arguments: mistakes)
    func `refuses invalid values`(words: [String]) throws {
        let result = try Tool.run(["play", animation] + words)

        #expect(result.status == 64)
        #expect(result.stderr.contains(words[1]))
    }
}
