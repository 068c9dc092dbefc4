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
}
