import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// Choices of the application about the coders of plugins; two bundled coders read and write AVIF.
@Suite struct `Run-time choices of coders` {
    private let manager = testHost(Repository.products).manager
    private let avif = ImageSource(Fixture.named("images/f.avif").bytes)
    private let first = "org.coderhost.avif"
    private let second = "org.coderhost.heif-avif"

    /// The coder of HEIC claims all files with the brand of still images.
    private let third = "org.coderhost.heif"

    private func decoders() -> [String] {
        manager.candidates(for: avif).map(\.descriptor.id).filter { $0 != third }
    }

    private func encoders() -> [String] { manager.encoders(for: "avif").map(\.descriptor.id) }

    @Test func `change the order of coders, and changing it back restores it`() throws {
        #expect(decoders() == [first, second] && encoders() == [first, second])

        manager.preferredCoders = ["org.example.unknown", second]

        #expect(decoders() == [second, first] && encoders() == [second, first])
        #expect(try manager.decode(avif).coder == second)
        #expect(manager.candidates(for: avif)[0].explanation.hasPrefix("preferred at run time, place 2"))
        manager.preferredCoders = [first, second]
        #expect(decoders() == [first, second])
        manager.preferredCoders = []
        #expect(decoders() == [first, second])
    }

    @Test func `place a plugin's coder before an added one`() throws {
        manager.addCoder(ScriptedCoder("mine", signature: Array("GIF8".utf8), priority: 1))
        let gif = ImageSource(Fixture.named("images/f.gif").bytes)
        #expect(manager.candidates(for: gif).map(\.descriptor.id) == ["mine", "org.coderhost.gif"])

        manager.preferredCoders = ["org.coderhost.gif"]

        #expect(manager.candidates(for: gif).map(\.descriptor.id) == ["org.coderhost.gif", "mine"])
    }

    @Test func `switch a coder off, for decoding and encoding`() throws {
        manager.disabledCoders = [first]
        #expect(decoders() == [second] && encoders() == [second])
        #expect(try manager.decode(avif).coder == second)

        manager.disabledCoders = [first, second, third]
        #expect(!manager.canDecode(avif) && !manager.canEncode(to: "avif"))
        let error = #expect(throws: CoderError.self) { try manager.decode(avif) }
        #expect(error?.code == .noCoder && error?.message.hasPrefix("no usable coder for ") == true)
        #expect(error?.attempts.first?.hasSuffix("is disabled by the application") == true)
        let forced = #expect(throws: CoderError.self) {
            try manager.withSession(avif, forcing: first) { _ throws(CoderError) in }
        }
        #expect(forced?.attempts == ["\(first) is disabled by the application"])

        manager.disabledCoders = []
        #expect(decoders() == [first, second])
    }

    @Test func `leave open sessions alone`() throws {
        let session = try manager.openSession(avif)
        manager.disabledCoders = [first]
        #expect(try session.decodeImage().size == session.info.size)
    }

    @Test func `select the encoder of one call`() throws {
        let image = try manager.decode(ImageSource(Fixture.named("images/f.png").bytes))
        for id in [first, second] {
            var options = EncodeOptions()
            options.encoder = id
            let report = try manager.encode(image, to: "avif", options, into: MemorySink())
            #expect(report.coder == id)
        }
    }

    @Test(arguments: ["org.coderhost.png", "org.coderhost.avi", ""])
    func `report an encoder that does not write the format`(id: String) throws {
        let image = try manager.decode(ImageSource(Fixture.named("images/f.png").bytes))
        var options = EncodeOptions()
        options.encoder = id
        let sink = MemorySink()

        let error = #expect(throws: CoderError.self) { try manager.encode(image, to: "avif", options, into: sink) }

        #expect(error?.code == .noCoder && error?.message == "there is no usable encoder \(id) for avif")
        #expect(error?.hint?.contains("encoders of avif: \(first), \(second)") == true, "\(error?.hint ?? "")")
        #expect(sink.bytes.isEmpty)
    }

    @Test func `select the encoder of an animation`() throws {
        let animation = try AnimatedImage(
            ImageSource(Fixture.named("images/three-frames.gif").bytes), manager: manager)
        var options = EncodeOptions()
        options.encoder = "org.coderhost.gif"
        #expect(try manager.encode(animation, to: "gif", options, into: MemorySink()).coder == "org.coderhost.gif")
        options.encoder = "org.coderhost.png"
        let error = #expect(throws: CoderError.self) {
            try manager.encode(animation, to: "gif", options, into: MemorySink())
        }
        #expect(error?.code == .noCoder)
    }
}
