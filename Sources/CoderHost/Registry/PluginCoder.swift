import ImageModel

/// A coder of a dropped-in plugin; the file is mapped when the first session begins.
struct PluginCoder: ImageCoder {
    let descriptor: CoderDescriptor
    let record: PluginRecord
    /// Looks at the file again; nil when it is gone.
    let examineAgain: @Sendable (PluginRecord) -> PluginRecord?

    /// The file as it was judged, or as it is now if it was replaced by another build of the same plugin.
    private func outcome() -> Result<LoadedPlugin, PluginRefusal> {
        let outcome = LoadedPlugin.load(record)
        guard case .failure(let refusal) = outcome, refusal.isStale, let now = examineAgain(record) else {
            return outcome
        }
        guard now.status.isUsable else { return .failure(PluginRefusal(now.status)) }
        return now.manifest == record.manifest ? LoadedPlugin.load(now) : outcome
    }

    private func loaded() throws(CoderError) -> LoadedPlugin {
        switch outcome() {
        case .success(let plugin): return plugin
        case .failure(let refusal):
            throw CoderError(
                .pluginRefused,
                "\(record.fileName) is not used (\(refusal.status.state.word)): \(refusal.status.reason)",
                hint: refusal.status.remedy, coder: descriptor.id)
        }
    }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        try ImportedDecoder(try loaded(), coder: descriptor.id, source: source, context: context)
    }

    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
        try ImportedEncoder(try loaded(), coder: descriptor.id, context: context)
    }
}
