@testable import CoderHost
@testable import PluginCatalogue
import TestSupport
import Testing

@Suite struct `The settings of a plugin` {
    @Test(
        arguments: [
            (nil, "enabled = no\n"),
            ("", "enabled = no\n"),
            ("priority = 7\n", "priority = 7\nenabled = no\n"),
            ("# why\nenabled = yes # for now\n\npriority=7", "# why\nenabled = no # for now\n\npriority=7\n"),
            (" Enabled=1\nENABLED = on\n", "enabled = no\nenabled = no\n"),
            ("#enabled = yes\nenabled\nfuture = x y\n", "#enabled = yes\nenabled\nfuture = x y\nenabled = no\n"),
        ] as [(String?, String)]) func `keep everything except the changed value`(before: String?, after: String) throws
    {
        let folder = TemporaryDirectory()
        if let before { folder.write(Array(before.utf8), to: "org.example.x.conf") }

        let path = try Administration.write(enabled: false, plugin: "org.example.x", in: [folder.path])

        #expect(path == folder.file("org.example.x.conf"))
        #expect(String(decoding: try #require(readFile(path)), as: UTF8.self) == after)
        #expect(!Administration.of(plugin: "org.example.x", in: [folder.path]).isEnabled)
        _ = try Administration.write(enabled: true, plugin: "org.example.x", in: [folder.path])
        #expect(Administration.of(plugin: "org.example.x", in: [folder.path]).isEnabled)
    }

    @Test func `of the system are copied to the user's`() throws {
        let (user, system) = (TemporaryDirectory(), TemporaryDirectory())
        system.write(Array("enabled = no\npriority = 300\n".utf8), to: "x.conf")

        let path = try Administration.write(enabled: true, plugin: "x", in: [user.file("new/plugins.d"), system.path])

        #expect(readFile(path) == Array("enabled = yes\npriority = 300\n".utf8))
        #expect(readFile(system.file("x.conf")) == Array("enabled = no\npriority = 300\n".utf8))
    }

    @Test func `of all users are written to the system's folder, those of the user to the first one`() {
        let search = PluginSearch(
            directories: [], administrationDirectories: ["/user", "/system"], trustDirectories: [])

        #expect(search.administrationFolders(forAllUsers: true) == ["/system"])
        #expect(search.administrationFolders(forAllUsers: false) == ["/user", "/system"])
    }

    @Test func `that are a link stay a link`() throws {
        let folder = TemporaryDirectory()
        let real = folder.write(Array("priority = 1\n".utf8), to: "real")
        _ = try run(["ln", "-s", real, folder.file("x.conf")])

        _ = try Administration.write(enabled: false, plugin: "x", in: [folder.path])

        #expect(readFile(real) == Array("priority = 1\nenabled = no\n".utf8))
        #expect(linkTarget(folder.file("x.conf")) == real)
    }
}
