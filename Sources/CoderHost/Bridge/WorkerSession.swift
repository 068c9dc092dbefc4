import CCoderPlugin
import CIsolationWire
import ImageModel
import ImageProcessing

/// A worker that is leased for one session, and what every request to it begins with.
///
/// - Concurrency: one thread at a time.
final class WorkerSession {
    let worker: Worker
    let context: SessionContext
    private let slots: WorkerSlots
    private let source: ImageSource?
    var sink: PluginSink?

    init(_ worker: Worker, _ slots: WorkerSlots, _ context: SessionContext, source: ImageSource?) {
        self.worker = worker
        self.slots = slots
        self.context = context
        self.source = source
    }

    deinit {
        if worker.isUsable, worker.mayServeAgain {
            // A plugin that does not come to an end here is ended.
            var limits = DecodeLimits()
            limits.maxMilliseconds = 1000
            _ = try? worker.call(ISO_CLOSE, wireBytes(input), SessionContext(limits: limits))
        }
        RefusedCalls.note(worker.page.refused)
        worker.plugin.giveBack(worker)
        slots.giveBack()
    }

    /// How much of the source there is.
    var input: iso_input {
        var input = iso_input()
        // Asked before the count, so that a source that finishes in between is not taken for a short one.
        input.complete = source?.isComplete == true ? 1 : 0
        input.available = UInt64(source?.count ?? 0)
        return input
    }

    /// Makes a request; the plugin's error goes to `error`.
    func ask(
        _ type: Int32, _ body: [UInt8], descriptors: [Int32] = [], _ error: inout cpi_error
    ) throws(CoderError) -> Worker.Reply {
        let reply = try worker.call(type, body, descriptors: descriptors, context, sink: sink)
        error = reply.head.error
        return reply
    }

    /// The pixels of a place in memory that the worker maps, too: the buffer's own, or a copy.
    func surface(_ place: CanvasPlace, copying: Bool) throws(CoderError) -> SurfaceLoan {
        try SurfaceLoan(place, worker.plugin.surfaces, copying: copying)
    }

    /// Opens a session in the plugin.
    ///
    /// - Returns: Which optional functions the coder has, as `ISO_HAS_…`, and the reply about the header where a decoder is
    ///   opened for a source that is complete.
    @discardableResult
    func open(_ type: Int32, coder id: String) throws(CoderError) -> (optional: UInt32, header: Worker.Reply?) {
        let (open, descriptors) = try opening(coder: id)
        var request = open.request
        request.reads_header = type == ISO_OPEN_DECODER && request.input.complete != 0 ? 1 : 0
        var call = ContractCall()
        let reply = try ask(
            type, wireBytes(request, WireOptions.bytes(of: context)), descriptors: descriptors, &call.error)
        if reply.head.opened != 0, request.reads_header != 0 { return (open.optional, reply) }
        if let failure = call.failure(reply.head.status, of: "open or set_source", coder: id) { throw failure }
        return (open.optional, nil)
    }

    /// What every request begins with that opens something, and the descriptor of the input.
    func opening(
        coder id: String
    ) throws(CoderError) -> (open: (request: iso_open, optional: UInt32), descriptors: [Int32]) {
        let coders = worker.zygote.facts.coders
        guard let index = coders.firstIndex(where: { $0.id == id }) else {
            throw CoderError(.pluginFault, "the plugin has no coder \(id)")
        }
        var request = iso_open()
        request.input = input
        request.coder = UInt32(index)
        request.thread_hint = UInt32(clamping: context.threadHint)
        request.limits = context.limits.contract
        request.option_count = UInt32(context.options.values.count)
        var descriptors: [Int32] = []
        if let source {
            let share = try source.storage.shared()
            request.source_kind = share.kind
            request.capacity = UInt64(share.capacity)
            descriptors = [share.descriptor]
            if let ending = source.endingHint { setWireText(&request.ending, ending) }
        }
        return ((request, coders[index].optional), descriptors)
    }
}

/// Options as they travel.
enum WireOptions {
    static func bytes(of context: SessionContext) -> [UInt8] {
        var result: [UInt8] = []
        let choices = context.choices
        for (key, value) in context.options.values.sorted(by: { $0.key < $1.key }) {
            let parts = value.contractParts(isChoice: choices.contains(key))
            var item = iso_option()
            (item.type, item.integer, item.real) = (parts.type, parts.integer, parts.real)
            item.key_length = UInt32(key.utf8.count)
            item.length = UInt64(parts.bytes?.count ?? 0)
            result += wireBytes(item, Array(key.utf8) + [0] + (parts.bytes ?? []) + [0])
        }
        return result
    }
}
