import ImageModel
import ImageProcessing

/// Passes on the bytes that a coder writes, and keeps the first and last for a sniffer.
///
/// A plugin that reports success and writes no file must not replace the file that stood there before.
final class OutputWitness: OutputSink {
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

    /// Throws unless a file was written that a coder takes for its own.
    ///
    /// Of a format without signatures any byte will do.
    ///
    /// - Throws: `.pluginFault`.
    func examine(_ recognizes: (FormatSniffer) -> Bool) throws(CoderError) {
        if count == 0 { throw CoderError(.pluginFault, "the coder reports success and wrote nothing", coder: coder.id) }
        let hasSignatures = coder.formats.contains { !$0.signatures.isEmpty }
        guard hasSignatures, !recognizes(FormatSniffer(head: head, tail: tail)) else { return }
        throw CoderError(
            .pluginFault, "the coder reports success, and no coder recognizes what it wrote", coder: coder.id)
    }
}

extension CodersManager {
    /// Whether the bytes carry a signature of the format; nil asks for any.
    func recognizes(_ sniffer: FormatSniffer, as wanted: ImageFormat? = nil) -> Bool {
        coders.contains { coder in
            coder.descriptor.formats.contains { format in
                (wanted ?? format.id) == format.id && sniffer.score(format.signatures) != nil
            }
        }
    }
}
