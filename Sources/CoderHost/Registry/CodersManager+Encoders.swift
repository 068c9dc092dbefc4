import ImageModel

// MARK: Unusable encoders

extension CodersManager {
    /// Returns the coders of unusable plugins that could write a format.
    func absentEncoders(for format: ImageFormat, _ role: CoderRoles) -> [UnusableCoder] {
        registry.snapshot.unusableCoders { descriptor in
            descriptor.roles.contains(role) && descriptor.serves(format) ? (format, nil) : nil
        }
    }

    /// Returns the error for a still of a format without a usable encoder.
    ///
    /// - Parameter id: the id of the encoder that the caller named.
    package func absence(ofEncoderFor format: ImageFormat, forcing id: String? = nil) -> CoderError {
        if let id {
            let known = order(for: format).filter(\.descriptor.roles.writes).map(\.descriptor.id)
            let nearest = OptionCheck.nearest(id, known).map { "did you mean \($0)? " } ?? ""
            return CoderError(
                .noCoder, "there is no usable encoder \(id) for \(format)",
                hint: nearest + "encoders of \(format): \(known.isEmpty ? "none" : known.joined(separator: ", "))",
                attempts: isDisabled(id) ? ["\(id) is disabled by the application"] : [])
        }
        let snapshot = registry.snapshot
        // The name of a format that only animations use is correct.
        let writesAnimations = !animationEncoders(for: format).isEmpty
        var reasons: [String] = []
        var remedy: String?
        for record in snapshot.plugins where !record.status.isUsable {
            // Without the plugin, an extension of its format is not known as such: `-o a.jpg` names "jpg".
            for coder in record.manifest?.coders ?? []
            where coder.formats.contains(where: { $0.id == format || $0.extensions.contains(format.id) }) {
                if remedy == nil, !record.status.remedy.isEmpty { remedy = record.status.remedy }
                reasons.append(
                    "\(record.fileName) could write it, but is \(record.status.state.word): \(record.status.reason)")
            }
        }
        if let unread = snapshot.unread.first {
            return CoderError(
                .noCoder, "no readable plugin writes \(format)", hint: unread.remedy,
                attempts: reasons + snapshot.unread.map(\.message))
        }
        let role: CoderRoles = writesAnimations ? .encode : [.encode, .encodeAnimation]
        let formats = snapshot.coders.filter { !$0.descriptor.roles.isDisjoint(with: role) }
            .flatMap(\.descriptor.formats)
        let known = Set(formats.map(\.id.id)).sorted()
        let mistyped =
            writesAnimations ? nil : OptionCheck.nearest(format.id, known + Set(formats.flatMap(\.extensions)).sorted())
        return CoderError(
            .noCoder, "no usable coder writes \(writesAnimations ? "stills as " : "")\(format)",
            hint: remedy ?? (mistyped.map { "did you mean \($0)? " } ?? "")
                + "\(writesAnimations ? "formats for stills" : "available formats"): \(known.joined(separator: ", "))",
            attempts: reasons)
    }
}
