public import ImageModel

// MARK: Names

extension CodersManager {
    /// The coders that serve a format in any role, best first.
    public func order(for format: ImageFormat) -> [RankedCoder] {
        ranked(registry.snapshot) { descriptor in descriptor.serves(format) ? (format, nil) : nil }
    }

    /// The format that a word stands for: its name, or an extension that will do for one.
    public func format(named word: String) -> ImageFormat {
        let wanted = word.lowercased()
        if canEncode(to: ImageFormat(wanted)) { return ImageFormat(wanted) }
        return format(ofExtension: wanted) ?? ImageFormat(wanted)
    }

    /// The format that can be written and has this file-name extension.
    public func format(ofExtension suffix: String) -> ImageFormat? {
        let wanted = suffix.lowercased()
        let all = ranked(registry.snapshot) { descriptor in
            guard descriptor.roles.writes else { return nil }
            return descriptor.formats.first { $0.extensions.contains(wanted) }.map { ($0.id, nil) }
        }
        return all.first?.format
    }

    /// The usual file-name extension of a format; its id where nobody says.
    public func fileExtension(of format: ImageFormat) -> String {
        for coder in order(for: format) {
            let match = coder.descriptor.formats.first { $0.id == format }
            if let suffix = match?.extensions.first { return suffix }
        }
        return format.id
    }
}
