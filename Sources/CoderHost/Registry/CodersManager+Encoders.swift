import ImageModel

// MARK: Encoders that cannot be used

extension CodersManager {
    /// The coders that would write a format, if their plugins could be used.
    func absentEncoders(for format: ImageFormat, _ role: CoderRoles) -> [AbsentCoder] {
        registry.snapshot.absentCoders { descriptor in
            descriptor.roles.contains(role) && descriptor.serves(format) ? (format, nil) : nil
        }
    }

    /// Why nothing can write this format.
    package func absence(ofEncoderFor format: ImageFormat) -> CoderError {
        let snapshot = registry.snapshot
        var reasons: [String] = []
        for record in snapshot.plugins where !record.status.isUsable {
            for coder in record.manifest?.coders ?? [] where coder.formats.contains(where: { $0.id == format }) {
                reasons.append(
                    "\(record.fileName) would serve it, but is \(record.status.state.word): \(record.status.reason)")
            }
        }
        if let unread = snapshot.unread.first {
            return CoderError(
                .noCoder, "no coder that could be found writes \(format)", hint: unread.remedy,
                attempts: reasons + snapshot.unread.map(\.message))
        }
        let formats = snapshot.coders.filter { $0.descriptor.roles.writes }.flatMap(\.descriptor.formats)
        let known = Set(formats.map(\.id.id)).sorted()
        let mistyped = OptionCheck.nearest(format.id, known + Set(formats.flatMap(\.extensions)).sorted())
        return CoderError(
            .noCoder, "no usable coder writes \(format)",
            hint: (mistyped.map { "did you mean \($0)? " } ?? "")
                + "formats that can be written: \(known.joined(separator: ", "))",
            attempts: reasons)
    }
}
