import CoderHost
import ImageModel
import ImageProcessing

/// Inputs that become outputs as they are.
extension ConvertJob {
    /// Whether an output of this name holds the format as it is.
    func isAtHome(_ found: ImageFormat, in output: OutputTarget.Name) -> Bool {
        if let format { return format == found }
        guard !output.hasFormatPlaceholder, output.path != "-", let suffix = output.suffix else { return true }
        return suffixes(of: found).contains(suffix)
    }

    func suffixes(of format: ImageFormat) -> [String] {
        host.manager.order(for: format).flatMap { coder in
            coder.descriptor.formats.filter { $0.id == format }.flatMap(\.extensions)
        }
    }

    /// Of a name that is not somebody's choice: its own where that is right.
    func suffix(of format: ImageFormat, _ name: String) -> String {
        if style.names != nil, let own = FileName(name).suffix, suffixes(of: format).contains(own.lowercased()) {
            return own
        }
        return host.manager.fileExtension(of: format)
    }

    /// Writes what was read, once it is sure that it is a picture from its first byte to its last.
    func copy(
        _ source: ImageSource, _ session: DecodeSession, _ shaper: PictureShaper, _ sink: FileSink
    ) throws(CoderError) {
        var shaper = shaper
        _ = try shaper.image()
        if session.info.isAnimated || session.coder.roles.contains(.animation),
            case .failure(let error) = session.findFrames()
        {
            throw error
        }
        try source.withBytes(0..<source.count) { bytes throws(CoderError) in try sink.write(bytes) }
    }
}
