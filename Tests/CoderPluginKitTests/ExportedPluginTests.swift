import CCoderPlugin
import Testing

@Suite struct `Exported plugin` {
    @Test func `answers the entry call with the author's plugin`() throws {
        let plugin = try #require(FakeHost.plugin())

        #expect(plugin.id == "org.example.toy-plugin")
        #expect(plugin.version == "1.2.3")
        #expect(plugin.minors == [0, 0])
        #expect(plugin.concurrency == CPI_CONCURRENCY_SERIAL)
        #expect(plugin.count == 2)
        #expect(plugin.coderIDs == ["org.example.still", "org.example.animation"])
    }

    @Test func `derives roles and tables from the types`() throws {
        let plugin = try #require(FakeHost.plugin())

        // decode 1, encode 2, animation 4, region 64, items 256; see cpi/plugin.h.
        #expect(plugin.roles(0) == UInt32(1 + 2 + 64 + 256 + 2048))
        #expect(plugin.roles(1) == UInt32(1 + 4))
        #expect(plugin.hasEncoder(0) && !plugin.hasEncoder(1))
    }

    @Test func `accepts a future host`() {
        #expect(FakeHost.plugin(minor: 77) != nil)
    }

    @Test func `refuses to enter without a host`() {
        #expect(FakeHost.statusOfEntryWithoutHost(error: SizedStruct()) == CPI_MISUSE)
    }

    @Test(arguments: ["", "coderhost.items/2", "coderhost.items/", "coderhost.items/11", "\u{7F}\u{FF}"])
    func `returns NULL for an unknown id`(id: String) throws {
        let decoder = DecoderProbe()
        let encoder = EncoderProbe(FakeSink())
        let plugin = try #require(FakeHost.plugin())

        #expect(!plugin.knows(id) && !decoder.knows(id) && !encoder.knows(id))
    }

    @Test func `returns the items extension only if the decoder has it`() throws {
        let plugin = try #require(FakeHost.plugin())

        #expect(DecoderProbe(coder: 0).knows("coderhost.items/1"))
        #expect(!DecoderProbe(coder: 1).knows("coderhost.items/1"))
        #expect(!plugin.knows("coderhost.items/1"))
    }
}
