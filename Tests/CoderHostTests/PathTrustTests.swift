import CoderHost
import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Trust in places` {
    struct Place: Sendable, CustomTestStringConvertible {
        var command: [String]
        /// The path below the temporary folder; empty for the folder itself.
        var component: String
        var reason: String
        var remedy: String
        var testDescription: String { (command + [component]).joined(separator: " ") }
    }

    static let doubtful = [
        Place(
            command: ["chmod", "g+w"], component: "outer/plugins", reason: "its group can write", remedy: "chmod go-w"),
        Place(
            command: ["chmod", "o+w"], component: "outer/plugins", reason: "any user can write", remedy: "chmod go-w"),
        Place(
            command: ["chmod", "1777"], component: "outer/plugins", reason: "any user can write",
            remedy: "move the plugin into a folder of your own"),
        Place(command: ["chmod", "g+w"], component: "outer", reason: "its group can write", remedy: "chmod go-w"),
        Place(
            command: ["chmod", "o+w"], component: "outer/plugins/libcoder-a.so", reason: "any user can write",
            remedy: "chmod go-w"),
        Place(
            command: ["chmod", "u+s"], component: "outer/plugins/libcoder-a.so", reason: "set-user-ID",
            remedy: "chmod ug-s"),
        Place(
            command: ["chmod", "g+s"], component: "outer/plugins/libcoder-a.so", reason: "set-group-ID",
            remedy: "chmod ug-s"),
    ]

    @Test(arguments: doubtful) func `is lost if another user could place code`(place: Place) throws {
        let folder = try plugin()
        let component = folder.file(place.component)
        _ = try run(place.command + [component])
        let host = testHost(folder.file("outer/plugins"))

        let status = try #require(host.plugins.first).status

        #expect(status.state == .untrustedPath)
        #expect(status.reason.hasPrefix("\(component): "), "\(status.reason)")
        #expect(status.reason.contains(place.reason))
        #expect(status.remedy == place.remedy || status.remedy == "\(place.remedy) \(component)")
        #expect(!host.manager.canDecode(badImage))
    }

    @Test func `is restored by the remedy`() throws {
        let folder = try plugin()
        try shell("chmod", "777", folder.file("outer"))
        let host = testHost(folder.file("outer/plugins"), follows: false)
        let remedy = try #require(host.plugins.first).status.remedy

        try shell("sh", "-c", remedy)

        #expect(testHost(folder.file("outer/plugins")).plugins.map(\.status.state) == [.ready])
    }

    @Test func `is not lost below a sticky folder`() throws {
        let folder = try plugin()
        try shell("chmod", "1777", folder.file("outer"))

        #expect(testHost(folder.file("outer/plugins")).plugins.map(\.status.state) == [.ready])
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root gives files away"), arguments: ["outer", "outer/plugins/libcoder-a.so"])
    func `is lost if it belongs to another user`(component: String) throws {
        let folder = try plugin()
        try shell("chown", "12345", folder.file(component))

        let status = try #require(testHost(folder.file("outer/plugins")).plugins.first).status

        #expect(status.state == .untrustedPath)
        #expect(status.reason.contains("\(folder.file(component)): it belongs to user 12345"))
        #expect(status.remedy.hasPrefix("check its origin"))
    }

    @Test func `follows a link to the folder of the file`() throws {
        let folder = try plugin()
        try shell("chmod", "o+w", folder.file("outer/plugins"))
        folder.folder("clean")
        try shell("ln", "-s", folder.file("outer/plugins/libcoder-a.so"), folder.file("clean/libcoder-a.so"))

        let status = try #require(testHost(folder.file("clean")).plugins.first).status

        #expect(status.state == .untrustedPath)
        #expect(status.reason.hasPrefix(folder.file("outer/plugins") + ":"))
    }

    @Test func `quotes a name for the shell`() throws {
        let folder = TemporaryDirectory()
        let name = "it's a folder; $(true)"
        folder.folder(name)
        folder.write(try BuiltPlugin.bytes("claims-formats"), to: "\(name)/libcoder-a.so")
        try shell("chmod", "777", folder.file(name))
        let remedy = try #require(testHost(folder.file(name)).plugins.first).status.remedy

        try shell("sh", "-c", remedy)

        #expect(testHost(folder.file(name)).plugins.map(\.status.state) == [.ready])
    }

    /// Creates `outer/plugins/libcoder-a.so` in a new folder.
    private func plugin() throws -> TemporaryDirectory {
        let folder = TemporaryDirectory()
        folder.folder("outer")
        folder.folder("outer/plugins")
        folder.write(try BuiltPlugin.bytes("claims-formats"), to: "outer/plugins/libcoder-a.so")
        return folder
    }
}
