import HostSystem
import ImageModel
import ImageProcessing
import PluginCatalogue
import PluginRuntime

/// Forwards the bytes that a coder writes, and keeps the first and last ones for a sniffer.
///
/// A plugin that reports success without writing a valid file must not replace the existing file.
final class OutputInspector: OutputSink {
    private let sink: any OutputSink
    private let coder: CoderDescriptor
    private var head: [UInt8] = []
    private var tail: [UInt8] = []
    private var count = 0

    init(_ sink: any OutputSink, of coder: CoderDescriptor) {
        self.sink = sink
        self.coder = coder
    }

    var isSeekable: Bool { sink.isSeekable }

    func write(_ bytes: RawSpan) throws(CoderError) {
        try sink.write(bytes)
        count += bytes.byteCount
        if head.count < FormatSniffer.headCount {
            head += copyBytes(bytes.extracting(first: min(bytes.byteCount, FormatSniffer.headCount - head.count)))
        }
        tail = (tail + copyBytes(bytes.extracting(last: min(bytes.byteCount, FormatSniffer.tailCount))))
            .suffix(FormatSniffer.tailCount)
    }

    func overwrite(_ bytes: RawSpan, at offset: Int) throws(CoderError) {
        try sink.overwrite(bytes, at: offset)
        let tailStart = count - tail.count
        for (index, byte) in copyBytes(bytes).enumerated() {
            let place = offset + index
            if head.indices.contains(place) { head[place] = byte }
            if tail.indices.contains(place - tailStart) { tail[place - tailStart] = byte }
        }
    }

    /// Throws unless the output is a file that a coder recognizes.
    ///
    /// For a format without signatures, any output is accepted.
    ///
    /// - Throws: `.pluginFault`.
    func examine(_ recognizes: (FormatSniffer) -> Bool) throws(CoderError) {
        if count == 0 { throw CoderError(.pluginFault, "the coder reported success, but no bytes", coder: coder.id) }
        let hasSignatures = coder.formats.contains { !$0.signatures.isEmpty }
        guard hasSignatures, !recognizes(FormatSniffer(head: head, tail: tail)) else { return }
        throw CoderError(
            .pluginFault, "the coder reported success, but no coder recognizes its output", coder: coder.id)
    }
}

extension CodersManager {
    /// Whether the bytes match a signature of the format; nil accepts any format.
    func recognizes(_ sniffer: FormatSniffer, as wanted: ImageFormat? = nil) -> Bool {
        coders.contains { coder in
            coder.descriptor.formats.contains { format in
                (wanted ?? format.id) == format.id && sniffer.score(format.signatures) != nil
            }
        }
    }
}
