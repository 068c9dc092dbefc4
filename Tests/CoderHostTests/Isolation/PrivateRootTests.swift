import Glibc
import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// What a plugin finds in the file system of a worker.
@Suite struct `The file system of a worker` {
    @Test func `has the libraries that links lead to, from folder to folder`() throws {
        let (plugins, first, second, last) = (
            TemporaryDirectory(), TemporaryDirectory(), TemporaryDirectory(), TemporaryDirectory()
        )
        let name = "libcoderhost-linked.so.1"
        try PluginBuilder.build(
            "bad/absent.c", flags: ["-Wl,-soname,\(name)", "-fvisibility=default"], into: last.path, named: name)
        // As with /etc/alternatives: the folder in the middle has nothing but the link.
        try #require(unsafe symlink(last.file(name), second.file(name)) == 0)
        try #require(unsafe symlink(second.file(name), first.file(name)) == 0)
        try PluginBuilder.build(
            "bad/missing-library.c",
            flags: ["-Wl,--no-as-needed", first.file(name), "-Wl,-rpath,\(first.path)"], into: plugins.path)
        let host = testHost(plugins.path, isolation: IsolationPolicy(.require, needed: []))

        #expect(try host.manager.decode(badPicture).coder == "org.example.bad")
    }

    /// What a plugin calls a library may be anything that its user can read.
    @Test(arguments: ["beside it", "needed by path", "needed by name"])
    func `has no file that lies beside the plugin or beside what it calls a library`(way: String) throws {
        let (plugins, home) = (TemporaryDirectory(), TemporaryDirectory())
        let place = way == "beside it" ? plugins : home
        let secret = place.write(Array("secret".utf8), to: "id")
        var flags = ["-DSECRET=\"\(secret)\""]
        if way != "beside it" {
            try PluginBuilder.build(
                "bad/absent.c", flags: ["-Wl,-soname,tool"], into: home.path, named: "tool")
            let library = way == "needed by path" ? home.file("tool") : "tool"
            try shell("patchelf", "--set-soname", library, home.file("tool"))
            flags += ["-Wl,--no-as-needed", home.file("tool"), "-Wl,-rpath,\(home.path)"]
        }
        try PluginBuilder.build("isolation/reads-a-file.c", flags: flags, into: plugins.path)
        let host = testHost(plugins.path, isolation: IsolationPolicy(.require, needed: []))

        let pixels = try host.manager.decode(badPicture).pixels.packed
        #expect(pixels.first == 0)
        // The same plugin sees it where there is no sandbox.
        let free = testHost(plugins.path, isolation: IsolationPolicy(.off))
        #expect(try free.manager.decode(badPicture).pixels.packed.first == 1)
    }
}
