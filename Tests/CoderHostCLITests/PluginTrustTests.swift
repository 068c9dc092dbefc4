import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command plugin` {
    /// A home folder with a plugin in a world-writable folder.
    private struct Home {
        let place = TemporaryDirectory()
        var plugins: String { place.file("plugins") }
        var plugin: String { place.file("plugins/libcoder-qoi.so") }
        private let id = "org.example.qoi-plugin"

        init() throws {
            try PluginBuilder.buildQOI(into: place.folder("plugins"))
            try Tool.permit(0o777, plugins)
        }

        func run(_ arguments: String..., more: [String: String?] = [:]) throws -> CommandResult {
            try Tool.run(
                arguments + ["--plugin-dir", plugins], environment: ["HOME": place.path].merging(more) { $1 })
        }

        func status(_ arguments: String..., more: [String: String?] = [:]) throws -> Document {
            let result = try Tool.run(
                ["list", "--json", "--plugin-dir", plugins] + arguments,
                environment: ["HOME": place.path].merging(more) { $1 })
            return try #require(Document(result.stdout)["plugins"].list.first { $0["file"].text == plugin })
        }
    }

    @Test func `trusts a file in any folder, and removes the trust`() throws {
        let home = try Home()
        #expect(try home.status()["status"].text == "untrusted-path")

        let trusted = try home.run("plugin", "trust", home.plugin)

        #expect(trusted.status == 0)
        let hash = try TestSupport.run(["sha256sum", home.plugin]).stdout.prefix(64)
        #expect(
            trusted.stdout
                == "trusted: \(home.plugin) (org.example.qoi-plugin, sha256 \(hash)) in "
                + "\(home.place.path)/.config/coderhost/trust.d/\(hash).trust\n")
        #expect(try home.status()["status"].text == "ready")
        #expect(try home.status()["tier"].text == "user")
        let doctor = try home.run("doctor").stdout
        #expect(doctor.contains("\nTrust (--trust): owned\n  trusted files: \(home.plugin)\n"))

        let taken = try home.run("plugin", "untrust", "org.example.qoi-plugin", "--json")
        #expect(taken.status == 0)
        #expect(Document(taken.stdout)["removed"].text?.hasSuffix("\(hash).trust") == true)
        #expect(try home.status()["status"].text == "untrusted-path")
        #expect(try home.run("plugin", "untrust", home.plugin).status == 66)
    }

    @Test(arguments: ["path", "hash", "id"]) func `removes trust by path, hash or id`(kind: String) throws {
        let home = try Home()
        let hash = Document(try home.run("plugin", "trust", "--json", "org.example.qoi-plugin").stdout)["sha256"].text
        let name = kind == "path" ? home.plugin : kind == "hash" ? try #require(hash) : "org.example.qoi-plugin"

        #expect(try home.run("plugin", "untrust", name).status == 0)
        #expect(try home.status()["status"].text == "untrusted-path")
    }

    @Test func `signs, verifies and trusts keys`() throws {
        let home = try Home()
        let key = home.place.file("release.key")
        let made = try home.run("plugin", "keygen", "-o", key, "--name", "Example", "--expires", "2999-12-31", "--json")
        let id = try #require(Document(made.stdout)["key"].text)
        #expect(id.wholeMatch(of: /[0-9a-f]{16}/) != nil)
        #expect(try TestSupport.run(["stat", "-c", "%a", key, "\(key).pub"]).stdout == "600\n644\n")
        #expect(try home.run("plugin", "keygen", "-o", key).status == 73, "keys are never replaced")

        let signed = try home.run("plugin", "sign", home.plugin, "--key", key)
        #expect(signed.stdout == "signed: \(home.plugin).sig (org.example.qoi-plugin, key \(id))\n")
        let unknown = try home.run("plugin", "verify", home.plugin)
        #expect(unknown.status == 64)
        #expect(unknown.stderr.contains("the key \(id) that signed it is not trusted"))
        #expect(try home.run("plugin", "verify", home.plugin, "--pub", "\(key).pub").status == 0)
        #expect(try home.status()["signature"]["state"].text == "unknown-key")

        #expect(try home.run("plugin", "trust", "\(key).pub").stdout.contains("trusted: key \(id) (Example)"))
        #expect(
            try home.run("plugin", "verify", home.plugin).stdout
                == "valid: \(home.plugin) (org.example.qoi-plugin) is signed by \(id) (Example)\n")
        let plugin = try home.status("--trust", "signed")
        #expect(plugin["status"].text == "ready")
        #expect(plugin["tier"].text == "signed")
        #expect(plugin["signature"]["key"].text == id)
        #expect(try home.run("doctor").stdout.contains("  key \(id) (Example), until 2999-12-31: "))

        #expect(try home.run("plugin", "untrust", "--revoke", id).status == 0)
        #expect(try home.status()["status"].text == "bad-signature")
        #expect(try home.run("plugin", "trust", "\(key).pub").stderr.contains("is revoked"))
        #expect(try home.run("doctor").stdout.contains("  key \(id) (Example), revoked: "))
    }

    @Test func `revokes a key once, and undoes it`() throws {
        let home = try Home()
        let key = home.place.file("k")
        let id = try #require(Document(try home.run("plugin", "keygen", "-o", key, "--json").stdout)["key"].text)
        try #require(try home.run("plugin", "sign", home.plugin, "--key", key).status == 0)
        try #require(try home.run("plugin", "trust", "\(key).pub").status == 0)
        let list = home.place.file(".config/coderhost/trust.d/revoked")
        try #require(writeFile(list, Array("# mine\n8f3a21c07be94d55  # lost\n".utf8)))

        let first = try home.run("plugin", "untrust", "--revoke", id)
        let again = try home.run("plugin", "untrust", "--revoke", id.uppercased())

        #expect(first.stdout == "revoked: key \(id) in \(list)\n")
        #expect(again.status == 0 && again.stdout.hasPrefix("already revoked: key "))
        #expect(readFile(list) == Array("# mine\n8f3a21c07be94d55  # lost\n\(id)\n".utf8))
        #expect(try home.status()["status"].text == "bad-signature")
        #expect(
            try home.run("plugin", "trust", "\(key).pub").stderr.contains("coderhost plugin trust --unrevoke \(id)"))

        let back = try home.run("plugin", "trust", "--unrevoke", "\(key).pub")

        #expect(back.status == 0 && back.stdout.contains("its plugins are trusted again"), "\(back.stderr)")
        #expect(readFile(list) == Array("# mine\n8f3a21c07be94d55  # lost\n".utf8))
        #expect(try home.status()["status"].text == "ready")
        let twice = try home.run("plugin", "trust", "--unrevoke", id)
        #expect(twice.status == 66 && twice.stderr.contains("is not revoked"))
    }

    @Test func `reports a trusted file that is still refused`() throws {
        let home = try Home()
        let stack = try PluginBuilder.build(
            "bad/claims-formats.c", flags: ["-Wl,-z,execstack"], into: home.plugins, named: "libcoder-stack.so")

        let gate = try home.run("plugin", "trust", stack)
        let policy = try home.run("plugin", "trust", home.plugin, "--trust", "signed")

        #expect(gate.status == 69 && gate.stdout.isEmpty)
        #expect(gate.stderr.contains("still not used (unsafe-elf): it asks for an executable stack"), "\(gate.stderr)")
        #expect(gate.stderr.contains("  try: link it with -z noexecstack"))
        #expect(policy.status == 69 && policy.stderr.contains("still not used (unsigned)"))
    }

    @Test func `warns about a trusted file outside the plugin folders`() throws {
        let home = try Home()

        let result = try Tool.run("plugin", "trust", home.plugin, environment: ["HOME": home.place.path])

        #expect(result.status == 0 && result.lines.count == 1)
        #expect(
            result.stderr.hasPrefix("coderhost: warning: \(home.plugins) is not a plugin folder; "), "\(result.stderr)")
    }

    @Test func `distinguishes public and private keys`() throws {
        let home = try Home()
        let key = home.place.file("release.key")
        let id = try #require(Document(try home.run("plugin", "keygen", "-o", key, "--json").stdout)["key"].text)

        let result = try home.run("plugin", "sign", home.plugin, "--key", "\(key).pub")
        try #require(try TestSupport.run(["mv", key, home.place.file("elsewhere")]).status == 0)
        let alone = try home.run("plugin", "sign", home.plugin, "--key", "\(key).pub")

        #expect(result.status == 64)
        #expect(
            result.stderr.contains("this is the public key \(id); signing needs the private key")
        )
        #expect(result.stderr.contains("  try: --key \(key)\n"))
        #expect(alone.stderr.contains("  try: pass the file of plugin keygen -o, without .pub"))
    }

    @Test func `detects changes after signing`() throws {
        let home = try Home()
        let key = home.place.file("k")
        try #require(try home.run("plugin", "keygen", "-o", key).status == 0)
        try #require(try home.run("plugin", "sign", home.plugin, "--key", key).status == 0)
        var bytes = try #require(readFile(home.plugin))
        bytes[bytes.count - 1] ^= 1
        try #require(writeFile(home.plugin, bytes))

        let result = try home.run("plugin", "verify", home.plugin, "--pub", "\(key).pub", "--json")

        #expect(result.status == 64)
        #expect(
            Document(result.stdout)["error"]["message"].text?.contains("the file differs from the signed file")
                == true)
        #expect(try home.status()["status"].text == "bad-signature")
    }

    @Test func `disables and enables plugins`() throws {
        let home = try Home()
        try Tool.permit(0o755, home.plugins)

        let off = try home.run("plugin", "disable", "org.example.qoi-plugin")

        let settings = home.place.file(".config/coderhost/plugins.d/org.example.qoi-plugin.conf")
        #expect(off.stdout == "org.example.qoi-plugin is disabled in \(settings)\n")
        #expect(readFile(settings) == Array("enabled = no\n".utf8))
        #expect(try home.status()["status"].text == "disabled")
        #expect(try home.run("plugin", "enable", "libcoder-qoi.so", "--json").stdout.contains(#""enabled": true"#))
        #expect(try home.status()["status"].text == "ready")
    }

    @Test func `names the command that enables a disabled plugin`() throws {
        let home = try Home()
        try Tool.permit(0o755, home.plugins)
        let id = "org.coderhost.gif-plugin"
        let remedy = "try: coderhost plugin enable \(id)"
        let image = Repository.fixture("images/three-frames.gif")
        try #require(try home.run("plugin", "disable", id).status == 0)

        let doctor = try home.run("doctor").stdout
        let info = try home.run("info", image)
        let forced = try home.run("info", image, "--coder", "org.coderhost.gif")
        let written = try home.run("convert", image, "-o", home.place.file("t.gif"))

        #expect(doctor.contains("disabled: by ") && doctor.contains("    \(remedy)\n"), "\(doctor)")
        #expect(!doctor.contains("\n    libcoder-gif.so"))
        for result in [info, forced, written] {
            #expect(result.status == 69)
            #expect(result.stderr.contains("is disabled: by ") && result.stderr.contains("  \(remedy)\n"))
        }
    }

    @Test(arguments: ["t.jpg", "t.jpeg", "t.JPG"])
    func `names the disabled plugin of an output by each of its extensions`(name: String) throws {
        let home = try Home()
        try Tool.permit(0o755, home.plugins)
        let id = "org.coderhost.jpeg-plugin"
        try #require(try home.run("plugin", "disable", id).status == 0)

        let result = try home.run("convert", Repository.fixture("images/f.png"), "-o", home.place.file(name))

        #expect(result.status == 69)
        #expect(result.stderr.contains("  try: coderhost plugin enable \(id)\n"), "\(result.stderr)")
    }

    @Test(arguments: ["enable", "disable"])
    func `changes the settings of all users only with --system`(verb: String) throws {
        let result = try Tool.run(
            "plugin", verb, "org.coderhost.gif-plugin", environment: ["HOME": "", "XDG_CONFIG_HOME": nil])

        #expect(result.status == 64 && result.stdout.isEmpty)
        #expect(result.stderr.contains("no folder for the user's settings"), "\(result.stderr)")
        #expect(result.stderr.contains("  try: set HOME, or use --system"), "\(result.stderr)")
        #expect(readFile("/etc/coderhost/plugins.d/org.coderhost.gif-plugin.conf") == nil)
    }

    @Test(
        arguments: [
            (["plugin"], 64, "no subcommand", "coderhost plugin --help"),
            (["plugin", "tryst"], 64, "unknown subcommand \"tryst\"", "did you mean plugin trust?"),
            (["plugin", "trust"], 64, "needs a FILE, an ID or a KEY.pub", "--help"),
            (
                ["plugin", "trust", "/nowhere/libcoder-x.so"], 66, "cannot read the file: No such file",
                "check its name"
            ),
            (["plugin", "trust", "/dev/null"], 64, "not a regular file", "pass a libcoder-*.so"),
            (["plugin", "trust", "/bin/true"], 64, "not a plugin", "pass a libcoder-*.so"),
            (
                ["plugin", "trust", "org.example.qoi-plugim"], 66, "no such file or plugin",
                "did you mean org.example.qoi-plugin?"
            ),
            (["plugin", "trust", "/etc/passwd.pub"], 66, "the file does not exist", "check the name"),
            (["plugin", "sign", "x"], 64, "needs --key KEY", "keygen"),
            (["plugin", "sign", "x", "--key", "/nowhere/k"], 66, "the key does not exist", "keygen"),
            (
                ["plugin", "sign", "x", "--key", "/etc/passwd"], 64, "other users can read this private key",
                "chmod 600"
            ),
            (["plugin", "keygen"], 64, "needs -o KEY", "--help"),
            (["plugin", "keygen", "-o", "/nowhere/k"], 73, "cannot write the key", "check the folder"),
            (
                ["plugin", "keygen", "-o", "/nowhere/k", "--expires", "2026-02-30"], 64, "expected a date such as",
                "--help"
            ),
            (["plugin", "keygen", "--key", "x"], 64, "--key is an option of plugin sign", "plugin keygen --help"),
            (["plugin", "trust", "--unrevoke", "x"], 64, "needs the 16 digits", "omit --unrevoke"),
            (
                ["plugin", "check", "x.so", "--effort", "ful"], 64, "--effort is quick or full, not \"ful\"",
                "--effort full?"
            ),
            (["plugin", "check", "x.so", "--timeout", "0"], 64, "from 1 to 3600, not \"0\"", "--timeout 60"),
            (["plugin", "untrust", "--revoke", "x"], 64, "needs the 16 digits", "omit --revoke"),
            (["plugin", "disable", "org.example.nothing"], 66, "no such file or plugin", "installed plugins: "),
            (["list", "--trust", "owner"], 64, "expected any, owned, signed", "did you mean owned?"),
            (["list", "--hash", "--formats"], 64, "--hash cannot be combined with", "--help"),
        ] as [([String], Int32, String, String)])
    func `reports the error and a remedy`(words: [String], status: Int32, message: String, hint: String) throws {
        let home = try Home()

        let result = try Tool.run(
            words + (words.count > 1 ? ["--plugin-dir", home.plugins] : []), environment: ["HOME": home.place.path])

        #expect(result.status == status, "\(result.stderr)")
        #expect(result.stderr.contains(message), "\(result.stderr)")
        #expect(result.stderr.contains("  try: ") && result.stderr.contains(hint), "\(result.stderr)")
        #expect(result.stdout.isEmpty)
    }

    @Test func `continues with the next operand`() throws {
        let home = try Home()

        let result = try home.run("plugin", "trust", "/dev/null", home.plugin)

        #expect(result.status == 1)
        #expect(result.lines.count == 1)
    }

    // MARK: --trust

    @Test func `is not needed with the policy any`() throws {
        let home = try Home()

        let plugin = try home.status("--trust", "any")

        #expect(plugin["status"].text == "ready")
        #expect(plugin["tier"].text == "foreign")
        let image = home.place.file("f.qoi")
        #expect(
            try home.run("convert", "--trust", "any", Repository.fixture("images/f.png"), "-o", image).status == 0)
        // The bundled plugin reads the format too.
        #expect(try home.run("info", "--coder", "org.example.qoi", image).status != 0)
        #expect(try home.run("info", "--trust=any", "--coder", "org.example.qoi", image).status == 0)
    }

    @Test func `reads the policy from the environment, which cannot weaken it for root`() throws {
        let home = try Home()

        #expect(
            try home.status(more: ["CODERHOST_TRUST": "any"])["status"].text
                == (geteuid() == 0 ? "untrusted-path" : "ready"))
        #expect(try home.status(more: ["CODERHOST_TRUST": "signed"])["status"].text == "unsigned")
        #expect(try home.status("--trust", "any", more: ["CODERHOST_TRUST": "signed"])["status"].text == "ready")
        let wrong = try home.run("list", more: ["CODERHOST_TRUST": "sined"])
        #expect(wrong.status == 64 && wrong.stderr.contains("invalid CODERHOST_TRUST value \"sined\""))
    }

    // MARK: list --hash

    @Test func `prints the hash of every file on request`() throws {
        let home = try Home()
        let hash = String(try TestSupport.run(["sha256sum", home.plugin]).stdout.prefix(64))

        #expect(try home.status()["sha256"].exists == false)
        #expect(try home.status("--hash")["sha256"].text == hash)
        #expect(try home.run("list", "--hash").stdout.contains("\n\(hash)  \(home.plugin)\n"))
    }
}
