import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// `isolation.required` in a manifest.
@Suite(.timeLimit(.minutes(40))) struct `A plugin that requires isolation` {
    static let flags = [#"-DMANIFEST_ISOLATION="{\"required\": true}""#]

    private func folder(_ more: String...) throws -> TemporaryDirectory {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", Self.flags + more, into: folder)
        return folder
    }

    @Test(arguments: [
        (IsolationPolicy.Mode.auto, IsolationReport.Place.worker), (.require, .worker), (.off, .inProcess),
    ])
    func `runs in a worker unless isolation is off`(
        mode: IsolationPolicy.Mode, place: IsolationReport.Place
    ) throws {
        let folder = try folder()
        let host = testHost(folder.path, isolation: IsolationPolicy(mode, needed: []))

        let session = try host.manager.openSession(badImage)

        #expect(session.isolation?.place == place)
        #expect(try session.decodeImage().size == PixelSize(2, 2))
    }

    /// A file in the installation folder, or in another folder.
    @Test(
        arguments: [ImageSource.Origin.local, .memory, .network, nil], [true, false])
    func `never runs in this process, bundled or not`(
        origin: ImageSource.Origin?, isInstalled: Bool
    ) throws {
        let folder = try folder()
        let host = testHost(folder.path)
        var record = try #require(host.plugins.first)
        record.examination.isInstalled = isInstalled
        func choice(_ mode: IsolationPolicy.Mode) -> Isolation.Choice {
            Isolation(IsolationPolicy(mode), Quarantine(folder: nil), catalogue: { [] })
                .choice(record, origin, .default)
        }

        #expect(choice(.auto) == .worker("a plugin that requires isolation"))
        #expect(choice(.require) == .worker("isolation is required"))
        #expect(choice(.off) == .inProcess("isolation is off"))
    }

    @Test func `differs from a bundled plugin that does not require it`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("claims-formats", into: folder)
        var record = try #require(testHost(folder.path).plugins.first)
        record.examination.isInstalled = true

        let choice = Isolation(IsolationPolicy(.auto), Quarantine(folder: nil), catalogue: { [] })
            .choice(record, .local, .default)

        #expect(choice == .inProcess("a bundled coder, and no bytes from a network"))
    }

    @Test(arguments: [IsolationPolicy.Mode.auto, .require])
    func `is refused where there is no sandbox`(mode: IsolationPolicy.Mode) throws {
        let folder = try folder("-DPRIORITY=900")
        try BuiltPlugin.put("claims-formats", ["-DNAME=other"], into: folder, as: "libcoder-other.so")
        var policy = IsolationPolicy(mode, needed: [])
        policy.workerPath = folder.file("no-worker")
        let host = testHost(folder.path, isolation: policy)

        for _ in 0..<2 {
            let error = #expect(throws: CoderError.self) { try host.manager.decode(badImage) }
            #expect(error?.code == .isolationUnavailable)
            #expect(error?.coder == "org.example.bad")
            #expect(error?.message.contains("no sandbox: ") == true, "\(error as Any)")
            #expect(error?.hint != nil)
        }
    }

    @Test func `does not prevent others from running without a sandbox`() throws {
        let folder = try folder()
        try BuiltPlugin.put("claims-formats", ["-DNAME=other"], into: folder, as: "libcoder-other.so")
        var policy = IsolationPolicy(.auto, needed: [])
        policy.workerPath = folder.file("no-worker")
        let manager = testHost(folder.path, isolation: policy).manager

        let place = try manager.withSession(badImage, forcing: "org.example.other") { session in
            session.isolation?.place
        }

        #expect(place == .inProcess)
    }

    @Test func `reports its name, the reason and the remedy if auto finds no sandbox`() throws {
        let folder = try folder()
        var policy = IsolationPolicy(.auto, needed: [])
        policy.workerPath = folder.file("no-worker")

        let error = #expect(throws: CoderError.self) {
            try testHost(folder.path, isolation: policy).manager.decode(badImage)
        }

        let start = "libcoder-claims-formats.so requires isolation: no sandbox: "
        #expect(error?.message.hasPrefix(start) == true, "\(error as Any)")
        #expect(error?.message.contains("no-worker") == true)
        #expect(error?.hint?.contains("--isolation off runs it without a sandbox") == true)
    }

    @Test(arguments: ["1", "\"yes\"", "[]"]) func `declares that with true or false`(value: String) throws {
        let text =
            #"{"schema": 1, "plugin": {"id": "a", "version": "1"}, "isolation": {"required": "# + value
            + #"}, "abi": {"major": 1, "minor_built": 0, "minor_needed": 0}, "coders": []}"#

        let failure = #expect(throws: PluginManifest.Failure.self) { try PluginManifest(json: Array(text.utf8)) }

        #expect(failure?.message == "isolation.required is neither true nor false")
    }
}
