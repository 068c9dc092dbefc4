package import ImageModel

// MARK: Names

extension CodersManager {
    /// Returns the coders that support a format in any role, best first.
    package func order(for format: ImageFormat) -> [RankedCoder] {
        ranked(registry.snapshot) { descriptor in descriptor.serves(format) ? (format, nil) : nil }
    }

    /// Whether a coder writes stills or animations of a format.
    package func writes(_ format: ImageFormat) -> Bool {
        order(for: format).contains { $0.descriptor.roles.writes }
    }

    /// Returns the format for a word: a format name, or a file name extension.
    package func format(named word: String) -> ImageFormat {
        let wanted = word.lowercased()
        if writes(ImageFormat(wanted)) { return ImageFormat(wanted) }
        return format(ofExtension: wanted) ?? ImageFormat(wanted)
    }

    /// Returns the MIME type of a format: the first one that a coder declares.
    package func mimeType(of format: ImageFormat) -> String {
        for coder in order(for: format) {
            let match = coder.descriptor.formats.first { $0.id == format }
            if let type = match?.mimeTypes.first { return type }
        }
        return "image/\(format)"
    }

    /// Returns the format that the extension of a file name states, if its coders do not use it for the actual format.
    ///
    /// Several formats can share an extension, such as stills and animations.
    package func misleadingFormat(ofName name: String, for format: ImageFormat, reading: Bool = false) -> ImageFormat? {
        guard let suffix = FileName(name).suffix?.lowercased() else { return nil }
        let served = coders.flatMap(\.descriptor.formats)
        guard let stated = served.first(where: { $0.extensions.contains(suffix) })?.id else { return nil }
        // PPM and its kin are names of output formats: their decoder knows them under a common name.
        if reading, !order(for: stated).contains(where: { $0.descriptor.roles.contains(.decode) }) { return nil }
        let isOwn = coders.map(\.descriptor.formats).contains { formats in
            formats.contains { $0.id == format } && formats.contains { $0.extensions.contains(suffix) }
        }
        return isOwn ? nil : stated
    }

    /// Returns the writable format with this file name extension.
    package func format(ofExtension suffix: String) -> ImageFormat? {
        let wanted = suffix.lowercased()
        let all = ranked(registry.snapshot) { descriptor in
            guard descriptor.roles.writes else { return nil }
            return descriptor.formats.first { $0.extensions.contains(wanted) }.map { ($0.id, nil) }
        }
        return all.first?.format
    }

    /// Returns the usual file name extension of a format; its id if there is none.
    package func fileExtension(of format: ImageFormat) -> String {
        for coder in order(for: format) {
            let match = coder.descriptor.formats.first { $0.id == format }
            if let suffix = match?.extensions.first { return suffix }
        }
        return format.id
    }
}
