import CoderHost
import ImageModel
import ImageProcessing

/// Inputs that the job copies without re-encoding.
extension ConvertJob {
    /// Whether the output takes the input's format unchanged.
    func canCopy(_ found: ImageFormat, in output: OutputTarget.Name) -> Bool {
        if let format = renditions.formats.first { return format == found }
        guard !output.hasFormatPlaceholder, output.path != "-", let suffix = output.suffix else { return true }
        return suffixes(of: found).contains(suffix)
    }

    /// Returns all file extensions of a format.
    func suffixes(of format: ImageFormat) -> [String] {
        host.manager.order(for: format).flatMap { coder in
            coder.descriptor.formats.filter { $0.id == format }.flatMap(\.extensions)
        }
    }

    /// Returns the file extension for a default name: the one of the input if it fits the format.
    func suffix(of format: ImageFormat, _ name: String) -> String {
        if style.names != nil, let own = FileName(name).suffix, suffixes(of: format).contains(own.lowercased()) {
            return own
        }
        return host.manager.fileExtension(of: format)
    }

    /// Copies the input, after decoding it completely as a check.
    func copy(
        _ source: ImageSource, _ session: DecodeSession, _ shape: ImageShape, _ sink: FileSink
    ) throws(CoderError) {
        _ = try session.decodeImage(shape)
        if session.info.isAnimated || session.coder.roles.contains(.animation),
            case .failure(let error) = session.findFrames()
        {
            throw error
        }
        try source.withBytes(0..<source.count) { bytes throws(CoderError) in try sink.write(bytes) }
    }
}
