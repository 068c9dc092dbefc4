import Glibc
import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// The files that a plugin finds in a worker.
@Suite struct `The file system of a worker` {
    @Test func `has libraries behind links through several folders`() throws {
        let (plugins, first, second, last) = (
            TemporaryDirectory(), TemporaryDirectory(), TemporaryDirectory(), TemporaryDirectory()
        )
        let name = "libcoderhost-linked.so.1"
        try PluginBuilder.build(
            "bad/absent.c", flags: ["-Wl,-soname,\(name)", "-fvisibility=default"], into: last.path, named: name)
        // As with /etc/alternatives: the middle folder contains only the link.
        try #require(unsafe symlink(last.file(name), second.file(name)) == 0)
        try #require(unsafe symlink(second.file(name), first.file(name)) == 0)
        try PluginBuilder.build(
            "bad/missing-library.c",
            flags: ["-Wl,--no-as-needed", first.file(name), "-Wl,-rpath,\(first.path)"], into: plugins.path)
        let host = testHost(plugins.path, isolation: IsolationPolicy(.require, needed: []))

        #expect(try host.manager.decode(badImage).coder == "org.example.bad")
    }

    /// A plugin may name any readable file as a library.
    @Test(arguments: ["beside it", "needed by path", "needed by name"])
    func `has no other file from the folder of the plugin or of a library`(way: String) throws {
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

        let pixels = try host.manager.decode(badImage).pixels.packed
        #expect(pixels.first == 0)
        // The same plugin sees it without a sandbox.
        let free = testHost(plugins.path, isolation: IsolationPolicy(.off))
        #expect(try free.manager.decode(badImage).pixels.packed.first == 1)
    }
}
