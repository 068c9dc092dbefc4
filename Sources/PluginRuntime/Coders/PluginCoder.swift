package import HostSystem
package import ImageModel
package import PluginCatalogue

/// A coder of a plugin; no code of its file runs before the first session.
package struct PluginCoder: ImageCoder {
    package let descriptor: CoderDescriptor
    package let record: PluginRecord
    private let isolation: Isolation
    private let examineAgain: @Sendable (PluginRecord) -> PluginRecord?

    /// Creates a coder.
    ///
    /// - Parameter examineAgain: examines the current file; returns nil if it was removed.
    package init(
        descriptor: CoderDescriptor, record: PluginRecord, isolation: Isolation,
        examineAgain: @escaping @Sendable (PluginRecord) -> PluginRecord?
    ) {
        self.descriptor = descriptor
        self.record = record
        self.isolation = isolation
        self.examineAgain = examineAgain
    }

    package func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        let port = try place(
            source.origin, context,
            local: { () throws(CoderError) -> any DecoderPort in
                try LocalDecoder(try present(LoadedPlugin.load), coder: descriptor.id, source: source, context: context)
            },
            remote: { worker throws(CoderError) -> any DecoderPort in
                let session = WorkerSession(worker, isolation.slots, context, source: source)
                return try RemoteDecoder(session, coder: descriptor.id)
            })
        return ImportedDecoder(port, coder: descriptor.id, context: context)
    }

    package func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
        let port = try place(
            nil, context,
            local: { () throws(CoderError) -> any EncoderPort in
                try LocalEncoder(try present(LoadedPlugin.load), coder: descriptor.id, context: context)
            },
            remote: { worker throws(CoderError) -> any EncoderPort in
                let session = WorkerSession(worker, isolation.slots, context, source: nil)
                return try RemoteEncoder(session, coder: descriptor.id)
            })
        return ImportedEncoder(port, coder: descriptor.id)
    }

    package func rewrite(
        _ source: ImageSource, to sink: any OutputSink, _ request: RewriteRequest, _ context: SessionContext
    ) throws(CoderError) -> RewriteOutcome {
        try rewriter(source, context).rewrite(request, to: sink)
    }

    package func transcode(
        _ source: ImageSource, to sink: any OutputSink, _ direction: TranscodeDirection, _ format: ImageFormat,
        _ context: SessionContext
    ) throws(CoderError) {
        try rewriter(source, context).transcode(direction, format, to: sink)
    }

    private func rewriter(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> ImportedRewriter {
        let port = try place(
            source.origin, context,
            local: { () throws(CoderError) -> any RewritePort in
                try LocalRewriter(
                    try present(LoadedPlugin.load), coder: descriptor.id, source: source, context: context)
            },
            remote: { worker throws(CoderError) -> any RewritePort in
                let session = WorkerSession(worker, isolation.slots, context, source: source)
                return RemoteRewriter(session, coder: descriptor.id)
            })
        return ImportedRewriter(port, coder: descriptor.id)
    }

    /// Loads the examined file, or its current version if the same plugin was rebuilt.
    private func present<Plugin>(
        _ load: (PluginRecord) -> Result<Plugin, PluginRefusal>
    ) throws(CoderError) -> Plugin {
        var outcome = load(record)
        if case .failure(let refusal) = outcome, refusal.isStale, let now = examineAgain(record) {
            if !now.status.isUsable {
                outcome = .failure(PluginRefusal(now.status))
            } else if now.manifest == record.manifest {
                outcome = load(now)
            }
        }
        switch outcome {
        case .success(let plugin): return plugin
        case .failure(let refusal): throw record.refusal(refusal.status)
        }
    }

    /// Opens a session where the policy requires and records the place.
    private func place<Port>(
        _ origin: ImageSource.Origin?, _ context: SessionContext, local: () throws(CoderError) -> Port,
        remote: (Worker) throws(CoderError) -> Port
    ) throws(CoderError) -> Port {
        if !context.options.values.isEmpty {
            context.choices = Set(descriptor.options.filter { $0.kind == .enum }.map(\.key))
        }
        let reason: String
        switch isolation.choice(record, origin, context.limits) {
        case .inProcess(let why):
            context.isolation = IsolationReport(
                mode: isolation.policy.mode, place: .inProcess, reason: why, isDegraded: false)
            return try local()
        case .worker(let why): reason = why
        }
        do throws(CoderError) {
            if isolation.policy.mode != .auto || isolation.sandbox.absence == nil {
                return try remote(try worker(reason, context))
            }
        } catch {
            // A shortage, or a failure after plugin code ran, never moves the plugin into this process.
            guard isolation.policy.mode == .auto, isolation.sandbox.absence != nil else { throw error }
        }
        let why = "no sandbox: \(isolation.sandbox.absence ?? "")"
        if record.manifest?.isolation.isRequired == true {
            throw CoderError(
                .isolationUnavailable, "\(record.fileName) requires isolation: \(why)",
                hint: "coderhost doctor isolation shows the cause; --isolation off runs it without a sandbox")
        }
        context.isolation = IsolationReport(
            mode: .auto, place: .inProcess, reason: "\(reason), but \(why)", isDegraded: true)
        context.warn("not isolated: \(why)")
        return try local()
    }

    /// Leases a worker with all the confinement that the policy requires.
    private func worker(_ reason: String, _ context: SessionContext) throws(CoderError) -> Worker {
        let program = try isolation.program()
        let plugin = try present { isolation.plugin($0, program) }
        try isolation.slots.take(context)
        do throws(CoderError) {
            let worker = try plugin.lease(context)
            do throws(CoderError) {
                try isolation.examine(worker.confinement)
            } catch {
                worker.end()
                throw error
            }
            context.isolation = IsolationReport(
                mode: isolation.policy.mode, place: .worker, reason: reason, confinement: worker.confinement,
                isDegraded: !worker.confinement.missing.isEmpty)
            return worker
        } catch {
            isolation.slots.giveBack()
            throw error
        }
    }
}
