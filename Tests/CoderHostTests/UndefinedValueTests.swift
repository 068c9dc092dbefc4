import CoderHost
import ImageModel
import TestSupport
import Testing

/// Plugins that return values which the contract does not define, in the host's process and in a worker.
@Suite(.timeLimit(.minutes(40))) struct `A value that the contract does not define` {
    private static let policies = [IsolationPolicy(.off), IsolationPolicy(.require, needed: [])]

    private func host(_ number: Int, _ folder: TemporaryDirectory, _ policy: Int) throws -> CoderHost {
        try BuiltPlugin.put("undefined-values", ["-DCASE=\(number)"], into: folder)
        return testHost(folder.path, Repository.products, isolation: Self.policies[policy])
    }

    private static let refused: [(number: Int, code: CoderError.Code, says: String)] = [
        (1, .pluginFault, "status 17 from decode"), (2, .pluginFault, "status 1 from decode"),
        (3, .pluginFault, "status 17 from read_header"), (4, .pluginFault, "status 3 from next_frame"),
        (5, .pluginFault, "set_source"), (6, .pluginFault, "open"),
        (7, .unsupportedFeature, "cpi_image_info.flags"), (8, .unsupportedFeature, "cpi_color.reserved[1]"),
        (9, .unsupportedFeature, "cpi_color.flags"), (10, .unsupportedFeature, "cpi_color.reserved[0]"),
        (11, .unsupportedFeature, "cpi_frame_info.flags"), (12, .unsupportedFeature, "cpi_frame_info.reserved"),
        (13, .unsupportedFeature, "cpi_format_offer.flags"), (14, .unsupportedFeature, "cpi_format_offer.reserved"),
        (15, .unsupportedFeature, "channels 99, numeric 98"), (16, .unsupportedFeature, "pixel format"),
        (17, .pluginFault, "blend 9"), (18, .pluginFault, "disposal 9"), (19, .pluginFault, "loop_kind 9"),
        (20, .pluginFault, "density_unit 9"), (24, .pluginFault, "orientation 9"),
        (23, .corrupt, "this plugin answers"),
    ]

    @Test(arguments: refused.indices, policies.indices)
    func `causes an error that names it`(index: Int, policy: Int) throws {
        let folder = TemporaryDirectory()
        let (number, code, says) = Self.refused[index]
        let host = try host(number, folder, policy)

        let error = try #require(#expect(throws: CoderError.self) { try host.manager.decode(badImage) })

        #expect(error.code == code)
        #expect(error.message.contains(says), "\(error.message)")
    }

    @Test(arguments: policies.indices) func `in the native format leaves the offered formats`(policy: Int)
        throws
    {
        let folder = TemporaryDirectory()
        let image = try host(21, folder, policy).manager.decode(badImage)
        #expect(image.info.nativeFormat == .rgb8)
        #expect(image.pixels.packed.starts(with: [255, 0, 0]))
    }

    @Test(arguments: policies.indices) func `for the kind of metadata is refused with its name`(policy: Int) throws {
        let folder = TemporaryDirectory()
        try PluginBuilder.build(
            "faulty/none.c", flags: ["-DBLOB_BYTES=8", "-DBLOB_KIND=99"], into: folder.path, named: "libcoder-blob.so")
        let host = testHost(folder.path, Repository.products, isolation: Self.policies[policy])
        let source = ImageSource(Array("flt!".utf8) + [0, 1, 0, 1, 3, 1, 2, 3], name: "a.flt")

        let error = #expect(throws: CoderError.self) {
            try host.manager.withSession(source) { session throws(CoderError) in _ = try session.metadata() }
        }

        #expect(error?.code == .pluginFault && error?.message.contains("cpi_blob.kind 99") == true, "\(error as Any)")
    }

    @Test func `for the concurrency means one thread at a time`() throws {
        let folder = TemporaryDirectory()
        let host = try host(22, folder, 0)
        let right = RelaxedCounter()
        runInParallel(4, threads: 4) { _ in
            if (try? host.manager.decode(badImage)) != nil { right.add() }
        }
        #expect(right.count == 4)
    }

    @Test(arguments: policies.indices) func `is not caused by a frame left of the canvas`(policy: Int) throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("answers", ["-DANSWER=CPI_OK", "-DCHANGE_FRAME=frame->rect.x = -1;"], into: folder)
        let host = testHost(folder.path, Repository.products, isolation: Self.policies[policy])

        let image = try host.manager.decode(badImage)

        #expect(image.pixels.format == .rgba8)
        let row: [UInt8] = [255, 0, 0, 255, 0, 0, 0, 0]
        #expect(image.pixels.packed == row + row)
    }
}
