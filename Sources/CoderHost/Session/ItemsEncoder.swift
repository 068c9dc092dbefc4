public import HostSystem
public import ImageModel
import PluginCatalogue
package import PluginRuntime

/// Writes several stills into one file: the pages of a document, or the sizes of an icon.
///
///     let sink = try FileSink(path: "favicon.ico", replacing: true)
///     let encoder = try manager.makeItemsEncoder(to: "ico", into: sink)
///     for size in sizes { try encoder.add(size, role: .alternative) }
///     try encoder.finish()
///     try sink.commit()
///
/// Images may differ in size, pixel format, color and metadata. Only one of them is in memory.
/// - Concurrency: one thread at a time.
public final class ItemsEncoder {
    /// The coder in use.
    package let coder: CoderDescriptor
    private let encoder: any FrameEncoder
    private let context: SessionContext
    private let sink: OutputInspector
    private let recognizes: (FormatSniffer) -> Bool
    /// A temporary file, used if the coder must overwrite earlier output.
    private let spool: SpooledSink?
    private let wishes: EncodeOptions
    /// The number of added images.
    public private(set) var count = 0

    init(
        _ ranked: RankedCoder, _ sink: any OutputSink, _ context: SessionContext, _ wishes: EncodeOptions,
        recognizes: @escaping (FormatSniffer) -> Bool
    ) throws(CoderError) {
        coder = ranked.descriptor
        encoder = try ranked.coder.makeEncoder(context)
        self.context = context
        self.sink = OutputInspector(sink, of: ranked.descriptor)
        self.recognizes = recognizes
        self.wishes = wishes
        spool = sink.isSeekable ? nil : try SpooledSink(limits: context.limits)
    }

    /// Adds an image.
    ///
    /// - Parameters:
    ///   - role: the relation to the first image, which is always the primary one.
    ///   - name: the name to store, if the format has one.
    /// - Throws: `.refused` if the format cannot contain a further image of this role; the images before it remain.
    public func add(
        _ image: DecodedImage, role: ImageItem.Role = .page, name: String? = nil
    ) throws(CoderError) { try add(.whole(image), role, name) }

    /// Adds an image whose rows are decoded on demand.
    package func add(
        _ image: RowImage, role: ImageItem.Role = .page, name: String? = nil
    ) throws(CoderError) { try add(.rows(image), role, name) }

    private func add(_ content: EncodingContent, _ role: ImageItem.Role, _ name: String?) throws(CoderError) {
        do throws(CoderError) {
            let owner = [.primary, .page].contains(role) ? nil : 0
            try encoder.beginItem(
                count == 0
                    ? ItemDescription(.primary, name: name)
                    : ItemDescription(role == .primary ? .page : role, owner: owner, name: name))
            let output: any OutputSink = if let spool { spool } else { sink }
            try content.write(with: encoder, coder, wishes, context, output)
        } catch {
            throw error.naming(encoder: coder.id)
        }
        count += 1
    }

    /// Writes the remaining data to the sink; for a ``FileSink``, call ``FileSink/commit()`` afterwards.
    ///
    /// - Throws: `.invalidArgument` without any image.
    @discardableResult
    public func finish() throws(CoderError) -> EncodeReport {
        if count == 0 { throw .invalidArgument("a file needs at least one image") }
        do throws(CoderError) {
            try encoder.finish()
            try spool?.copy(to: sink)
            try sink.examine(recognizes)
        } catch {
            throw error.naming(encoder: coder.id)
        }
        return EncodeReport(coder: coder.id, warnings: context.warnings, isolation: context.isolation)
    }
}

extension CodersManager {
    /// Returns the coders that write several stills into one file, best first.
    ///
    /// - Parameter id: the id of the only coder to return; nil returns all.
    package func itemsEncoders(for format: ImageFormat, forcing id: String? = nil) -> [RankedCoder] {
        encoders(for: format, forcing: id).filter { $0.descriptor.roles.contains(.encodeItems) }
    }

    /// Creates an encoder for several stills in one file.
    ///
    /// - Parameter options: the options for the host, and those for the coder in ``EncodeOptions/coder``.
    /// - Throws: `.noCoder` if no coder writes several images in this format.
    public func makeItemsEncoder(
        to format: ImageFormat, options: EncodeOptions = EncodeOptions(), into sink: any OutputSink
    ) throws(CoderError) -> ItemsEncoder {
        var refusal: CoderError?
        for candidate in itemsEncoders(for: format, forcing: options.encoder) {
            let coding = coding(options, for: format)
            let context = SessionContext(limits: limits, options: coding, usualThreads: configuration.threadsPerImage)
            do throws(CoderError) {
                try OptionCheck.examine(coding, candidate.descriptor)
                return try ItemsEncoder(
                    candidate, sink, context, options, recognizes: { [self] in recognizes($0) })
            } catch {
                // If a plugin turns out to be unusable, the next coder continues.
                guard error.code == .pluginRefused else { throw error.naming(encoder: candidate.descriptor.id) }
                refusal = refusal ?? error.naming(encoder: candidate.descriptor.id)
            }
        }
        if let refusal { throw refusal }
        guard let single = encoders(for: format, forcing: options.encoder).first else {
            throw absence(ofEncoderFor: format, forcing: options.encoder)
        }
        throw CoderError(
            .noCoder, "the encoder \(single.descriptor.id) writes one image, not several",
            hint: "formats for several images: \(itemFormats.joined(separator: ", "))")
    }

    /// The formats that can contain several stills.
    package var itemFormats: [String] {
        let coders = self.coders.map(\.descriptor).filter { $0.roles.contains(.encodeItems) }
        return Set(coders.flatMap(\.formats).map(\.id.id)).sorted()
    }
}
