import ImageModel

/// A coder of a dropped-in plugin; the file is mapped when the first session begins.
struct PluginCoder: ImageCoder {
    let descriptor: CoderDescriptor
    let record: PluginRecord

    private func loaded() throws(CoderError) -> LoadedPlugin {
        switch LoadedPlugin.load(record) {
        case .success(let plugin): return plugin
        case .failure(let refusal):
            throw CoderError(
                .pluginRefused,
                "\(record.fileName) is not used (\(refusal.status.state.word)): \(refusal.status.reason)",
                hint: refusal.status.remedy, coder: descriptor.id)
        }
    }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        ImportedDecoder(
            try LocalDecoder(try loaded(), coder: descriptor.id, source: source, context: context),
            coder: descriptor.id, context: context)
    }

    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
        ImportedEncoder(try LocalEncoder(try loaded(), coder: descriptor.id, context: context), coder: descriptor.id)
    }
}
